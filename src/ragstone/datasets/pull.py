"""Fetches published data sets, which ragstone may not carry, from where their authors put them.

`sources` has the pinned table: one revision, and for each file its hash where that could be known. A file without a
known hash is trusted on first use: what came first is noted, with its hash, in a manifest beside the files, and
anything else is refused from then on. It must also be what it should be: its rows are read and counted.

A file appears under its name only when it is whole and checked; what broke off goes on where it stopped. Mirrors (an
address, a folder, a zip archive) are held to the same hashes.
"""

# ruff: noqa: ASYNC240  (looking at a file takes microseconds, and a download has the event loop to itself)

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import platformdirs

from ragstone.datasets.mirage import read_oracle, read_pool, read_questions
from ragstone.datasets.origins import Origin, open_origin
from ragstone.datasets.rgb import read_rgb
from ragstone.datasets.sources import DataSource, PinnedFile, list_data
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.storage import write_file
from ragstone.structs import Frozen

__all__ = ["MANIFEST", "NOTICE", "Progress", "Pulled", "blob_id", "data_folder", "known_hashes", "list_data", "pull"]

MANIFEST = "pulled.manifest"  # JSON; not named .json, which would make it look like data
NOTICE = "LICENSE-NOTICE.txt"

Progress = Callable[[str, int, int | None], None]
"""(name of the file, bytes that are here, bytes in all, None where nobody says)."""


def _mirage_rows(path: Path) -> int:
    if "dataset" in path.name:
        return len(read_questions(path))
    return len(read_oracle(path) if "oracle" in path.name else read_pool(path))


_READERS: Mapping[str, Callable[[Path], int]] = {
    "mirage": _mirage_rows,
    "rgb": lambda path: len(read_rgb(path).rows),
}
"""For each source, what reads one of its files and says how many rows it has; DataError where it is none."""


class Pulled(Frozen, frozen=True):
    """A file that is here now. `verified`: by the "pinned" hash, by the one "noted" when it was first fetched, or by
    none yet: this is its "first use"."""

    name: str
    path: str
    size: int
    sha256: str
    fetched: bool
    verified: Literal["pinned", "noted", "first use"]


def data_folder(name: str) -> Path:
    """The default target folder of `ragstone data pull NAME`."""
    return Path(platformdirs.user_data_dir("ragstone", appauthor=False)) / name


async def pull(
    source: DataSource,
    dest: str | Path,
    *,
    mirror: str | Path | None = None,
    progress: Progress | None = None,
    names: Iterable[str] | None = None,
) -> list[Pulled]:
    """Fetch the files of `source` into the folder `dest`, those that are not there yet; a notice of the licence is put
    beside them. `names` asks for some of the files ("en.json" or "en").

    `mirror` is another place with the same files, under their names or their paths: an address, a folder, or a zip
    archive (of the repository, say). A mirror need not have all of them, but one that is asked for by name.
    Raises UsageError in one line that says what to do, where the place cannot be reached or does not have the files,
    or where it cannot be written, DataError where a file is not what it should be."""
    requested = _requested(source, names)
    folder = Path(dest)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        store = _Store(source, folder, progress or _silent)
        async with open_origin(source, mirror, folder) as origin:
            pulled = [await store.get(file, origin) for file in requested]
        present = [file for file in pulled if file is not None]
        if not present or (len(present) < len(requested) and (names is not None or mirror is None)):
            lacking = [file.name for file, here in zip(requested, pulled, strict=True) if here is None]
            raise UsageError(f"{origin.where} does not have {', '.join(lacking[:3])}{'…' if len(lacking) > 3 else ''}.")
        write_file(folder / NOTICE, source.terms)
    except OSError as error:
        raise UsageError(
            f"{error.filename or folder}: cannot be read or written ({error.strerror or error}). Free some space, or "
            "name another folder with --to DIR."
        ) from None
    return present


def known_hashes(source: DataSource, folder: str | Path) -> dict[str, str]:
    """File name → SHA-256 of the published file: as pinned, or as noted when it was first pulled into `folder`."""
    noted = _Store(source, Path(folder), _silent).noted
    digests = {file.name: file.sha256 or noted.get(file.name, {}).get("sha256") for file in source.files}
    return {name: digest for name, digest in digests.items() if isinstance(digest, str)}


def blob_id(path: Path) -> str:
    """The id that git gives the content of a file: the SHA-1 of `blob SIZE`, a zero byte and the content."""
    with path.open("rb") as stream:
        head = f"blob {path.stat().st_size}\0".encode()
        digest = hashlib.sha1(head, usedforsecurity=False)
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _silent(name: str, done: int, total: int | None) -> None:
    """Progress that is not shown."""


def _requested(source: DataSource, names: Iterable[str] | None) -> list[PinnedFile]:
    known = {PurePosixPath(file.name).stem: file for file in source.files}
    if names is None:
        return list(source.files)
    requested = []
    for name in names:
        stem = name.removesuffix(".json")
        if stem not in known:  # also where it is a path: nothing that is asked for ever names a place to write to
            raise UnknownName(f"file of {source.name}", name, [file.name for file in source.files])
        requested.append(known[stem])
    return requested


@dataclass
class _Store:
    """The target folder: which files it has, and how to add one."""

    source: DataSource
    folder: Path
    progress: Progress
    noted: dict[str, dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.noted = self._read_manifest()

    async def get(self, file: PinnedFile, origin: Origin) -> Pulled | None:
        """The file, fetched if it is missing or damaged. None if the mirror does not have it."""
        target = self.folder / file.name
        fetched = False
        try:
            digest = await asyncio.to_thread(self._check, file, target)
        except DataError:  # not here, or not as it should be
            part = self.folder / f".{file.name}.part"
            fetched_digest = await self._fetch(file, part, origin)
            if fetched_digest is None:
                return None
            part.replace(target)
            digest, fetched = fetched_digest, True
        verified: Literal["pinned", "noted", "first use"]
        verified = "pinned" if file.pinned else "noted" if file.name in self.noted else "first use"
        pulled = Pulled(file.name, str(target), target.stat().st_size, digest, fetched, verified)
        if file.name not in self.noted:
            self._note(pulled)
        return pulled

    async def _fetch(self, file: PinnedFile, part: Path, origin: Origin) -> str | None:
        """Fetches the file into `part` and checks it. Returns its hash; None if the origin does not have the file."""
        while True:
            resumed = part.exists()
            if not await origin.fetch(file, part, lambda done, total: self.progress(file.name, done, total)):
                return None
            try:
                return await asyncio.to_thread(self._check, file, part)
            except DataError:
                part.unlink(missing_ok=True)
                if not resumed:
                    raise
                # A part of something else had been left here: once more, from the start.

    def _check(self, file: PinnedFile, path: Path) -> str:
        """The hash of the file at `path`. Raises DataError if it is not the expected file."""
        if not path.is_file():
            raise DataError(file.name, "is not here.")
        with path.open("rb") as file_stream:
            digest = hashlib.file_digest(file_stream, "sha256").hexdigest()
        expected = file.sha256 or self.noted.get(file.name, {}).get("sha256")
        if expected is not None and digest != expected:
            whose = "pinned" if file.sha256 else "first fetched"
            raise DataError(
                file.name,
                f"what came is not the {whose} file: its SHA-256 is {digest[:16]}…, not {expected[:16]}….",
                advice="Try again, or another --from; nothing was kept of it.",
            )
        if file.blob is not None and (blob := blob_id(path)) != file.blob:
            raise DataError(
                file.name,
                f"what came is not the pinned file: its git blob id is {blob[:16]}…, not {file.blob[:16]}….",
                advice="Try again, or another --from; nothing was kept of it.",
            )
        if expected is None and file.blob is None:
            try:
                rows = _READERS[self.source.name](path)
            except DataError as error:
                problem = str(error).removeprefix(f"{path}, ").removeprefix(f"{path}: ")
                raise DataError(file.name, f"what came is no such file ({problem})") from None
            if file.rows is not None and rows != file.rows:
                raise DataError(file.name, f"what came has {rows} rows; expected {file.rows}.")
        return digest

    def _read_manifest(self) -> dict[str, dict[str, Any]]:
        """The manifest of earlier fetches of this revision; {} if there is none."""
        try:
            read = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            raise DataError(
                self.folder / MANIFEST, "is damaged.", advice="Delete it to fetch the files anew."
            ) from None
        if not isinstance(read, dict) or read.get("revision") != self.source.revision:
            return {}
        files = read.get("files")
        return dict(files) if isinstance(files, dict) else {}

    def _note(self, pulled: Pulled) -> None:
        self.noted[pulled.name] = {"sha256": pulled.sha256, "size": pulled.size}
        about = {
            "source": self.source.name,
            "repository": self.source.repository,
            "revision": self.source.revision,
            "license": self.source.license,
            "files": dict(sorted(self.noted.items())),
        }
        write_file(self.folder / MANIFEST, json.dumps(about, indent=2) + "\n")
