"""The runs below the folders that are served, by name.

A name is the path of a run relative to its folder, with "/" between its parts. Only what the scan could find can be
opened: no path leads out of the folder, not by "..", not by a link.
"""

import contextlib
import math
import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import MappingProxyType

from ragstone.analysis.case_index import CaseIndex
from ragstone.engine.case_index import open_index
from ragstone.engine.open_run import OpenRun, read_run
from ragstone.errors import UsageError
from ragstone.runs.schema import LAYOUT

_FRESH_SECONDS = 2.0  # how long a scan is good for
_MOST_RUNS = 2_000
_MOST_ENTRIES = 50_000  # of files and folders that a scan looks at
_DEEPEST = 8
_OPEN_INDICES = 6


class NoSuchRun(UsageError):
    """No run of this name is served."""


@dataclass(frozen=True)
class FoundRun:
    """A run file: `name` as in addresses, `modified` in seconds since 1970, `size` in bytes."""

    name: str
    path: Path
    modified: float
    size: int


@dataclass
class _SharedIndex:
    """An open index and the number of requests that use it."""

    index: CaseIndex
    users: int = 0


@dataclass
class Library:
    """Run files and folders that are served, and the file of labels, if one was named. Safe for several threads."""

    places: Sequence[Path]
    labels: Path | None = None
    _lock: Lock = field(default_factory=Lock)
    _found: tuple[float, Mapping[str, FoundRun]] = (-math.inf, MappingProxyType({}))  # when, what
    _indices: "OrderedDict[tuple[Path, int], _SharedIndex]" = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        for place in self.places:
            if not place.exists():
                raise UsageError(f"{place}: no such file or folder.")
            if not place.is_dir() and not _is_run(place):
                raise UsageError(f"{place} is neither a folder nor a run file.")

    def runs(self) -> Mapping[str, FoundRun]:
        """The run files by name, the last modified first. Of very many, the scan takes the first that it finds."""
        with self._lock:
            if time.monotonic() - self._found[0] >= _FRESH_SECONDS:
                self._found = (time.monotonic(), self._scan())
            return self._found[1]

    def found(self, name: str) -> FoundRun:
        """The run of this name. Raises `NoSuchRun`."""
        run = self.runs().get(name)
        if run is None:
            raise NoSuchRun(f"No run named {name[:200]!r} is in the folder.")
        return run

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[OpenRun]:
        """The run of this name, open for reading by one thread. Raises `NoSuchRun`, and `UsageError` where the file is
        damaged."""
        with read_run(self.path(name)) as run:
            yield run

    def path(self, name: str) -> Path:
        """The file of the run of this name. Raises `NoSuchRun`."""
        found = self.found(name)
        if found.path.is_symlink():  # made since the scan
            raise NoSuchRun(f"{found.name} is a link: links are not followed.")
        return found.path

    @contextlib.contextmanager
    def index(self, name: str) -> Iterator[CaseIndex]:
        """The index of the cases of this run; `update` brings it up to date. A few stay open, for all threads. Raises
        as `opened` does."""
        path = self.path(name)
        shared = self._shared_index(path)
        try:
            yield shared.index
        finally:
            with self._lock:
                shared.users -= 1
                self._close_indices(_OPEN_INDICES)

    def _shared_index(self, path: Path) -> _SharedIndex:
        with self._lock:
            try:
                key = (path, path.stat().st_ino)  # another file of the same name has another index
            except OSError:
                raise NoSuchRun(f"{path.name} was deleted.") from None
            shared = self._indices.pop(key, None) or _SharedIndex(open_index(path))
            self._indices[key] = shared
            shared.users += 1
            return shared

    def _close_indices(self, most: int) -> None:
        for key, shared in list(self._indices.items())[: max(0, len(self._indices) - most)]:
            if not shared.users:
                shared.index.close()
                del self._indices[key]

    def close(self) -> None:
        """Closes the indices that nobody uses."""
        with self._lock:
            self._close_indices(0)

    def _scan(self) -> Mapping[str, FoundRun]:
        found: dict[str, FoundRun] = {}
        entries = 0
        for prefix, place in self._prefixes():
            for path in _files(place):
                entries += 1
                if len(found) >= _MOST_RUNS or entries >= _MOST_ENTRIES:
                    break
                if _is_run(path):
                    parts = path.relative_to(place).parts if place.is_dir() else (path.name,)
                    with contextlib.suppress(OSError):  # deleted meanwhile
                        stat = path.stat()
                        name = "/".join(filter(None, (prefix, *parts)))
                        found[name] = FoundRun(name, path, stat.st_mtime, stat.st_size)
        return dict(sorted(found.items(), key=lambda item: (-item[1].modified, item[0])))

    def _prefixes(self) -> Iterator[tuple[str, Path]]:
        """Each place with what the names of its runs begin with: nothing if it is the only one, or a file of a name of
        its own."""
        names: list[str] = []
        for place in self.places:
            absolute = place.absolute()
            alone = len(self.places) == 1 or not place.is_dir()
            name = "" if alone else absolute.name
            key = absolute.name
            if key in names:
                name = f"{absolute.name}-{names.count(key) + 1}"
            names.append(key)
            yield name, absolute


def _is_run(path: Path) -> bool:
    """Whether a file is a run file, by its size and the header of its database."""
    try:
        if path.stat().st_size % 512 or not path.is_file():
            return False
        with path.open("rb") as file:
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[68:72] == LAYOUT.application_id.to_bytes(4, "big")


def _files(place: Path) -> Iterator[Path]:
    """The regular files of a folder and of those below it, without links and hidden ones; the file itself."""
    if not place.is_dir():
        yield place
        return
    pending = [(place, 0)]
    while pending:
        folder, depth = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    if entry.name.startswith(".") or entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                        pending.append((Path(entry.path), depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        yield Path(entry.path)
        except OSError:  # not readable, or deleted meanwhile
            continue
