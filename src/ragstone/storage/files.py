"""Files that are written completely or not at all, and paths that cannot be read as files."""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ragstone.errors import DataError, UsageError

_SQLITE = b"SQLite format 3\0"


def check_regular(path: Path) -> None:
    """Raises OSError for a pipe or a device, which might never end when read, and for a path that cannot be opened."""
    if not stat.S_ISREG(mode := path.stat().st_mode) and not stat.S_ISDIR(mode):
        raise OSError("it is a pipe or a device: save it as a file first")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Inside, a file or folder of the user is read. Raises DataError with the cause if the system refuses it."""
    try:
        yield
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error}).") from None


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path below a folder is a link to what is not below it, to nothing, or to itself."""
    return path.is_symlink() and not (path.exists() and Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(folder)))  # fmt: skip


def text_of(path: Path) -> str:
    """The text of a file, without a byte order mark. Raises DataError if it cannot be read, and UnicodeDecodeError."""
    with reading(path):
        check_regular(path)
        return path.read_text(encoding="utf-8-sig")


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replacing(target: str | Path, *, parents: bool = False) -> Iterator[IO[bytes]]:
    """A stream whose bytes become the file `target` when the block succeeds: they are written beside it and then moved
    into place. Until then, and if anything fails, an existing file is unchanged and nothing else is left.

    Links are followed, and the permissions of an existing file are kept. What is not a file (a pipe, /dev/stdout) is
    written to directly. `parents` creates the folders above. Raises UsageError if the file cannot be written.
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
        part = place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part")
        try:
            with part.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # a full disk may be reported only now
            _move_into_place(part, place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        remedy = "Free some space or name" if error.errno in _FULL else "Name"
        raise UsageError(f"{target}: cannot be written ({error.strerror or error}). {remedy} another place.") from error


def _move_into_place(part: Path, place: Path) -> None:
    if place.exists():
        shutil.copymode(place, part)
    try:
        part.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a mounted file (in a container, say) cannot be replaced
            raise
        shutil.copyfile(part, place)


def is_database(path: Path) -> bool:
    """Whether a path leads to an SQLite file, judged by its first bytes."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def write_file(target: str | Path, content: str | bytes, *, parents: bool = False) -> Path:
    """Writes a file completely (see `replacing`); text as UTF-8, with its line ends unchanged. Returns the path. A
    database (a run file, labels) is never overwritten: UsageError."""
    if is_database(Path(target)):
        raise UsageError(f"{target} is a run file or another database: name another file.")
    with replacing(target, parents=parents) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(target)
