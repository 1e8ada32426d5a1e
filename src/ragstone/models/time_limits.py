"""Time limits of many calls with one timer.

`asyncio.timeout` makes a timer for each call and cancels it again, which costs as much as the rest of a retry's work.
"""

import asyncio
import math
from types import TracebackType


class TimeLimits:
    """The time limits of calls that run side by side, for use in one event loop at a time."""

    def __init__(self) -> None:
        self._calls: set[_Call] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wakes = math.inf  # when the timer rings, in the loop's time: no call may end before

    def within(self, seconds: float) -> "_Call":
        """A context that raises `TimeoutError` if its block takes longer, as `asyncio.timeout` does."""
        return _Call(self, seconds)

    def add(self, call: "_Call", seconds: float) -> float:
        """Watches this call from now on; returns when it must end, in the loop's time."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._timer, self._wakes = loop, None, math.inf
            self._calls.clear()
        self._calls.add(call)
        ends = loop.time() + seconds
        if ends < self._wakes:
            self._set_timer(loop, ends)
        return ends

    def remove(self, call: "_Call") -> None:
        """The call has ended. The timer stays: it rings for one of the calls that come meanwhile, or for none."""
        self._calls.discard(call)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, ends: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes, self._timer = ends, loop.call_at(ends, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, self._wakes = None, math.inf
        now = loop.time()
        for call in [call for call in self._calls if call.ends <= now]:
            self._calls.discard(call)
            call.expire()
        if self._calls:
            self._set_timer(loop, min(call.ends for call in self._calls))


class _Call:
    """One call and its limit."""

    __slots__ = ("_cancelling", "_expired", "_limits", "_seconds", "_task", "ends")

    def __init__(self, limits: TimeLimits, seconds: float) -> None:
        self._limits, self._seconds, self._expired = limits, seconds, False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A time limit is for the code of a task.")
        self._task, self._cancelling = task, task.cancelling()
        self.ends = self._limits.add(self, self._seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.remove(self)
        # Somebody else may have cancelled the task, too; then it stays cancelled.
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """The time is over."""
        self._expired = True
        self._task.cancel()
