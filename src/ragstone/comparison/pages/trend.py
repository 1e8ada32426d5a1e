"""`/trend`: runs over time, those of the address or all of the folder that are of one benchmark and system."""

from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.comparison.comparable import same_benchmark
from ragstone.comparison.trend import trend
from ragstone.errors import RagstoneError, UsageError
from ragstone.messages import messages
from ragstone.report.section import Canvas
from ragstone.web.page import address, language_of, library_of, page
from ragstone.web.pending import pending_of, waiting_html

if TYPE_CHECKING:
    from ragstone.report.page import Part

_MOST = 100  # runs of a trend
_AT_ONCE_BYTES, _WAIT, _WAIT_LARGE = 20_000_000, 60.0, 0.1


def _trend(request: Request) -> Response:
    library = library_of(request)
    chosen = list(dict.fromkeys(request.query_params.getlist("run")))
    with library.opened(chosen[-1] if chosen else _newest(request)) as run:
        language, systems, name = language_of(request, run.language), list(run.run.systems), run.benchmark.name
    canvas, w = Canvas(language), messages(__name__, language)
    # Chosen runs of one system each are followed whatever it is called, as on the command line.
    named = request.query_params.get("system") or ("" if chosen and len(systems) == 1 else systems[0])
    system = named or systems[0]
    wanted = chosen or list(library.runs())[:_MOST]
    names = [run for run in wanted if _is_of(request, run, name, named)]
    if len(names) < 2:
        raise UsageError(
            f"A trend needs at least two runs of one benchmark that have the system {system}: choose them in the list."
        )
    paths = [library.path(run) for run in names]
    key = ("trend", named, *((run, library.found(run).size, library.found(run).modified) for run in names))
    large = sum(library.found(run).size for run in names) > _AT_ONCE_BYTES
    pending, make = pending_of(request), partial(trend, paths, system=named or None)
    made = pending.of(key, partial(pending.apart, make) if large else make, wait=_WAIT_LARGE if large else _WAIT)
    others = [
        (other, address(request, "/trend", [*(("run", run) for run in chosen), ("system", other)]))
        for other in systems if other != system
    ]  # fmt: skip
    head = canvas.html(
        "comparison/trend_systems.html", w=w, system=system, others=others, left_out=len(wanted) - len(names)
    )
    if made is None:
        parts: list[Part] = [
            ("trend", w["heading"], head + waiting_html(canvas, f"{request.url.path}?{request.url.query}"))
        ]
    else:
        parts = made.parts(canvas)
        parts[0] = (parts[0][0], parts[0][1], head + parts[0][2])
    return page(request, canvas, parts, heading=w["heading"], systems=[system])


def _newest(request: Request) -> str:
    names = list(library_of(request).runs())
    if not names:
        raise UsageError("A trend needs at least two runs: the folder has none.")
    return names[0]


def _is_of(request: Request, name: str, benchmark: str, system: str) -> bool:
    """Whether a run is comparable with this benchmark's and has answers of this system, or of one alone where none is
    named; a run that cannot be read is not."""
    try:
        with library_of(request).opened(name) as run:
            has = system in run.run.systems if system else len(run.run.systems) == 1
            return has and same_benchmark(run.benchmark.name, benchmark)
    except RagstoneError:
        return False


ROUTES = (Route("/trend", _trend),)
