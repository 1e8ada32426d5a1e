"""What takes longer than a page may: it is computed by a thread and kept; until it is there, pages ask again."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any, TypeVar, cast

from markupsafe import Markup
from starlette.requests import Request

from ragstone.errors import RagstoneError, UsageError
from ragstone.messages import messages
from ragstone.report.section import Canvas

T = TypeVar("T")

_KEPT = 24
_AT_ONCE = 2  # so that a comparison need not wait for a trend of large runs

_ENDED = "The process that computes this page was ended: load the page again."


class Pending:
    """Values by key, each computed once. The last ones asked for are kept."""

    def __init__(self) -> None:
        self._lock, self._made = Lock(), OrderedDict[Hashable, "Future[Any]"]()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="compare")
        self._processes, self._closed = set[Any](), False

    def of(self, key: Hashable, make: Callable[[], T], *, wait: float) -> T | None:
        """The value of a key, made by `make`; None if it takes longer than so many seconds. Raises what `make` raises,
        once: the next call tries again."""
        with self._lock:
            future = self._made.pop(key, None) or self._threads.submit(make)
            self._made[key] = future
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        try:
            return cast("T", future.result(wait))
        except TimeoutError:
            if future.done():  # raised by `make` itself
                raise
            return None
        except BaseException:
            with self._lock:
                self._made.pop(key, None)
            raise

    def apart(self, make: Callable[[], T]) -> T:
        """What `make` returns in a process of its own: meanwhile pages are fast, then its memory is free, and `close`
        need not wait for it. `make` and its value have to be picklable. Raises its errors as UsageError."""
        context = multiprocessing.get_context("spawn")
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(target=_make, args=(make, writer), daemon=True)
        with self._lock:
            if self._closed:
                raise UsageError(_ENDED)
            process.start()
            self._processes.add(process)
        writer.close()
        try:
            value, problem = reader.recv()
        except EOFError:
            raise UsageError(_ENDED) from None
        finally:
            reader.close()
            process.join()
            with self._lock:
                self._processes.discard(process)
        if problem:
            raise UsageError(problem)
        return cast("T", value)

    def close(self) -> None:
        """Ends the processes, and starts nothing more."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.terminate()
        self._threads.shutdown(wait=False, cancel_futures=True)


def end_with_parent() -> None:
    """From here on this process ends when the one that has spawned it does, even by SIGKILL."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _make(make: Callable[[], Any], writer: Connection) -> None:
    """What the process does."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    try:
        writer.send((make(), ""))
    except RagstoneError as error:
        writer.send((None, " ".join(error.lines)))


def pending_of(request: Request) -> Pending:
    """What this application computes."""
    return cast("Pending", request.app.state.pending)


def waiting_html(canvas: Canvas, href: str) -> Markup:
    """Says that a page is being computed, and fetches it when it is there."""
    return canvas.html("web/waiting.html", w=messages(__name__, canvas.language), href=href)
