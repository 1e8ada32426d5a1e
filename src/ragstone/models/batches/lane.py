"""A model whose requests go through its provider's batch interface."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from ragstone.errors import AllowanceSpent, ModelError, Postponed, TimedOut, UsageError
from ragstone.models.allowance import Allowance
from ragstone.models.batches.remote import Line, Remote
from ragstone.models.batches.store import BatchStore, Entry, Reply
from ragstone.models.cache import reply_key
from ragstone.models.client import Client
from ragstone.models.http_errors import Refusable, RefusedParameter, is_transient
from ragstone.models.providers import BatchInterface
from ragstone.models.rate_limit import estimated_tokens
from ragstone.models.structured import RefusedForm, ignored
from ragstone.models.wire import encode
from ragstone.types import Completion, Model, Request

MOST_ATTEMPTS = 3  # batches for one request, if it expires or its provider fails
# Turns of the event loop in which the other requests of a case are collected, before the first of them gives it up.
_TURNS = 30
_ANSWER_TOKENS = 256  # of an answer, where the request does not limit it


class Round(Protocol):
    """The round of a command that a lane collects for. used: the keys of the replies that were handed out. expected:
    about what the collected requests will cost. spent: the limit that ended the collecting."""

    active: bool
    used: set[bytes]
    expected: float
    spent: AllowanceSpent | None

    @property
    def store(self) -> BatchStore: ...


@dataclass
class Lane:
    """A chat model whose requests are collected for a batch. A request without a reply is noted, and `Postponed` is
    raised; in a later round, when its batch has ended, it has the reply.

    Outside rounds the model is asked directly. So is the first request to a new model, and the first with a schema: a
    wrong key, a wrong name or a form that the model does not support is found out at once, not tomorrow."""

    client: Client
    interface: BatchInterface
    identity: Mapping[str, Any]
    remote: Remote
    round: Round
    allowance: Allowance | None
    direct: Model | None = None
    size: int = field(init=False)  # bytes of a batch; less than the interface says if the provider refused that
    over_quota: int = 0  # batches in a row that were refused because too many requests wait already
    _reached: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.size = self.interface.size

    @property
    def id(self) -> str:
        return self.client.id

    @property
    def name(self) -> str:
        """The model at its endpoint, in the list of batches."""
        return hashlib.sha256(encode(sorted(self.identity.items()))).hexdigest()[:16]

    async def generate(self, request: Request, /) -> Completion:
        """The reply, if a batch has it. Raises `Postponed`, and what the model raises."""
        assert self.direct is not None
        if not self.round.active:
            return await self.direct.generate(request)
        key = reply_key(self.identity, request)
        entry = self.round.store.get(key)
        if entry is not None and (entry.settled or self._exhausted(entry)):
            completion = self._read(key, entry, request)
            if completion is not None:
                return completion
            entry = None
        if entry is None and not self._known(request):
            async with self._turn:
                if not self._known(request):
                    completion = await self.direct.generate(request)
                    self._reached = True
                    return completion
        self._collect(key, entry, request)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        raise Postponed

    def _known(self, request: Request) -> bool:
        """Whether a batch may be made of requests like this one."""
        if self.offline:
            return True
        self._reached = self._reached or self.round.store.has_lane(self.name)
        return self._reached and (request.schema is None or self.client.negotiator.known() is not None)

    @property
    def offline(self) -> bool:
        """Whether there is no endpoint, only files."""
        return self.interface.kind == "offline"

    def _collect(self, key: bytes, entry: Entry | None, request: Request) -> None:
        waiting = entry is not None and entry.state == "asked"
        attempt = 1 if entry is None else entry.attempt + (entry.state == "again")
        if waiting:
            self.round.store.collect(key, self.name, attempt, None)
            return
        form = None if request.schema is None else self.client.negotiator.form
        line = self.remote.line(key.hex(), self.client.payload(request, form))
        if len(line) > self.interface.line:
            raise UsageError(
                f"{self.id}: a request of {len(line):,} bytes does not fit into a batch, which takes at most "
                f"{self.interface.line:,} for one. Leave --batch out."
            )
        if self.allowance is not None:
            try:
                self.allowance.admit(self.round.expected)
            except AllowanceSpent as error:
                self.round.spent = error
                raise Postponed from None
            answer = request.sampling.max_tokens or _ANSWER_TOKENS
            cost = self.allowance.price.of_tokens(max(0, estimated_tokens(request) - answer), answer)
            self.round.expected += self.interface.price * cost
        self.round.store.collect(key, self.name, attempt, line)

    def _exhausted(self, entry: Entry) -> bool:
        return entry.state == "again" and entry.attempt >= MOST_ATTEMPTS

    def _read(self, key: bytes, entry: Entry, request: Request) -> Completion | None:
        """The reply that a batch brought; None if the request must be sent in another form. Raises what the reply to an
        ordinary request would."""
        formed = request.schema is not None
        form = self.client.negotiator.form if formed else None
        refusable: Refusable = "clearly" if formed else ""
        first, body = key not in self.round.used, entry.reply.encode("utf-8", "surrogatepass")
        self.round.used.add(key)
        try:
            if entry.status != 200:
                raise self._error(entry.status, body, refusable)
            payload, price = self.client.payload(request, form), self.interface.price if first else 0.0
            reply = self.client.read(body, payload, formed=formed, refusable=refusable, seconds=0.0, price=price)
        except RefusedForm:
            if form is None:
                raise
            self.client.negotiator.unsettle(form)
            self.round.store.forget(key)
            return None
        except RefusedParameter as error:
            if not self.client.forgo(error.parameter):
                raise
            self.round.store.forget(key)
            return None
        if form is not None and request.schema is not None and ignored(form, request.schema, reply):
            self.client.negotiator.unsettle(form)
            self.round.store.forget(key)
            return None
        return msgspec.structs.replace(reply.completion, seconds=None)

    def _error(self, status: int, body: bytes, refusable: Refusable) -> ModelError:
        if status == 0:
            why = body.decode("utf-8", "replace") or "it has no reply"
            return TimedOut(f"{self.id}: asked in {MOST_ATTEMPTS} batches without a reply ({why}).")
        return self.client.status_error(status, {}, body, refusable)

    def reply_of(self, line: Line) -> Reply | None:
        """A line of the results for the store; None if it is about no request of ours."""
        try:
            key = bytes.fromhex(line.id)
        except ValueError:
            return None
        again = line.status == 0 or (line.status != 200 and is_transient(self._error(line.status, line.body, "")))
        return Reply(key, "again" if again else "settled", line.status, line.body.decode("utf-8", "replace"))


def wrapper_of(lane: Lane) -> Callable[[Model], Model]:
    """What puts the lane around the model that is asked directly."""

    def around(model: Model) -> Model:
        lane.direct = model
        return lane

    return around
