"""Limits: requests a minute, tokens a minute, calls in flight.

A limit of N a minute means: in no stretch of 60 seconds more than N. Every attempt counts, also one that failed,
because endpoints count so: `Limited` asks the `Limiter` for the first attempt of a call, and `Retrying`, which lies
inside it, for each further one. A call keeps its place among those in flight while it waits to try again, so that an
endpoint that refuses is asked less. Waiting here is not counted against a call's deadline.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from ragstone.types import Completion, Model, Request

__all__ = ["Limited", "Limiter", "estimated_tokens"]

MINUTE: Final = 60.0
# A guess at the length of an answer where the request does not bound it.
_ANSWER_TOKENS = 256
# Seconds after which a wait is looked at again: an answer shorter than guessed makes room early.
_LOOK_AGAIN = 1.0


def estimated_tokens(request: Request) -> int:
    """Prompt and answer in tokens, roughly: four bytes a token in English, and three (one character) in Chinese."""
    prompt = sum(len(turn.content.encode("utf-8", "replace")) for turn in request.messages) / 3.5
    return int(prompt) + (request.sampling.max_tokens or _ANSWER_TOKENS)


@dataclass(slots=True)
class Spent:
    """What was taken from a window, corrected when the true amount is known."""

    at: float
    amount: float
    counted: bool = True


class _Window:
    """At most `limit` in any stretch of a minute; an amount above the limit is let through when the window is empty."""

    def __init__(
        self,
        limit: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        check: Callable[[], None],
    ) -> None:
        self._limit, self._clock, self._sleep, self._check = limit, clock, sleep, check
        self._spent: deque[Spent] = deque()
        self._total = 0.0
        self._turn = asyncio.Lock()  # first come, first served

    async def take(self, amount: float) -> Spent:
        async with self._turn:
            while (wait := self._wait(amount)) > 0:
                self._check()
                await self._sleep(min(wait, _LOOK_AGAIN))
            spent = Spent(self._clock(), amount)
            self._spent.append(spent)
            self._total += amount
            return spent

    def correct(self, spent: Spent, amount: float) -> None:
        """`spent` turned out to be `amount`."""
        if spent.counted:
            self._total += amount - spent.amount
            spent.amount = amount

    def _wait(self, amount: float) -> float:
        """Seconds until `amount` fits, if nothing changes."""
        now = self._clock()
        while self._spent and self._spent[0].at + MINUTE <= now:
            gone = self._spent.popleft()
            gone.counted = False
            self._total -= gone.amount
        if not self._spent or amount <= self._limit - self._total:
            return 0.0
        room = self._limit - self._total
        for spent in self._spent:
            room += spent.amount
            if amount <= room:
                return spent.at + MINUTE - now
        return self._spent[-1].at + MINUTE - now


class Limiter:
    """The limits of one account at one endpoint. None: no limit. To be used in one event loop. `check` is called while
    somebody waits for a turn, and raises where waiting makes no sense any more."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        in_flight: int = 64,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self._requests = _Window(requests_per_minute, clock, sleep, check) if requests_per_minute else None
        self._tokens = _Window(tokens_per_minute, clock, sleep, check) if tokens_per_minute else None
        self.places = asyncio.Semaphore(in_flight)

    async def admit(self, tokens: Callable[[], float]) -> Spent | None:
        """Waits until one more attempt, of about `tokens()`, keeps within the limits. The result is for `correct`."""
        self._check()
        spent = await self._tokens.take(tokens()) if self._tokens else None
        if self._requests:
            await self._requests.take(1.0)
        return spent

    def correct(self, spent: Spent | None, tokens: float) -> None:
        """An admitted attempt took `tokens` in truth."""
        if self._tokens and spent:
            self._tokens.correct(spent, tokens)

    async def admit_again(self, request: Request) -> None:
        """For a further attempt of a call."""
        await self.admit(lambda: estimated_tokens(request))


class Limited:
    """A chat model that is asked no faster than the limits allow."""

    def __init__(self, model: Model, limiter: Limiter) -> None:
        self._model, self._limiter = model, limiter

    @property
    def id(self) -> str:
        return self._model.id

    async def generate(self, request: Request, /) -> Completion:
        async with self._limiter.places:
            spent = await self._limiter.admit(lambda: estimated_tokens(request))
            completion = await self._model.generate(request)
            if used := completion.usage.prompt_tokens + completion.usage.completion_tokens:
                self._limiter.correct(spent, used)
            return completion
