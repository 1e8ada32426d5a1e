"""What a piece of work costs in model requests, and how fast work that costs something goes.

A worker opens `track_work()`; models then count what was sent and what a cache had. A piece of work whose replies were
all cached costs nothing and takes no time, so `Pace` leaves it out of the rate.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from ragstone.types import Completion

# The rate is that of the last seconds, because later cases may be longer, or the endpoint slower.
WINDOW_SECONDS = 120.0
# An answer that took longer was computed, even if no model counted it.
_INSTANT_SECONDS = 0.05


class Replies(Protocol):
    """Replies to the requests of a piece of work, kept until it is done so that it can be interrupted. They count as
    sent, because they were paid for by this piece of work."""

    def get(self, key: bytes, /) -> Completion | None: ...

    def begin(self, key: bytes, /) -> int:
        """The request is being sent. Returns how often it was sent before without a reply, because of a kill."""

    def withdraw(self, key: bytes, /) -> None:
        """The request that began was stopped before it was sent."""

    def put(self, key: bytes, completion: Completion, /) -> None: ...


@dataclass
class Work:
    """`sent`: requests or texts sent to a model. `cached`: those answered by a cache."""

    sent: int = 0
    cached: int = 0
    replies: Replies | None = None

    @property
    def free(self) -> bool:
        """Whether caches answered all of it."""
        return self.cached > 0 and not self.sent

    def count_wait(self, since: float) -> None:
        """Counts work as sent that took time since then (monotonic seconds) although no model counted anything, as in a
        user's own system."""
        if not (self.sent or self.cached) and time.monotonic() - since > _INSTANT_SECONDS:
            self.sent += 1


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextlib.contextmanager
def track_work(replies: Replies | None = None) -> Iterator[Work]:
    """Tracks model requests from here on, in this task and those that it starts."""
    work = Work(replies=replies)
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)


def begin_work() -> Work:
    """Tracks model requests from here on in this task, until the next call."""
    work = Work()
    _WORK.set(work)
    return work


def count_work(*, sent: int = 0, cached: int = 0) -> None:
    """Counts requests of the current piece of work. Called by models."""
    if (work := _WORK.get()) is not None:
        work.sent += sent
        work.cached += cached


def replies() -> Replies | None:
    """The kept replies of the current piece of work."""
    work = _WORK.get()
    return None if work is None else work.replies


class Pace:
    """Pieces of work a second, and the time left. What is `free` (cached or done before) does not count, because the
    rest is expected to cost something. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque([(clock(), 0)])  # (time, pieces done)
        self._done = 0

    def add(self, count: int = 1, *, free: bool = False) -> None:
        """This many pieces are done now."""
        now = self._clock()
        if not count:
            return
        if free:
            if not self._done:  # the work that counts begins now
                self._marks[0] = (now, 0)
            return
        self._done += count
        self._marks.append((now, self._done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= WINDOW_SECONDS:
            self._marks.popleft()

    @property
    def rate(self) -> float | None:
        """Pieces a second that cost something; None if there were none yet."""
        if not self._done:
            return None
        began, done = self._marks[0]
        return (self._done - done) / max(self._clock() - began, 1e-9)

    def seconds_left(self, pieces: int) -> float | None:
        """The seconds that this many more pieces take; None if unknown."""
        rate = self.rate
        return pieces / rate if rate else None


def duration(seconds: float) -> str:
    """ "8 s", "3 min", "2 h 5 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
