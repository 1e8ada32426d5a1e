"""The reply cache: what was asked and paid for once is not asked again.

It is content-addressed: a reply is found by the hash of all that could change it (endpoint, model, every parameter,
messages, schema, sample number), so a different model can never answer from another's. It lives in one SQLite file in
the user's cache folder, apart from any run file, and can be deleted at any time: a cache that is damaged, locked or
full costs requests, never a run.
"""

import asyncio
import contextlib
import functools
import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from ragstone.models.kv_cache import KeyedFile
from ragstone.models.wire import encode
from ragstone.models.work import Replies, note, replies
from ragstone.storage import Layout
from ragstone.types import Completion, Model, Request, from_json, to_json

__all__ = ["Cached", "ReplyCache", "Shared", "default_cache", "reply_key"]

log = logging.getLogger(__name__)

T = TypeVar("T")

# Part of every key: a change of what a stored reply means changes it.
_KEY_VERSION = 1
_LAYOUT = Layout(
    what="reply cache",
    application_id=0x52475243,  # "RGRC"
    version=1,
    tables=("CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID",),
    durable=False,
)


def default_cache() -> Path:
    """The folder of the reply cache for this user, as the operating system has it."""
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def reply_key(identity: Mapping[str, Any], request: Request) -> bytes:
    """The hash of all that could change the reply. `identity` is what makes the model this one.

    The way in which a form is asked for (`models/structured.py`) is not part of it: the question is the same, a reply
    is checked against the schema whichever way it came, and the key is needed before the way is known.
    """
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
        self._file = KeyedFile(folder / "replies.sqlite", _LAYOUT, "replies")

    @property
    def path(self) -> Path:
        return self._file.path

    def open(self) -> None:
        """Opens the file. One that is damaged is put aside; where none can be made, there is no cache."""
        self._file.open()

    def get(self, key: bytes) -> Completion | None:
        """The stored reply, or None."""
        text = self._file.get((key,)).get(key)
        if text is None:
            return None
        try:
            return from_json(text, Completion)
        except (ValueError, TypeError, RecursionError):
            log.warning("A reply in the cache is damaged; it is asked for again.")
            return None

    def put(self, key: bytes, completion: Completion, /) -> None:
        """Stores a reply soon. Nobody waits for it: a reply lost to a crash is asked for again."""
        self._file.put([(key, to_json(completion))])

    def close(self) -> None:
        """Finishes what is being written."""
        self._file.close()


class Cached:
    """A chat model that is asked each thing once: now, and again whenever the cache holds it.

    Identical requests under way at the same time are sent once; the others wait for that reply. A reply that cost
    nothing has `cached` True, the tokens that it cost when it was asked for, and `usage.requests` 0. Errors are not
    kept. `cache` None joins identical requests and stores nothing.
    """

    def __init__(self, model: Model, cache: ReplyCache | None, *, identity: Mapping[str, Any]) -> None:
        self._model, self._cache, self._identity = model, cache, dict(identity)
        self._under_way: dict[bytes, Shared[Completion]] = {}

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
        kept = replies()  # of this very case: paid for by this run, and so not free
        if kept is None:
            return await self._reply(key, request, None)
        if (found := kept.get(key)) is not None:
            note(cached=1)
            return found
        completion = await self._reply(key, request, kept)
        kept.put(key, completion)
        return completion

    async def _reply(self, key: bytes, request: Request, kept: Replies | None) -> Completion:
        if self._cache is not None and (found := self._cache.get(key)) is not None:
            note(cached=1)
            return _free(found)
        note(sent=1)
        shared = self._under_way.get(key)
        if shared is not None and not shared.abandoned:
            return _free(await shared.result())
        lost = 0 if kept is None else kept.begin(key)
        task = asyncio.ensure_future(self._ask(key, request))
        shared = self._under_way[key] = Shared(task)
        task.add_done_callback(functools.partial(self._done, key, shared))
        completion = await shared.result()
        if lost:
            usage = msgspec.structs.replace(completion.usage, requests=completion.usage.requests + lost)
            return msgspec.structs.replace(completion, usage=usage)
        return completion

    async def _ask(self, key: bytes, request: Request) -> Completion:
        completion = await self._model.generate(request)
        if self._cache is not None and not completion.cached:
            self._cache.put(key, completion)
        return completion

    def _done(self, key: bytes, shared: "Shared[Completion]", _: "asyncio.Future[Completion]") -> None:
        if self._under_way.get(key) is shared:  # an abandoned one may have a successor already
            del self._under_way[key]


class Shared(Generic[T]):
    """One request that several wait for. It is cancelled when nobody waits any more, not when one stops waiting."""

    def __init__(self, task: "asyncio.Future[T]") -> None:
        self._task, self._waiting = task, 0
        self.abandoned = False  # it is being cancelled: nobody can join any more

    async def result(self) -> T:
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._waiting == 1 and not self._task.done():
                self.abandoned = True
                self._task.cancel()
                # Its clean-up is part of the cancellation: nothing of this call is left running.
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await self._task
            raise
        finally:
            self._waiting -= 1


def _free(completion: Completion) -> Completion:
    usage = msgspec.structs.replace(completion.usage, requests=0, cached=1)
    return msgspec.structs.replace(completion, usage=usage, cached=True)
