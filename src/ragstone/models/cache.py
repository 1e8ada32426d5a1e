"""The reply cache: a request that was paid for is not sent again.

It is content-addressed: the key of a reply is the hash of all that could change it (endpoint, model, every parameter,
messages, schema, sample number), so a model never gets a reply of another. It is one SQLite file in the user's cache
folder, separate from any run file, and can be deleted at any time: a cache that is damaged, locked or full costs
requests, but never a run.
"""

import asyncio
import contextlib
import hashlib
import logging
import sqlite3
from collections.abc import Hashable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from ragstone.errors import EndpointRefused, StorageError
from ragstone.models.kv_cache import KeyedFile
from ragstone.models.wire import encode
from ragstone.models.work import Replies, count_work, replies
from ragstone.storage import Layout, connect
from ragstone.structs import from_json, to_json
from ragstone.types import Completion, Model, Request

log = logging.getLogger(__name__)

T = TypeVar("T")

# Part of every key: to be changed when the meaning of a stored reply changes.
_KEY_VERSION = 1
_LAYOUT = Layout(
    what="reply cache",
    application_id=0x52475243,  # "RGRC"
    version=1,
    tables=("CREATE TABLE replies (key BLOB PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID",),
    durable=False,
)


def default_cache() -> Path:
    """The folder of the reply cache for this user, by the rules of the operating system."""
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def has_replies(folder: Path) -> bool:
    """Whether the cache of a folder has any reply."""
    path = folder / "replies.sqlite"
    if not path.is_file():
        return False
    with contextlib.suppress(StorageError, sqlite3.Error), contextlib.closing(connect(path, _LAYOUT)) as connection:
        return connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is not None
    return False


def reply_key(identity: Mapping[str, Any], request: Request) -> bytes:
    """The hash of all that could change the reply. `identity` distinguishes the model from others.

    How a structured reply is requested (`models/structured.py`) is not part of it: every reply is checked against the
    schema, and the key is needed before the form is known.
    """
    turns = [[turn.role, turn.content] for turn in request.messages]
    sampling = msgspec.structs.asdict(request.sampling)
    content = [
        _KEY_VERSION,
        sorted(identity.items()),
        turns,
        sampling,
        request.schema,
        request.schema_name,
        request.sample,
    ]
    return hashlib.sha256(encode(content)).digest()


class ReplyCache:
    """Replies on disk in `folder`. Every failure is a miss; the first of a kind is logged."""

    def __init__(self, folder: Path) -> None:
        self._file = KeyedFile(folder / "replies.sqlite", _LAYOUT, "replies")

    @property
    def path(self) -> Path:
        return self._file.path

    def open(self) -> None:
        """Opens the file. A damaged one is renamed; if none can be created, there is no cache."""
        self._file.open()

    def get(self, key: bytes) -> Completion | None:
        """The stored reply, or None."""
        text = self._file.get((key,)).get(key)
        if text is None:
            return None
        try:
            return from_json(text, Completion)
        except (ValueError, TypeError, RecursionError):
            log.warning("A reply in the cache is damaged; it is requested again.")
            return None

    def put(self, key: bytes, completion: Completion, /) -> None:
        """Stores a reply soon. Nothing waits for it: a reply lost in a crash is requested again."""
        self._file.put([(key, to_json(completion))])

    def close(self) -> None:
        """Finishes all writing and closes the file."""
        self._file.close()


class Cached:
    """A chat model that sends each request once, and later replies from the cache.

    Identical concurrent requests are sent once, and share the reply; if the call that sent it is cancelled, the request
    goes on for the others, and one of them has its cost. A request to `renew` is sent, and its reply replaces the one
    in the cache. A reply from the cache has `cached` True, the tokens that it cost originally, and `usage.requests` 0.
    Errors are not stored. `cache` None shares identical concurrent requests and stores nothing.
    """

    def __init__(self, model: Model, cache: ReplyCache | None, *, identity: Mapping[str, Any]) -> None:
        self._model, self._cache, self._identity = model, cache, dict(identity)
        self._in_flight: dict[Hashable, _Sent] = {}

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
        """The reply, from the cache if it has it. Raises what the model raises."""
        kept_replies = replies()  # of this case: paid for by this run, so not free
        if kept_replies is None:
            key = None if self._cache is None else reply_key(self._identity, request)
            return await self._reply(key, request, None)
        key = reply_key(self._identity, request)
        if not request.renew and (completion := kept_replies.get(key)) is not None:
            count_work(cached=1)
            return completion
        completion = await self._reply(key, request, kept_replies)
        kept_replies.put(key, completion)
        return completion

    def _name(self, key: bytes | None, request: Request) -> Hashable:
        """What equal requests in flight have in common: the request itself, if it can be compared, takes less time than
        the key."""
        try:
            hash(request)
        except TypeError:  # it has a schema
            return key or reply_key(self._identity, request)
        return request

    async def _reply(self, key: bytes | None, request: Request, kept_replies: Replies | None) -> Completion:
        if request.renew:
            request = msgspec.structs.replace(request, renew=False)
        elif self._cache is not None and key and (stored := self._cache.get(key)) is not None:
            count_work(cached=1)
            return _free(stored)
        count_work(sent=1)
        name = self._name(key, request)
        shared = self._in_flight.get(name)
        if shared is not None and not shared.abandoned:
            try:
                completion = await shared.result()
            except asyncio.CancelledError:
                if shared.unpaid and not shared.waited_for and kept_replies is not None and key:
                    kept_replies.begin(key)  # it was sent, and no other case counts it
                raise
            free, shared.unpaid = not shared.unpaid, False
            return _free(completion) if free else completion
        lost_requests = kept_replies.begin(key) if kept_replies is not None and key else 0
        shared = self._in_flight[name] = _Sent()
        shared.task = asyncio.get_running_loop().create_task(self._send(name, key, request, shared))
        try:
            completion = await shared.result()
        except asyncio.CancelledError:
            shared.unpaid = True
            if kept_replies is not None and key and shared.waited_for:
                kept_replies.withdraw(key)  # it is another case's now
            raise
        except EndpointRefused as error:
            if not error.sent:  # stopped before it went out
                count_work(sent=-1)
                if kept_replies is not None and key:
                    kept_replies.withdraw(key)
            raise
        if lost_requests:
            usage = msgspec.structs.replace(completion.usage, requests=completion.usage.requests + lost_requests)
            return msgspec.structs.replace(completion, usage=usage)
        return completion

    async def _send(self, name: Hashable, key: bytes | None, request: Request, shared: "_Sent") -> None:
        """Has the model's reply stored and those told who wait for it."""
        completion = error = None
        try:
            completion = await self._model.generate(request)
            if self._cache is not None and key and not completion.cached:
                self._cache.put(key, completion)
        except BaseException as raised:
            error = raised
            if not isinstance(raised, Exception):
                raise
        finally:
            if self._in_flight.get(name) is shared:
                del self._in_flight[name]
            shared.end(completion, error)


class Shared(Generic[T]):
    """One request that several callers wait for. It is cancelled only when all of them have stopped waiting."""

    def __init__(self, task: "asyncio.Future[T]") -> None:
        self._task, self._waiting = task, 0
        self.abandoned = False  # it is being cancelled, so nobody can join

    async def result(self) -> T:
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._waiting == 1 and not self._task.done():
                self.abandoned = True
                self._task.cancel()
                # Wait for its clean-up, so that nothing of this call is left running.
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await self._task
            raise
        finally:
            self._waiting -= 1


class _Sent:
    """A request that was sent, as `Shared` with fewer turns of the event loop. `unpaid`: who sent it stopped waiting,
    so that another one has its cost."""

    task: "asyncio.Task[None]"

    def __init__(self) -> None:
        self.abandoned = self.unpaid = self._ended = False
        self._completion: Completion | None = None
        self._error: BaseException | None = None
        self._waiting: list[asyncio.Future[Completion]] = []

    async def result(self) -> Completion:
        """The reply, or what the model raises."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if self._ended:  # in a loop of eager tasks, before `task` was there
            self._tell(future)
        try:
            return await future
        except asyncio.CancelledError:
            if self._waiting == [future] and not self.task.done():
                self.abandoned = True
                self.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):  # wait for its clean-up
                    await self.task
            raise
        finally:
            self._waiting.remove(future)

    @property
    def waited_for(self) -> bool:
        """Whether somebody has not gone on with the reply yet."""
        return bool(self._waiting)

    def end(self, completion: Completion | None, error: BaseException | None) -> None:
        """Tells all who wait."""
        self._completion, self._error, self._ended = completion, error, True
        for future in self._waiting:
            if not future.done():
                self._tell(future)

    def _tell(self, future: "asyncio.Future[Completion]") -> None:
        if self._completion is not None and self._error is None:
            future.set_result(self._completion)
        elif isinstance(self._error, Exception):
            future.set_exception(self._error)
        else:
            future.cancel()


def _free(completion: Completion) -> Completion:
    usage = msgspec.structs.replace(completion.usage, requests=0, cached=1)
    return msgspec.structs.replace(completion, usage=usage, cached=True)
