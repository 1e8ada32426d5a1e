"""Files that are written whole or not at all, and what is no file to read."""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ragstone.errors import UsageError

__all__ = ["check_regular", "replacing", "write_file"]


def check_regular(path: Path) -> None:
    """Raises OSError for a pipe or a device: reading one may wait for ever, or never come to an end. And for a path of
    which nothing can be known, as opening it would."""
    if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
        raise OSError("it is a pipe or a device: save it as a file first")


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replacing(target: str | Path, *, parents: bool = False) -> Iterator[IO[bytes]]:
    """A stream whose bytes become the file `target` when the block has ended well: they are written beside it and moved
    to its place. Until then, and where anything fails, the earlier file is there as it was, and nothing else is left.

    Links are followed, and the permissions of an earlier file are kept. What is no file (a pipe, /dev/stdout) is
    written to directly. `parents` makes the folders above. Raises UsageError, in one line, where the file cannot be
    written.
    """
    path = Path(target)
    try:
        if parents and not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        place = Path(os.path.realpath(path))
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        beside = place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part")
        try:
            with beside.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # a disk may say only now that it is full
            _take_place(beside, place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        remedy = "Free some space or name" if error.errno in _FULL else "Name"
        raise UsageError(f"{target}: cannot be written ({error.strerror or error}). {remedy} another place.") from error


def _take_place(beside: Path, place: Path) -> None:
    if place.exists():
        shutil.copymode(place, beside)
    try:
        beside.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a file that is mounted (into a container, say) cannot be moved away
            raise
        shutil.copyfile(beside, place)


def write_file(target: str | Path, content: str | bytes, *, parents: bool = False) -> Path:
    """Write a file whole (see `replacing`); text as UTF-8, its line ends as they are. Returns the path."""
    with replacing(target, parents=parents) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(target)
