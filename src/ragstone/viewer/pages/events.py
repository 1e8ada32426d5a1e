"""`/events`: the progress of runs as server-sent events, until they are finished.

Each event `progress` has {"run", "html", and the fields of `RunProgress`}; `change` says that a page of the run is out
of date, `finished` is the last one of a run.
"""

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from ragstone.errors import RagstoneError, UsageError
from ragstone.report.section import Canvas
from ragstone.web.library import Library
from ragstone.web.page import language_of, library_of
from ragstone.web.progress import ProgressWatch, progress_html

_MOST_RUNS = 20
_EVERY_SECONDS = 1.0
_IDLE_SECONDS = 5.0  # where no process works on any of the runs
_CHANGE_SECONDS = 10.0  # between two notices that a page is out of date
_BUSY = 10  # the part of the time that looking may take is one in so many


async def _events(request: Request) -> StreamingResponse:
    names = list(dict.fromkeys(request.query_params.getlist("run")))
    if not names or len(names) > _MOST_RUNS:
        raise UsageError(f"The address must name 1 to {_MOST_RUNS} runs: run=….")
    for name in names:
        library_of(request).found(name)
    stopping = request.app.state.stopping or asyncio.Event()
    canvas = Canvas(language_of(request))
    stream = _stream(library_of(request), names, canvas, request.app.state.price, stopping)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _stream(
    library: Library, names: Sequence[str], canvas: Canvas, price: Any, stopping: asyncio.Event
) -> AsyncIterator[str]:
    watches = {name: ProgressWatch(price) for name in names}
    before: dict[str, str] = {}
    changed = time.monotonic()
    while watches and not stopping.is_set():
        began, idle = time.monotonic(), True
        for name, watch in list(watches.items()):
            event, working, finished = await run_in_threadpool(_look, library, name, watch, canvas)
            idle &= not working
            if event != before.get(name):
                yield _message("progress", event)
                if before.get(name) and (finished or began - changed >= _CHANGE_SECONDS):
                    changed = began
                    yield _message("change", json.dumps({"run": name}))
            before[name] = event
            if finished:
                del watches[name]
                yield _message("finished", json.dumps({"run": name}))
        yield ": still here\n\n"
        pause = max(_IDLE_SECONDS if idle else _EVERY_SECONDS, _BUSY * (time.monotonic() - began))
        try:
            await asyncio.wait_for(stopping.wait(), pause if watches else 0)
        except TimeoutError:
            continue


def _look(library: Library, name: str, watch: ProgressWatch, canvas: Canvas) -> tuple[str, bool, bool]:
    """The event of a run as JSON, whether somebody works on it, and whether it is finished. A run that cannot be read
    any more is finished."""
    try:
        with library.opened(name) as run, library.index(name) as index:
            progress = watch.look(run, index)
    except RagstoneError:
        return json.dumps({"run": name, "html": ""}), False, True
    fields: Mapping[str, Any] = {"run": name, "html": progress_html(canvas, progress), **dataclasses.asdict(progress)}
    return json.dumps(fields), progress.working, progress.finished


def _message(kind: str, data: str) -> str:
    return f"event: {kind}\ndata: {data}\n\n"


ROUTES = (Route("/events", _events),)
