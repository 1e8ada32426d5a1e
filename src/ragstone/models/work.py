"""What a piece of work takes of models, and how fast work goes that takes something.

Whoever does a piece of work opens `track_work()`; models note there what was sent and what a cache had. A piece whose
replies were all kept costs nothing and takes no time, so `Pace` leaves it out of the rate.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from ragstone.types import Completion

__all__ = ["Pace", "Replies", "Work", "duration", "note", "replies", "track_work"]

# The rate is that of the last seconds, because what comes later may be longer, or the endpoint slower.
WINDOW_SECONDS = 120.0
# An answer that took longer than this was computed, whatever the models say.
_INSTANT = 0.05


class Replies(Protocol):
    """Replies to the requests of a piece of work, kept until it is done, so that it can be interrupted. What it got
    before then counts as sent, because it was."""

    def get(self, key: bytes, /) -> Completion | None: ...

    def begin(self, key: bytes, /) -> int:
        """The request goes out now. Returns how often it went out before without a reply: the process was killed."""

    def put(self, key: bytes, completion: Completion, /) -> None: ...


@dataclass
class Work:
    """`sent`: requests or texts that went to a model. `cached`: those that a cache answered."""

    sent: int = 0
    cached: int = 0
    replies: Replies | None = None

    @property
    def free(self) -> bool:
        """Whether caches did all of it."""
        return self.cached > 0 and not self.sent

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Counts what runs inside as sent where it takes time and no model says why: somebody's own system."""
        before, started = (self.sent, self.cached), time.monotonic()
        yield
        if before == (self.sent, self.cached) and time.monotonic() - started > _INSTANT:
            self.sent += 1


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextlib.contextmanager
def track_work(replies: Replies | None = None) -> Iterator[Work]:
    """What models take from here on, in this task and those that it starts."""
    work = Work(replies=replies)
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)


def note(*, sent: int = 0, cached: int = 0) -> None:
    """Called by models, for the piece of work that asks them."""
    if (work := _WORK.get()) is not None:
        work.sent += sent
        work.cached += cached


def replies() -> Replies | None:
    """The replies that the piece of work had before."""
    work = _WORK.get()
    return None if work is None else work.replies


class Pace:
    """How many pieces a second, and how long the rest takes. What is `free` (kept by a cache, done before) does not
    count: the rest is expected to cost something. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque([(clock(), 0)])  # when so many pieces were done
        self._done = 0

    def add(self, count: int = 1, *, free: bool = False) -> None:
        """So many pieces are done now."""
        now = self._clock()
        if not count:
            return
        if free:
            if not self._done:  # the work that counts has only begun
                self._marks[0] = (now, 0)
            return
        self._done += count
        self._marks.append((now, self._done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= WINDOW_SECONDS:
            self._marks.popleft()

    @property
    def rate(self) -> float | None:
        """Pieces a second that cost something; None as long as there was none."""
        if not self._done:
            return None
        began, done = self._marks[0]
        return (self._done - done) / max(self._clock() - began, 1e-9)

    def seconds_left(self, pieces: int) -> float | None:
        """How long so many more pieces take; None where nothing is known."""
        rate = self.rate
        return pieces / rate if rate else None


def duration(seconds: float) -> str:
    """ "8 s", "3 min", "2 h 5 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
