"""Trying again: what failed for a reason that may pass, after a pause, for as long as a call may take.

`retrying` is the policy, `Retrying` the wrapper of a chat model. A pause is drawn evenly between nothing and a limit
that doubles (full jitter, https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/), so that
callers who failed together do not come back together; where the endpoint says how long to wait, that is waited, and a
little more at random.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ragstone.errors import ModelError, RateLimited, ServerFault, TimedOut
from ragstone.models.http_errors import is_transient
from ragstone.types import Completion, Model, Request

__all__ = ["Patience", "Retrying", "retrying"]

T = TypeVar("T")


async def _nothing() -> None:
    return


@dataclass(frozen=True)
class Patience:
    """How often and how long. Seconds throughout; `clock`, `sleep` and `uniform` are there for tests.

    deadline: for a call with all its attempts and pauses. first, longest: limits of the first pause and of any.
    """

    attempts: int = 6
    deadline: float = 120.0
    first: float = 0.5
    longest: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    uniform: Callable[[float, float], float] = field(default=random.uniform)

    def pause(self, failed: int, error: ModelError) -> float:
        """Seconds to wait after the `failed`-th attempt (from 1) ended with `error`."""
        limit = min(self.longest, self.first * 2 ** min(failed - 1, 30))
        asked = error.retry_after if isinstance(error, RateLimited | ServerFault) else None
        if asked is None:
            return self.uniform(0.0, limit)
        return asked + self.uniform(0.0, min(limit, 1.0))


async def retrying(
    call: Callable[[], Awaitable[T]],
    patience: Patience,
    *,
    where: str,
    before_retry: Callable[[], Awaitable[None]] = _nothing,
) -> T:
    """The value of `call`, tried as often as `patience` allows. Ends in a value or a `ModelError`: the last one, where
    attempts run out or the next pause would outlast the deadline; `TimedOut` where the deadline passes in an attempt.
    """
    ends = patience.clock() + patience.deadline
    failed = 0
    last: ModelError | None = None
    while True:
        left = ends - patience.clock()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                if failed:
                    await before_retry()
                return await call()
        except TimeoutError:
            reason = f" (before that: {last})" if last else ""
            raise TimedOut(f"{where}: no reply within {patience.deadline:g} s{reason}.") from None
        except ModelError as error:
            failed += 1
            last = error
            if not is_transient(error) or failed >= patience.attempts:
                raise
            pause = patience.pause(failed, error)
            if patience.clock() + pause >= ends:
                raise
        await patience.sleep(pause)


class Retrying:
    """A chat model whose calls are tried again. `before_retry` is awaited before every attempt but the first: the
    limits of a minute hold for attempts, not for calls."""

    def __init__(
        self, model: Model, patience: Patience, *, before_retry: Callable[[Request], Awaitable[None]] | None = None
    ) -> None:
        self._model, self._patience, self._before_retry = model, patience, before_retry

    @property
    def id(self) -> str:
        return self._model.id

    async def generate(self, request: Request, /) -> Completion:
        """The first reply that is one. Raises as `retrying` does."""

        async def again() -> None:
            if self._before_retry is not None:
                await self._before_retry(request)

        return await retrying(
            lambda: self._model.generate(request), self._patience, where=self._model.id, before_retry=again
        )
