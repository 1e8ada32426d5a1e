"""The reply cache: what was asked and paid for once is not asked again.

It is content-addressed: a reply is found by the hash of all that could change it (endpoint, model, every parameter,
messages, schema, sample number), so a different model can never answer from another's. It lives in one SQLite file in
the user's cache folder, apart from any run file, and can be deleted at any time: a cache that is damaged, locked or
full costs requests, never a run.
"""

import asyncio
import contextlib
import hashlib
import logging
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ragstone.errors import StorageError, UsageError
from ragstone.models.wire import encode
from ragstone.storage import GroupWriter, Layout, connect
from ragstone.types import Completion, Model, Request, Usage, from_json, to_json

__all__ = ["Cached", "ReplyCache", "default_cache"]

log = logging.getLogger(__name__)

# Part of every key: a change of what a stored reply means changes it.
_KEY_VERSION = 1
_BUSY_SECONDS = 2.0
_LAYOUT = Layout(
    what="reply cache",
    application_id=0x52475243,  # "RGRC"
    version=1,
    tables=("CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID",),
)
_TROUBLE = (StorageError, UsageError, sqlite3.Error, OSError)


def default_cache() -> Path:
    """The folder of the reply cache for this user, as the operating system has it."""
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def reply_key(identity: Mapping[str, Any], request: Request) -> bytes:
    """The hash of all that could change the reply. `identity` is what makes the model this one."""
    turns = [[turn.role, turn.content] for turn in request.messages]
    sampling = {name: getattr(request.sampling, name) for name in request.sampling.__struct_fields__}
    asked = [
        _KEY_VERSION,
        sorted(identity.items()),
        turns,
        sampling,
        request.schema,
        request.schema_name,
        request.sample,
    ]
    return hashlib.sha256(encode(asked)).digest()


class ReplyCache:
    """Replies on disk in `folder`. Every failure of it is a miss; the first of a kind is logged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "replies.sqlite"
        self._reader: sqlite3.Connection | None = None
        self._writer: GroupWriter | None = None
        self._spent: GroupWriter | None = None  # one that failed, until `close`
        self._pending: set[asyncio.Future[None]] = set()

    def open(self) -> None:
        """Opens the file. One that is damaged is put aside; where none can be made, there is no cache."""
        for attempt in (1, 2):
            try:
                self._open()
                return
            except _TROUBLE as error:
                self.close()
                if attempt == 1 and self._put_aside():
                    log.warning("The reply cache was damaged (%s); it was put aside and begins anew.", error)
                    continue
                log.warning("There is no reply cache for now: %s", error)
                return

    def _open(self) -> None:
        self._writer = GroupWriter(self.path, _LAYOUT, busy_seconds=_BUSY_SECONDS)
        self._reader = connect(self.path, _LAYOUT, write=False, busy_seconds=_BUSY_SECONDS)
        found = self._reader.execute("PRAGMA quick_check(1)").fetchone()[0] if self._small() else "ok"
        if found != "ok":
            raise StorageError(f"{self.path}: {found}")

    def _small(self) -> bool:
        """Whether the file can be checked in some milliseconds. A larger one is trusted until it disappoints."""
        return self.path.stat().st_size < 16 * 1024 * 1024

    def _put_aside(self) -> bool:
        if not self.path.is_file():
            return False
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
            for tail in ("-journal", "-wal", "-shm"):
                Path(f"{self.path}{tail}").unlink(missing_ok=True)
            return True
        return False

    def get(self, key: bytes) -> Completion | None:
        """The stored reply, or None."""
        if self._reader is None:
            return None
        try:
            row = self._reader.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
            return from_json(row[0], Completion) if row else None
        except sqlite3.Error as error:
            self._give_up(error)
        except (ValueError, TypeError, RecursionError):
            log.warning("A reply in the cache is damaged; it is asked for again.")
        return None

    def put(self, key: bytes, completion: Completion) -> None:
        """Stores a reply soon. Nobody waits for it: a reply lost to a crash is asked for again."""
        if self._writer is None:
            return
        row = (key, to_json(completion))

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", row)

        try:
            done = self._writer.submit(write)
        except StorageError as error:
            self._give_up(error)
            return
        self._pending.add(done)
        done.add_done_callback(self._written)

    def _written(self, done: "asyncio.Future[None]") -> None:
        self._pending.discard(done)
        if not done.cancelled() and (error := done.exception()):
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        if self._reader or self._writer:
            log.warning("The reply cache is not used any more in this run: %s", error)
        # Not closed: writes may still be on their way to it. `close` does that.
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._spent, self._writer = self._writer, None

    def close(self) -> None:
        """Finishes what is being written."""
        for writer in (self._writer, self._spent):
            if writer is not None:
                writer.close()
        if self._reader is not None:
            self._reader.close()
        self._writer = self._spent = self._reader = None


class Cached:
    """A chat model that is asked each thing once: now, and again whenever the cache holds it.

    Identical requests under way at the same time are sent once; the others wait for that reply. A reply that cost
    nothing has `cached` True, the tokens that it cost when it was asked for, and `usage.requests` 0. Errors are not
    kept. `cache` None joins identical requests and stores nothing.
    """

    def __init__(self, model: Model, cache: ReplyCache | None, *, identity: Mapping[str, Any]) -> None:
        self._model, self._cache, self._identity = model, cache, dict(identity)
        self._under_way: dict[bytes, _Shared] = {}

    @property
    def id(self) -> str:
        return self._model.id

    async def __aenter__(self) -> "Cached":
        if self._cache is not None:
            self._cache.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)

    async def generate(self, request: Request, /) -> Completion:
        """The reply, from the cache where it is there. Raises what the model raises."""
        key = reply_key(self._identity, request)
        if self._cache is not None and (found := self._cache.get(key)) is not None:
            return _free(found)
        shared = self._under_way.get(key)
        if shared is not None:
            return _free(await shared.result())
        shared = self._under_way[key] = _Shared(asyncio.ensure_future(self._ask(key, request)))
        return await shared.result()

    async def _ask(self, key: bytes, request: Request) -> Completion:
        try:
            completion = await self._model.generate(request)
            if self._cache is not None and not completion.cached:
                self._cache.put(key, completion)
            return completion
        finally:
            self._under_way.pop(key, None)


class _Shared:
    """One request that several wait for. It is cancelled when nobody waits any more, not when one stops waiting."""

    def __init__(self, task: "asyncio.Future[Completion]") -> None:
        self._task, self._waiting = task, 0

    async def result(self) -> Completion:
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._waiting == 1 and not self._task.done():
                self._task.cancel()
                # Its clean-up is part of the cancellation: nothing of this call is left running.
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await self._task
            raise
        finally:
            self._waiting -= 1


def _free(completion: Completion) -> Completion:
    usage = completion.usage
    return Completion(
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        usage=Usage(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, requests=0, cached=1),
        model=completion.model,
        seconds=completion.seconds,
        cached=True,
    )
