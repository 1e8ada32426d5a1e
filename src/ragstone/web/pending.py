"""What takes longer than a page may: it is computed by a thread and kept; until it is there, pages ask again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar, cast

from markupsafe import Markup
from starlette.requests import Request

from ragstone.messages import messages
from ragstone.report.section import Canvas

T = TypeVar("T")

_KEPT = 24

_WAITING = """<div hx-get="{{ href }}" hx-trigger="every 1s" hx-select="main" hx-target="main" hx-swap="outerHTML"></div>
<p class="notice" role="status">{{ w.computing }} <a href="{{ href }}">{{ w.reload }}</a></p>"""  # noqa: E501


class Pending:
    """Values by key, each computed once. The last ones asked for are kept."""

    def __init__(self) -> None:
        self._lock, self._made = Lock(), OrderedDict[Hashable, "Future[Any]"]()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="compare")

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


def pending_of(request: Request) -> Pending:
    """What this application computes."""
    return cast("Pending", request.app.state.pending)


def waiting_html(canvas: Canvas, href: str) -> Markup:
    """Says that a page is being computed, and fetches it when it is there."""
    return canvas.html(_WAITING, w=messages(__name__, canvas.language), href=href)
