"""Stops asking an endpoint that refuses every request (because of a wrong key, model or address) or never answers.

`Refusals` guards one endpoint. After `LIMIT` consecutive refusals nothing more is sent, and each call raises
`EndpointRefused`; after a single one where the account's credit is used up. Of an endpoint that has never answered, the
same happens after `ATTEMPTS` requests in a row, retries among them, that found nobody there; after as many that ended
in other failures, nothing is tried twice any more. One that keeps silent ends it after `SILENT` requests, or `LIMIT`
one by one. Until it has answered, requests go out one at a time, unless that takes longer than `ALONE`: with a wrong
key `LIMIT` of them, however many cases wait (`one_at_a_time`). Later, requests in flight at that moment may still be
refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from ragstone.errors import (
    ContentBlocked,
    Dropped,
    EndpointRefused,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    TimedOut,
    Unreachable,
)  # fmt: skip
from ragstone.types import Completion, Model, Request

P = ParamSpec("P")
T = TypeVar("T")

LIMIT: Final = 5
ATTEMPTS: Final = 10
SILENT: Final = 2  # one may be a question that takes too long, or a model that is being loaded; `LIMIT` one by one
# Seconds after which others go out, too: the first reply may take as long as a request may last.
ALONE: Final = 10.0
# The longest pause between two attempts at an endpoint that has not answered yet: a user waits to hear of it.
FIRST_PAUSE: Final = 1.0


class Refusals:
    """The consecutive refusals of one endpoint."""

    def __init__(self, *, one_at_a_time: bool = True) -> None:
        self._in_a_row = self._attempts = self._unreachable = self._silent = self._under_way = self._most = 0
        self._ended = self._heard = self._failed = self._replied = self._alone = self._busy = False
        self._last = ""
        self._answered, self._reached = False, not one_at_a_time
        self._turn = asyncio.Lock()

    def check(self) -> None:
        """Raises `EndpointRefused` if nothing more is to be sent."""
        if self._ended:
            raise self._refused(sent=False)

    def count_attempt(self, error: ModelError) -> float:
        """Counts an attempt that failed and may be repeated. Returns the longest pause before that, and raises the
        `error` where it is not to be. Raises `EndpointRefused` if `ATTEMPTS` in a row found nobody, or three times as
        many had no usable reply. A fault (500) may be about one question: that the first `ATTEMPTS` had one keeps the
        others from being repeated, and what then fails is counted by the run (`runs/halt.py`). An endpoint that says
        when to come back is there."""
        self.check()
        if self._heard:
            return float("inf")
        self.count_silence(error)
        nobody = isinstance(error, Unreachable) and not isinstance(error, Dropped)
        self._unreachable = self._unreachable + 1 if nobody else 0
        if isinstance(error, RateLimited | ServerFault) and error.retry_after is not None:
            return FIRST_PAUSE
        self._attempts += 1
        for count, limit in ((self._unreachable, ATTEMPTS), (self._attempts, 3 * ATTEMPTS)):
            if count >= limit:
                self._in_a_row, self._last, self._ended = count, str(error), True
                self._failed = True
                raise self._refused() from error
        if self._attempts >= ATTEMPTS:
            raise error
        return FIRST_PAUSE

    def count_silence(self, error: ModelError) -> None:
        """Counts a request that had no complete reply in its time. Raises `EndpointRefused` if there was none at all
        yet, and this is the `SILENT`th: others that are under way have waited, too. Requests one by one tell less: two
        questions may take too long, and a run that is resumed begins with them; then it is the `LIMIT`th."""
        self._note_reply(error)
        self._silent += isinstance(error, TimedOut)
        if self._silent >= (SILENT if self._most > 1 else LIMIT) and not self._replied:
            self._last, self._ended, self._failed = str(error), True, True
            self._in_a_row = 0
            raise self._refused() from error

    def _note_reply(self, error: ModelError) -> None:
        self._replied |= isinstance(error, Dropped) or not isinstance(error, TimedOut | Unreachable)

    def _refused(self, *, sent: bool = True) -> EndpointRefused:
        refused = EndpointRefused(self._last, self._in_a_row, answered=self._answered, sent=sent, failed=self._failed)
        if self._busy or (self._failed and self._unreachable < ATTEMPTS):  # it is there, so the address is right
            refused.exit_code = 3
        return refused

    def guard(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, T]:
        """The value of a call with these arguments, unless the endpoint is not asked any more."""
        return self._guard(call, *args, **options) if self._reached else self._first(call, *args, **options)

    async def _first(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> T:
        await self._turn.acquire()
        if self._reached:
            self._turn.release()
            return await self._guard(call, *args, **options)
        self._alone = True
        timer = asyncio.get_running_loop().call_later(ALONE, self._let_others_go)
        try:
            return await self._guard(call, *args, **options)
        finally:
            timer.cancel()
            self._end_turn()

    def _let_others_go(self) -> None:
        self._reached = True
        self._end_turn()

    def _end_turn(self) -> None:
        if self._alone:
            self._alone = False
            self._turn.release()

    async def _guard(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> T:
        self.check()
        self._under_way += 1
        self._most = max(self._most, self._under_way)
        try:
            value = await call(*args, **options)
        except ModelError as error:
            self._note_reply(error)
            if error.refuses_all:
                self._busy = isinstance(error, RateLimited | ServerFault)  # it asks for a long wait: the key is valid
                error.exit_code = 3 if self._answered or self._busy else 2  # of a command that this error ends
                self._in_a_row, self._last = self._in_a_row + 1, str(error)
                if self._in_a_row >= LIMIT or error.refuses_for_good:
                    self._ended = True
                    raise self._refused() from error
            else:
                self._reached = True
                if isinstance(error, Rejected | ContentBlocked):  # about this request only: the key is valid
                    self._in_a_row, self._heard = 0, True
            raise
        finally:
            self._under_way -= 1
        self._in_a_row, self._answered, self._heard, self._reached, self._replied = 0, True, True, True, True
        return value


class Guarded:
    """A chat model that is not asked any more once its endpoint refuses every request."""

    def __init__(self, model: Model, refusals: Refusals) -> None:
        self._model, self._refusals = model, refusals

    @property
    def id(self) -> str:
        return self._model.id

    def generate(self, request: Request, /) -> Coroutine[Any, Any, Completion]:
        return self._refusals.guard(self._model.generate, request)
