"""Places that data files come from: an address on the web, a folder, a zip archive."""

# ruff: noqa: ASYNC240  (looking at a file takes microseconds, and a download has the event loop to itself)

import asyncio
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from ragstone.datasets.sources import DataSource, PinnedFile
from ragstone.errors import UsageError
from ragstone.models.http_errors import reason_of
from ragstone.models.network import endpoint_url
from ragstone.text.redaction import shown_url

if TYPE_CHECKING:
    import aiohttp

Advance = Callable[[int, int | None], None]
"""(bytes that are here, bytes in all, None where nobody says)."""

LARGEST = 1 << 30  # bytes of one file: more is no data set of ours but a mistake or an attack

ATTEMPTS = 4  # of each file, in one run
PAUSE = 0.5  # seconds before the second attempt, and twice as long before each further one

_BLOCK = 1 << 16
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class Origin(Protocol):
    """A place with files. `where` names it in messages."""

    @property
    def where(self) -> str: ...

    async def fetch(self, file: PinnedFile, part: Path, advance: Advance, /) -> bool:
        """Write the file's bytes to `part`, resuming after those that it already has. False if there is no such
        file."""


@asynccontextmanager
async def open_origin(source: DataSource, mirror: str | Path | None, scratch: Path) -> AsyncIterator[Origin]:
    """The place that `mirror` names, or where the source is published. An archive from the web is kept in the folder
    `scratch` while it is in use. Raises UsageError for an unknown place."""
    address = str(mirror) if mirror is not None else source.base
    web = address.startswith(("http://", "https://"))
    if not web and "://" in address:
        raise UsageError(
            f"{shown_url(address)}: no such kind of address; expected http, https, a folder or a zip archive."
        )
    if web:
        offline = (
            f"If this machine is offline, fetch the files elsewhere and name their folder: "
            f"ragstone data pull {source.name} --from PATH. `--data fictional` needs no download."
        )
        async with _session() as session:
            origin = Web(session, address, offline)
            if not urlsplit(address).path.endswith(".zip"):
                yield origin
                return
            archive = scratch / ".mirror.zip.part"
            archive.unlink(missing_ok=True)
            try:
                if not await origin.fetch(PinnedFile(""), archive, lambda done, total: None):
                    raise UsageError(f"{origin.where}: there is no such archive (404).")
                yield _Archive(archive, origin.where)
            finally:
                archive.unlink(missing_ok=True)
    else:
        yield _local(Path(address))


def _local(path: Path) -> Origin:
    if path.is_dir():
        return _Folder(path)
    if path.is_file() and zipfile.is_zipfile(path):
        return _Archive(path, str(path))
    raise UsageError(f"{path}: no such folder or zip archive.")


@asynccontextmanager
async def _session() -> AsyncIterator["aiohttp.ClientSession"]:
    import aiohttp  # noqa: PLC0415  (heavy, and needed only where something is fetched)

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=60)
    # Uncompressed: a part must be a part of the file. trust_env: proxies as in other tools.
    async with aiohttp.ClientSession(
        timeout=timeout, trust_env=True, headers={"Accept-Encoding": "identity"}, auto_decompress=False
    ) as session:
        yield session


class Web:
    """An address with the files below it, by path or by name. `offline`: what to do without a connection."""

    def __init__(self, session: "aiohttp.ClientSession", base: str, offline: str = "") -> None:
        self.session, self.base, self.offline = session, base, offline

    @property
    def where(self) -> str:
        return shown_url(self.base)

    async def fetch(self, file: PinnedFile, part: Path, advance: Advance, /) -> bool:
        for path in dict.fromkeys((file.path, file.name)):
            if await self._fetch(endpoint_url(self.base, path) if path else self.base, part, advance):
                return True
        return False

    async def _fetch(self, url: str, part: Path, advance: Advance) -> bool:
        """Try, resuming after an interruption. Raises UsageError after the last attempt."""
        import aiohttp  # noqa: PLC0415

        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                status = await self._once(url, part, advance)
            except (aiohttp.ClientError, TimeoutError) as error:
                problem = reason_of(error)
                continue
            if status in (200, 206):
                return True
            if status in (404, 410):
                return False
            problem = f"status {status}"
            if status == 416:  # what is here is longer than the file: it is a part of something else
                part.unlink(missing_ok=True)
            elif status not in _AGAIN:
                raise UsageError(f"{shown_url(url)} cannot be fetched ({problem}). {self.offline}".rstrip())
        raise UsageError(f"{shown_url(url)} cannot be fetched ({problem}). {self.offline}".rstrip())

    async def _once(self, url: str, part: Path, advance: Advance) -> int:
        """One request for the rest of the file. Returns the status; 200 and 206 if the file is now whole."""
        here = part.stat().st_size if part.exists() else 0
        headers = {"Range": f"bytes={here}-"} if here else {}
        async with self.session.get(url, headers=headers) as response:
            if response.status not in (200, 206):
                return response.status
            going_on = response.status == 206 and (response.headers.get("Content-Range") or "").startswith(
                f"bytes {here}-"
            )
            if response.status == 206 and not going_on:
                part.unlink(missing_ok=True)
                return 416
            here = here if going_on else 0
            length = response.content_length
            total = None if length is None else here + length
            try:
                with part.open("ab" if going_on else "wb") as file:
                    advance(here, total)
                    async for block in response.content.iter_chunked(_BLOCK):
                        here += len(block)
                        _check_size(here, shown_url(url))
                        file.write(block)
                        advance(here, total)
            except UsageError:  # too long: there is nothing to go on with
                part.unlink(missing_ok=True)
                raise
            return response.status


class _Folder:
    """A folder with the files, under their paths or their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def where(self) -> str:
        return str(self.folder)

    async def fetch(self, file: PinnedFile, part: Path, advance: Advance, /) -> bool:
        for path in (self.folder / file.path, self.folder / file.name):
            if path.is_file():
                with path.open("rb") as opened:
                    await asyncio.to_thread(_copy, opened, part, path.stat().st_size, advance)
                return True
        return False


class _Archive:
    """A zip archive with the files in any of its folders. One with a member that points out of it is refused whole."""

    def __init__(self, path: Path, where: str) -> None:
        self.path, self._where = path, where

    @property
    def where(self) -> str:
        return self._where

    async def fetch(self, file: PinnedFile, part: Path, advance: Advance, /) -> bool:
        return await asyncio.to_thread(self._extract, file, part, advance)

    def _extract(self, file: PinnedFile, part: Path, advance: Advance) -> bool:
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = []
                for info in archive.infolist():
                    parts = PurePosixPath(info.filename.replace("\\", "/")).parts
                    if ".." in parts or parts[:1] == ("/",) or ":" in "".join(parts[:1]):
                        raise UsageError(
                            f"{self.where}: the archive has a member that points out of it: {info.filename!r}."
                        )
                    if parts[-1:] == (file.name,) and not info.is_dir():
                        members.append(info)
                if not members:
                    return False
                member = min(members, key=lambda info: (len(info.filename), info.filename))
                with archive.open(member) as opened:
                    _copy(opened, part, member.file_size, advance)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise UsageError(f"{self.where}: the archive cannot be read ({error}).") from None
        return True


def _copy(opened: IO[bytes], part: Path, total: int, advance: Advance) -> None:
    done = 0
    try:
        with part.open("wb") as file:
            while block := opened.read(_BLOCK):
                done += len(block)
                _check_size(done, part.name)
                file.write(block)
                advance(done, total)
    except BaseException:  # the next time it is copied from the start
        part.unlink(missing_ok=True)
        raise


def _check_size(size: int, name: str) -> None:
    if size > LARGEST:
        raise UsageError(f"{name}: longer than {LARGEST >> 20} MiB, which no file of these data sets is.")
