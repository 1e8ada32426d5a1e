"""Ctrl-C: the first finishes what is in flight, the second leaves at once."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable

__all__ = ["finish_on_interrupt"]

STOPPING = "Stopping: finishing what is in flight. Ctrl-C again leaves at once; what is done is kept either way."


@contextlib.asynccontextmanager
async def finish_on_interrupt(announce: Callable[[str], None] | None = None) -> AsyncIterator[asyncio.Event]:
    """Gives the event that a first Ctrl-C sets, for `run_cases(stop=…)`; `announce` gets the line that tells so.

    A second Ctrl-C cancels what runs inside and becomes the KeyboardInterrupt it would have been; a third does not
    wait for anything. Off the main thread, where signals do not arrive, the event is simply never set.
    """
    stop = asyncio.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = signal.getsignal(signal.SIGINT)
    leaving = False

    def interrupted() -> None:
        nonlocal leaving
        if not stop.is_set():
            stop.set()
            if announce is not None:
                announce(STOPPING)
            return
        leaving = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if task is not None:
            task.cancel()

    def handler(*_: object) -> None:
        loop.call_soon_threadsafe(interrupted)

    # Not `loop.add_signal_handler`: Windows has none. A signal that finds the loop asleep wakes it by the call.
    signal.signal(signal.SIGINT, handler)
    try:
        yield stop
    except asyncio.CancelledError:
        if leaving:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
