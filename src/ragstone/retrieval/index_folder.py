"""Indexes on disk: a folder per index, named by its key, in the cache; complete or not there at all.

An index is built in a folder of its own beside the others and renamed when it is complete, so a killed build is never
taken for an index. One process builds at a time in a cache; others wait, then find the index. The lock is SQLite's: it
ends with its process, and what a killed build left is deleted by the next one.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from pathlib import Path

from ragstone.errors import StorageError
from ragstone.storage.database import result_code

log = logging.getLogger(__name__)

MAX_INDEXES = 8
"""Number of indexes that a cache keeps."""
_LOOK_EVERY = 0.2  # seconds
_SIZES = "sizes.json"  # bytes of each file when the index was complete


@contextlib.asynccontextmanager
async def kept_index(
    parent: Path | None, key: str, build: Callable[[Path], Awaitable[None]], opens: Callable[[Path], bool]
) -> AsyncIterator[Path]:
    """The folder of the index `key` in `parent`, built by `build` in an empty folder if it is missing, if a file of it
    is missing or has another size than when it was built, or if `opens` says that it is damaged. Without `parent` the
    folder is temporary. Raises StorageError if the disk is full or read-only, and what `build` raises."""
    if parent is None:
        with tempfile.TemporaryDirectory(prefix="ragstone-index-", ignore_cleanup_errors=True) as scratch:
            with _disk_errors(Path(scratch)):
                await build(Path(scratch))
            yield Path(scratch)
        return
    folder = parent / key
    if not await asyncio.to_thread(_is_usable, folder, opens):
        with _disk_errors(parent):
            async with _only_builder(parent):
                if not await asyncio.to_thread(_is_usable, folder, opens):
                    await _build(folder, build)
                delete_oldest(parent, keep=MAX_INDEXES)
    yield folder


def _is_usable(folder: Path, opens: Callable[[Path], bool]) -> bool:
    if not folder.is_dir():
        return False
    if _has_its_files(folder) and opens(folder):
        with contextlib.suppress(OSError):
            folder.touch()
        return True
    log.warning("A cached index cannot be read; it is rebuilt.")
    return False


def _has_its_files(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _SIZES).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError):
        return False


def discard(folder: Path) -> None:
    """Has the index in a folder, which turned out to be damaged, built again by the next that needs it."""
    (folder / _SIZES).unlink(missing_ok=True)


async def _build(folder: Path, build: Callable[[Path], Awaitable[None]]) -> None:
    """Builds beside the others and renames; the caller holds the lock."""
    partial = _emptied(folder)
    try:
        await build(partial)
        sizes = {path.name: path.stat().st_size for path in partial.iterdir() if path.is_file()}
        await asyncio.to_thread((partial / _SIZES).write_text, json.dumps(sizes), encoding="utf-8")
        await asyncio.to_thread(partial.rename, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _emptied(folder: Path) -> Path:
    """A new folder to build in, beside `folder`. Deletes a damaged index, and what killed processes left."""
    for dead in (folder, *folder.parent.glob(".new-*")):
        shutil.rmtree(dead, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))


@contextlib.asynccontextmanager
async def _only_builder(parent: Path) -> AsyncIterator[None]:
    """Waits until no other process builds in `parent`."""
    with contextlib.closing(_lock_of(parent)) as lock:
        if not _locked(lock):
            log.info("Another process is building an index in %s; waiting for it.", parent)
            while not _locked(lock):  # noqa: ASYNC110  (SQLite sets no event)
                await asyncio.sleep(_LOOK_EVERY)
        yield


def _lock_of(parent: Path) -> sqlite3.Connection:
    parent.mkdir(parents=True, exist_ok=True)
    return sqlite3.connect(parent / ".lock", isolation_level=None, timeout=0)


def _locked(lock: sqlite3.Connection) -> bool:
    """Takes the lock if it is free."""
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if result_code(error) == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True


def delete_oldest(parent: Path, *, keep: int) -> None:
    """Deletes the folders in `parent` that were not used for longest, all but `keep`."""
    folders = [path for path in parent.iterdir() if path.name[0] != "." and path.is_dir()]
    for old in sorted(folders, key=lambda path: -path.stat().st_mtime)[keep:]:
        shutil.rmtree(old, ignore_errors=True)


def key_of(texts: Iterable[str], *facts: object) -> str:
    """The cache key of an index: a hash of everything it depends on."""
    digest = hashlib.sha256(json.dumps(facts).encode())
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:40]


def bytes_of(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(
            f"{folder}: the index cannot be written ({reason}). Free some space, or name another cache folder."
        ) from error
