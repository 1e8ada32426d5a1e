"""Ctrl-C, SIGTERM and SIGHUP: the first finishes what is in flight, the second exits at once."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from ragstone.errors import Terminated
from ragstone.messages import messages

# Containers, CI and service managers send SIGTERM, a closing terminal sends SIGHUP. Windows has no SIGHUP.
_SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__)


@contextlib.asynccontextmanager
async def finish_on_interrupt(
    announce: Callable[[str], None] | None = None, *, language: str = "en"
) -> AsyncIterator[asyncio.Event]:
    """Yields the event that the first signal sets, for `run_cases(stop=…)`; `announce` gets a line for the user in
    this language.

    A second signal cancels what runs inside and becomes its usual exception: KeyboardInterrupt, or `Terminated` with
    the signal's number. A third waits for nothing. SIGHUP never counts as a second signal: kernel and shell both send
    it when a terminal closes. SIGTERM and SIGHUP stay ignored if the parent ignores them (`nohup`). Off the main
    thread, where signals do not arrive, the event is never set.
    """
    stop = asyncio.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before: dict[signal.Signals, Any] = {}
    leaving = 0

    def interrupted(number: int) -> None:
        nonlocal leaving
        if not stop.is_set():
            stop.set()
            if announce is not None:
                with contextlib.suppress(OSError):  # the terminal is gone
                    announce(_stopping(number, language))
            return
        if signal.Signals(number).name == "SIGHUP":
            return
        leaving = number
        for name in before:
            signal.signal(name, signal.default_int_handler if name == signal.SIGINT else signal.SIG_DFL)
        if task is not None:
            task.cancel()

    def handler(number: int, _: object) -> None:
        loop.call_soon_threadsafe(interrupted, number)

    # Not `loop.add_signal_handler`: Windows has none. `call_soon_threadsafe` wakes a sleeping loop.
    for name in _SIGNALS:
        if name == signal.SIGINT or signal.getsignal(name) != signal.SIG_IGN:
            before[name] = signal.signal(name, handler)
    try:
        yield stop
    except asyncio.CancelledError:
        if leaving == signal.SIGINT:
            raise KeyboardInterrupt from None
        if leaving:
            raise Terminated(leaving) from None
        raise
    finally:
        for name, old in before.items():
            default = signal.default_int_handler if name == signal.SIGINT else signal.SIG_DFL
            signal.signal(name, old if old is not None else default)


def _stopping(number: int, language: str) -> str:
    texts = messages(__name__, language)
    if number == signal.SIGINT:
        return texts["stopping"]
    return texts["stopping_by"].format(name=signal.Signals(number).name)
