"""Limits: requests a minute, tokens a minute, calls in flight.

A limit of N a minute means at most N in any 60 seconds. Every attempt counts, even if it fails, because endpoints count
that way: `Limited` asks the `Limiter` for the first attempt of a call, and `Retrying`, inside it, for each further one.
A call keeps its place among those in flight while it waits to retry, so that a failing endpoint gets fewer requests.
Waiting here does not count against a call's deadline.
"""

import asyncio
import functools
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from ragstone.types import Completion, Model, Request

MINUTE: Final = 60.0
# The assumed length of an answer if the request does not limit it.
_ANSWER_TOKENS = 256
# Seconds between checks of a wait: an answer shorter than assumed frees room early.
_CHECK_SECONDS = 1.0


def estimated_tokens(request: Request) -> int:
    """A rough estimate of prompt and answer in tokens: four bytes a token in English, three (a character) in
    Chinese."""
    prompt = sum(len(turn.content.encode("utf-8", "replace")) for turn in request.messages) / 3.5
    return int(prompt) + (request.sampling.max_tokens or _ANSWER_TOKENS)


@dataclass(slots=True)
class Spent:
    """An amount taken from a window, corrected when the true amount is known."""

    at: float
    amount: float
    counted: bool = True


class _Window:
    """At most `limit` in any minute; an amount above the limit passes if the window is empty."""

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
                await self._sleep(min(wait, _CHECK_SECONDS))
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
            expired = self._spent.popleft()
            expired.counted = False
            self._total -= expired.amount
        if not self._spent or amount <= self._limit - self._total:
            return 0.0
        room = self._limit - self._total
        for spent in self._spent:
            room += spent.amount
            if amount <= room:
                return spent.at + MINUTE - now
        return self._spent[-1].at + MINUTE - now


class Limiter:
    """The limits of one account at one endpoint, for use in one event loop. None: no limit. `check` is called during
    waits, and raises if waiting makes no sense any more."""

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
        """Waits until one more attempt, of about `tokens()`, is within the limits. The result is for `correct`."""
        self._check()
        spent = await self._tokens.take(tokens()) if self._tokens else None
        if self._requests:
            await self._requests.take(1.0)
        return spent

    def correct(self, spent: Spent | None, tokens: float) -> None:
        """An admitted attempt really took `tokens`."""
        if self._tokens and spent:
            self._tokens.correct(spent, tokens)

    async def admit_again(self, request: Request) -> None:
        """Waits like `admit`, for a further attempt of a call."""
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
            spent = await self._limiter.admit(functools.partial(estimated_tokens, request))
            completion = await self._model.generate(request)
            if used := completion.usage.prompt_tokens + completion.usage.completion_tokens:
                self._limiter.correct(spent, used)
            return completion
