"""Retries of transient failures, after a pause, within the deadline of a call.

`retrying` is the policy, `Retrying` the wrapper of a chat model. A pause is drawn uniformly between zero and a limit
that doubles (full jitter, https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/), so that
callers that failed together do not return together. If the endpoint says how long to wait, the pause is that long plus
a small random time; if that is longer than a whole call may take, the call ends.
"""

import asyncio
import functools
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragstone.errors import ModelError, RateLimited, ServerFault, TimedOut
from ragstone.models.http_errors import is_transient
from ragstone.models.refusals import Refusals
from ragstone.models.time_limits import TimeLimits
from ragstone.models.work import duration
from ragstone.types import Completion, Model, Request

T = TypeVar("T")


async def _no_op(*_: object) -> None:
    return


@dataclass(frozen=True)
class Patience:
    """The limits of retries. All times are in seconds; `clock`, `sleep` and `uniform` are for tests.

    deadline: for a call with all its attempts and pauses. first, longest: limits of the first pause and of every pause.
    refusals: of the endpoint; there is less patience until it has answered.
    """

    attempts: int = 6
    deadline: float = 120.0
    first: float = 0.5
    longest: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    uniform: Callable[[float, float], float] = field(default=random.uniform)
    limits: TimeLimits = field(default_factory=TimeLimits, repr=False, compare=False)
    refusals: Refusals | None = field(default=None, repr=False, compare=False)

    def pause(self, failed: int, error: ModelError) -> float:
        """Seconds to wait after the `failed`-th attempt (from 1) ended with `error`. Raises `EndpointRefused` where no
        further attempt makes sense at this endpoint."""
        longest = self.longest if self.refusals is None else min(self.longest, self.refusals.count_attempt(error))
        limit = min(longest, self.first * 2 ** min(failed - 1, 30))
        retry_after = error.retry_after if isinstance(error, RateLimited | ServerFault) else None
        if retry_after is None:
            return self.uniform(0.0, limit)
        return retry_after + self.uniform(0.0, min(limit, 1.0))


async def retrying(
    call: Callable[[], Awaitable[T]],
    patience: Patience,
    *,
    where: str,
    before_retry: Callable[[], Awaitable[None]] = _no_op,
) -> T:
    """The value of `call`, retried as `patience` allows. Raises the last `ModelError` if no attempts are left or the
    next pause would outlast the deadline; `TimedOut` if the deadline passes during an attempt.
    """
    ends = patience.clock() + patience.deadline
    failed = 0
    last: ModelError | None = None
    while True:
        left = ends - patience.clock()
        try:
            with patience.limits.within(max(left, 0.0)):
                if failed:
                    await before_retry()
                return await call()
        except TimeoutError:
            reason = f" (before that: {last})" if last else ""
            timed_out = TimedOut(f"{where}: no reply within {patience.deadline:g} s{reason}.")
            if patience.refusals is not None:
                patience.refusals.count_silence(timed_out)
            raise timed_out from None
        except ModelError as error:
            failed += 1
            last = error
            if not is_transient(error):
                raise
            if wait := _too_long(error, patience.deadline):
                raise wait from error
            pause = patience.pause(failed, error)
            if failed >= patience.attempts or patience.clock() + pause >= ends:
                raise
        await patience.sleep(pause)


def _too_long(error: ModelError, deadline: float) -> ModelError | None:
    """The error for an endpoint that asks for a longer wait than any call may take; the next call would be too early as
    well. None if it does not."""
    if not isinstance(error, RateLimited | ServerFault) or (error.retry_after or 0.0) <= deadline:
        return None
    early = type(error)(f"{error} It asks to be tried again in {duration(error.retry_after or 0.0)}.")
    early.retry_after, early.refuses_all = error.retry_after, True
    return early


class Retrying:
    """A chat model whose calls are retried. `before_retry` is awaited before every attempt but the first, because rate
    limits count attempts, not calls."""

    def __init__(
        self, model: Model, patience: Patience, *, before_retry: Callable[[Request], Awaitable[None]] = _no_op
    ) -> None:
        self._model, self._patience, self._before_retry = model, patience, before_retry

    @property
    def id(self) -> str:
        return self._model.id

    def generate(self, request: Request, /) -> Coroutine[Any, Any, Completion]:
        """The first successful reply. Raises as `retrying` does."""
        return retrying(
            functools.partial(self._model.generate, request),
            self._patience,
            where=self._model.id,
            before_retry=functools.partial(self._before_retry, request),
        )
