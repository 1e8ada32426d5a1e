"""`/`: the runs of the folder, the newest first, with their key figures; `/row`: one of them, for the list."""

import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ragstone.error_text import told
from ragstone.errors import RagstoneError
from ragstone.messages import messages
from ragstone.report.page import title_of
from ragstone.report.section import Canvas
from ragstone.web.library import FoundRun
from ragstone.web.page import address, canvas_of, language_of, library_of, number_in, page, parameter
from ragstone.web.progress import ProgressWatch, progress_html
from ragstone.web.run_cache import is_large

_SIZE = 40  # runs on a page
_BUDGET_SECONDS = 0.4  # for the figures of the first rows; the others follow by themselves
_CURVE = 30  # runs of a sparkline
_WIDTH, _HEIGHT = 96, 22


def _runs(request: Request) -> Response:
    canvas, w = canvas_of(request, __name__)
    q = request.query_params.get("q", "")[:200].strip()
    found = [run for run in library_of(request).runs().values() if _matches(request, run, canvas.language, q)]
    number = max(1, min(number_in(request, "page") or 1, -(-len(found) // _SIZE)))
    shown = found[(number - 1) * _SIZE : number * _SIZE]
    ready = _read_some(request, shown, canvas.language)
    rows = [_row(request, canvas, run, full=run.name in ready) for run in shown]

    def turned(to: int) -> str:
        inside = 1 <= to <= -(-len(found) // _SIZE)
        return address(request, "/", {"q": q, "page": str(to)}) if inside else ""

    body = canvas.html(
        "viewer/runs.html", w=w, q=q, rows=rows, total=len(found), lang=request.query_params.get("lang", ""),
        pages=w["pages"].format(page=number, pages=-(-len(found) // _SIZE)) if len(found) > _SIZE else "",
        previous=turned(number - 1), next=turned(number + 1), events=address(request, "/events"),
    )  # fmt: skip
    return page(request, canvas, [("runs", w["heading"], body)], heading=w["heading"])


def _read_some(request: Request, runs: Sequence[FoundRun], language: str) -> Collection[str]:
    """The names of the runs whose figures are known within the budget, so that curves are whole from the first row."""
    until = time.monotonic() + _BUDGET_SECONDS
    ready = set()
    for run in runs:
        if time.monotonic() >= until:
            break
        with contextlib.suppress(RagstoneError):  # said in its row
            request.app.state.cache.of("figures", run.path, language)
        ready.add(run.name)
    return ready


def _matches(request: Request, run: FoundRun, language: str, q: str) -> bool:
    """Whether each word is in the name, the benchmark or a system of a run, as far as these are known."""
    if not q:
        return True
    known = request.app.state.cache.known("figures", run.path, language) or {}
    systems = " ".join(system["name"] for system in known.get("systems", ()))
    text = f"{run.name} {known.get('benchmark', '')} {systems}".casefold()
    return all(word in text for word in q.casefold().split())


def _one_row(request: Request) -> Response:
    language = language_of(request)
    run = library_of(request).found(parameter(request, "run"))
    return HTMLResponse(_row(request, Canvas(language), run, full=True), headers={"Cache-Control": "no-store"})


def _row(request: Request, canvas: Canvas, run: FoundRun, *, full: bool) -> Markup:
    """A row of the list; without its figures unless `full`."""
    when = datetime.fromtimestamp(run.modified, UTC)
    values: dict[str, Any] = {
        "benchmark": "", "systems": [], "more": 0, "progress": "", "problem": "", "spark": "", "waiting": "",
    }  # fmt: skip
    if full:
        try:
            values |= _facts(request, canvas, run)
        except RagstoneError as error:
            values["problem"] = " ".join(told(line, canvas.language) for line in error.lines)
    w = messages(__name__, canvas.language)
    return canvas.html(
        "viewer/run_row.html", w=w, run=run, full=full, href=address(request, "/run", {"run": run.name}),
        row=address(request, "/row", {"run": run.name}), when=when.isoformat(timespec="seconds"),
        day=when.strftime("%Y-%m-%d %H:%M UTC"), **values,
    )  # fmt: skip


def _facts(request: Request, canvas: Canvas, run: FoundRun) -> dict[str, Any]:
    w = messages(__name__, canvas.language)
    value = request.app.state.cache.of("figures", run.path, canvas.language).value
    if value is None:
        return {"waiting": w["computing"]}
    if "problem" in value:
        return {"problem": told(value["problem"], canvas.language)}
    progress: Markup | str = ""
    if not is_large(run.path):
        with library_of(request).opened(run.name) as opened, library_of(request).index(run.name) as index:
            progress = progress_html(canvas, ProgressWatch(request.app.state.price).look(opened, index))
    curve = [_key_figure(known) for known in _earlier(request, canvas.language, run, value)]
    return {
        "benchmark": title_of(value["benchmark"], canvas.words), "systems": value["systems"], "more": value["more"],
        "progress": progress,
        "spark": spark_html(canvas, [number for number in curve if number is not None], w["curve"]),
    }  # fmt: skip


def _earlier(request: Request, language: str, run: FoundRun, value: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What is known of the runs that show the same figure of the same system, the oldest first, up to this one."""
    same = list[Mapping[str, Any]]()
    for other in library_of(request).runs().values():
        if other.modified <= run.modified and other.name != run.name and len(same) < _CURVE - 1:
            known = request.app.state.cache.known("figures", other.path, language)
            if known is not None and _series(known) == _series(value) != ():
                same.append(known)
    return [*reversed(same), value]


def _series(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Benchmark, system and label of the first figure; () where there is none."""
    for system in value.get("systems", ()):
        for figure in system["figures"]:
            return (value["benchmark"], system["name"], figure["label"])
    return ()


def _key_figure(value: Mapping[str, Any]) -> float | None:
    return next((figure["value"] for system in value["systems"] for figure in system["figures"]), None)


ROUTES = (Route("/", _runs), Route("/row", _one_row))


def spark_html(canvas: Canvas, values: Sequence[float], label: str) -> Markup:
    """A line through these values from 0 to 1, the last marked; "" for fewer than two. `label` has places for {first},
    {last} and {n}."""
    if len(values) < 2:
        return Markup()
    step = (_WIDTH - 8) / (len(values) - 1)
    places = [
        (4 + step * at, _HEIGHT - 3 - (_HEIGHT - 6) * min(1.0, max(0.0, value))) for at, value in enumerate(values)
    ]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    text = label.format(first=f"{values[0]:.2f}", last=f"{values[-1]:.2f}", n=len(values))
    x, y = (f"{place:.1f}" for place in places[-1])
    return canvas.html("web/spark.html", width=_WIDTH, height=_HEIGHT, path=path, x=x, y=y, label=text)
