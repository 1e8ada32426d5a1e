"""`/run`: a run, by the sections of the report; of a large one first what its index knows."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex, Facet
from ragstone.display import short_names
from ragstone.errors import UsageError
from ragstone.messages import messages
from ragstone.report.page import Part, title_of
from ragstone.report.section import Canvas
from ragstone.report.side_by_side import MOST
from ragstone.stats import Estimate
from ragstone.web.overview import RUN_NAME, percent
from ragstone.web.page import address, language_of, library_of, page, parameter
from ragstone.web.progress import ProgressWatch, progress_html
from ragstone.web.run_cache import is_large

_SYSTEMS, _CAUSES = 12, 3


def _run(request: Request) -> Response:
    name = parameter(request, "run")
    library = library_of(request)
    path = library.path(name)
    with library.opened(name) as run:
        language = language_of(request, run.language)
        canvas, w = Canvas(language), messages(__name__, language)
        progress: Markup | str = ""
        if not is_large(path):
            with library.index(name) as index:
                progress = progress_html(canvas, ProgressWatch(request.app.state.price).look(run, index))
        heading, count = title_of(run.benchmark.name, canvas.words), len(run.run.systems)
    known = request.app.state.cache.of("sections", path, language)
    top = canvas.html(
        "viewer/run_top.html", w=w, progress=progress, events=address(request, "/events", {"run": name}),
        note="" if known.fresh or known.value is None else w["older"],
        cases=address(request, "/cases", {"run": name}),
        wrong=address(request, "/cases", {"run": name, "status": "wrong"}),
        compare=address(request, "/compare", {"run": name}) if 2 <= count <= MOST else "",
    )  # fmt: skip
    if known.value is None:
        with library.index(name) as index:
            sections, systems = _quick(request, canvas, w, name, index)
        return page(request, canvas, [("opening", w["opening"], top + sections)], heading=heading, systems=systems,
                    run=name)  # fmt: skip
    return _sections(request, canvas, name, known.value, top)


def _sections(request: Request, canvas: Canvas, name: str, value: Mapping[str, Any], top: Markup) -> Response:
    """The page from what is kept."""
    if "problem" in value:
        raise UsageError(str(value["problem"]))
    here = urlencode([("", name), *([("lang", canvas.language)] if "lang" in request.query_params else [])])[1:]

    def parts(key: str) -> list[Part]:
        # The name is encoded for an address, which is harmless anywhere in the text.
        return [(at, title, Markup(body.replace(RUN_NAME, here))) for at, title, body in value[key]]

    sections = parts("sections")
    if sections:
        at, title, body = sections[0]
        sections[0] = (at, title, top + body)
    return page(request, canvas, sections, parts("folded"), heading=value["heading"], systems=value["systems"],
                run=name)  # fmt: skip


def _quick(
    request: Request, canvas: Canvas, w: Mapping[str, str], name: str, index: CaseIndex
) -> tuple[Markup, list[str]]:
    """What the index knows of a run: right answers by system and the most frequent causes of wrong ones; and the
    systems."""
    done = index.progress()
    notice = w["indexing"] if done.done < done.total else w["computing"]
    found = [facet.value for facet in index.facets(CaseFilter(), ("system",)).get("system", ())]
    labels, systems = short_names(found), found[:_SYSTEMS]
    lines, causes = [], []
    for system in systems:
        facets = index.facets(CaseFilter(systems=(system,)), ("status",))
        lines.append(_line(w, labels[system], facets.get("status", ())))
        wrong = index.facets(CaseFilter(systems=(system,), status=("wrong",)), ("cause",), language=canvas.language)
        causes += [(facet.count, system, facet) for facet in wrong.get("cause", ())]
    worst = sorted(causes, key=lambda item: -item[0])[:_CAUSES]
    linked = [
        (w["cause"].format(cause=facet.label, n=count, system=labels[system]),
         address(request, "/cases", {"run": name, "system": system, "cause": facet.value}))
        for count, system, facet in worst
    ]  # fmt: skip
    body = canvas.html(
        "viewer/run_waiting.html", w=w, here=address(request, "/run", {"run": name}), causes=linked,
        notice=notice.format(done=done.done, total=done.total), lines=[line for line in lines if line],
    )  # fmt: skip
    return body, [labels[system] for system in systems]


def _line(w: Mapping[str, str], system: str, statuses: tuple[Facet, ...]) -> str:
    counts = {facet.value: facet.count for facet in statuses}
    right, decided = counts.get("right", 0), counts.get("right", 0) + counts.get("wrong", 0)
    known = Estimate.of_count(right, decided).known if decided else None
    n = sum(counts.values())
    if known is None:
        return w["undecided"].format(system=system, n=n)
    failed = counts.get("failed", 0)
    more = w["more_failed"].format(n=failed) if failed else ""
    return w["right"].format(system=system, share=percent(*known), n=decided, failed=more)


ROUTES = (Route("/run", _run),)
