"""`/case`: a case with all that its run has of it; `/case/elsewhere`: the same question in other runs."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex, CaseRow
from ragstone.display import shown_id
from ragstone.engine.open_run import OpenRun
from ragstone.errors import RagstoneError
from ragstone.messages import messages
from ragstone.report.case_page import LinkedRecord, ShownCase, case_parts, related_html
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas, question_html
from ragstone.types import Record
from ragstone.web.page import address, language_of, library_of, offered_for_case, page, parameter
from ragstone.web.sides import Side, beside_address, case_address, current, varying

_CONDITIONS, _SYSTEMS, _RUNS = 40, 20, 12


def _case(request: Request) -> Response:
    run_name, shown_as = parameter(request, "run"), parameter(request, "id")
    pairs = request.query_params.multi_items()
    systems = request.query_params.getlist("system")
    if not systems:
        parameter(request, "system")
    side, library = Side(run_name, systems[-1]), library_of(request)
    # The last system is the case's; the others belong to the filter of the list that led here.
    chosen = CaseFilter.from_query(
        [*(pair for pair in pairs if pair[0] not in ("run", "id", "lang", "system")),
         *(("system", system) for system in systems[:-1])]
    )  # fmt: skip
    with library.opened(run_name) as run, library.index(run_name) as index:
        language = language_of(request, run.language)
        canvas, w = Canvas(language), messages(__name__, language)
        current(request, run_name, index)
        record = index.record(side.system, index.case_named(side.system, shown_as))
        links = _links(request, index, chosen, side, record.case.id)
        rows = index.same_sample(record.case.sample.id, language=language)
        conditions, cause = _conditions(request, canvas, run, side, record, rows)
        shown = ShownCase(
            record, run.benchmark.explain(record, language=language), run.run.meta,
            run.run.systems.get(side.system, {}), run.benchmark.template, run.benchmark.expand is not None,
            benchmark=run.benchmark, conditions=conditions, cause=cause,
            elsewhere=_systems(request, side, record, rows),
        )  # fmt: skip
        parts = case_parts(canvas, shown)
    head = canvas.html("viewer/case_links.html", w=w, **links) + offered_for_case(request, canvas, run_name, record)
    parts[0] = (parts[0][0], parts[0][1], head + parts[0][2])
    if len(library.runs()) > 1:
        _add_later(request, canvas, w, parts, side, _shown(record))
    heading = one_line(record.case.sample.id, 120) or w["case"]
    return page(request, canvas, parts, heading=heading, systems=[side.system], run=run_name)


def _shown(record: Record) -> str:
    return shown_id(record.case.id, record.case.sample.id)


def _links(
    request: Request, index: CaseIndex, chosen: CaseFilter, side: Side, case_id: str
) -> dict[str, str]:  # fmt: skip
    """The cases before and after this one in the list, and the list."""
    filtered = parse_qsl(chosen.query())
    previous, following = index.neighbours(chosen, (side.system, case_id))

    def at(key: tuple[str, str] | None) -> str:
        if key is None:
            return ""
        return address(request, "/case", [*filtered, *Side(side.run, key[0]).pairs, ("id", index.shown(key))])

    up = address(request, "/cases", [("run", side.run), *filtered])
    return {"previous": at(previous), "next": at(following), "up": up}


def _conditions(
    request: Request, canvas: Canvas, run: OpenRun, side: Side, record: Record, rows: Sequence[CaseRow]
) -> tuple[list[LinkedRecord], Markup]:
    """The same question asked of this system under other conditions, and what all answers together show."""
    own = [row for row in rows if row.system_id == side.system][:_CONDITIONS]
    found = run.run.find([(side.system, row.case_id) for row in own])
    records = {row.case_id: answer for row, answer in zip(own, found, strict=True) if answer is not None}
    names = varying(canvas, run.benchmark, list(records.values()))
    linked = [
        LinkedRecord(
            names[row.case_id] or row.sample_id, row.status, row.answer, case_address(request, side, row.shown),
            beside_address(request, [(side, _shown(record)), (side, row.shown)]),
        )
        for row in own if row.case_id in records and row.case_id != record.case.id
    ]  # fmt: skip
    return linked, question_html(canvas, run.benchmark, list(records.values()), run.run)


def _systems(request: Request, side: Side, record: Record, rows: Sequence[CaseRow]) -> list[LinkedRecord]:
    """The same case in the other systems of the run; in one that has it under no equal id, its first answer to the
    question."""
    by_system: dict[str, CaseRow] = {}
    for row in rows:
        if row.system_id != side.system and (row.system_id not in by_system or row.case_id == record.case.id):
            by_system[row.system_id] = row
    return [_linked(request, side, record, Side(side.run, name), row, name)
            for name, row in list(by_system.items())[:_SYSTEMS]]  # fmt: skip


def _linked(request: Request, side: Side, record: Record, other: Side, row: CaseRow, name: str) -> LinkedRecord:
    return LinkedRecord(
        name, row.status, row.answer, case_address(request, other, row.shown),
        beside_address(request, [(side, _shown(record)), (other, row.shown)]),
    )  # fmt: skip


def _add_later(
    request: Request, canvas: Canvas, w: Mapping[str, str], parts: list[tuple[str, str, Markup]], side: Side,
    shown: str,
) -> None:  # fmt: skip
    """Adds what other runs have, which the page fetches after it is shown."""
    href = address(request, "/case/elsewhere", [*side.pairs, ("id", shown)])
    later = canvas.html("viewer/elsewhere.html", w=w, href=href)
    for place, (name, title, body) in enumerate(parts):
        if name == "elsewhere":
            parts[place] = (name, title, body + later)
            return
    place = next((place for place, part in enumerate(parts) if part[0] == "course"), len(parts))
    parts.insert(place, ("elsewhere", w["elsewhere"], later))


def _elsewhere(request: Request) -> Response:
    """The answers of other runs to the question, as a part of the page."""
    side, shown_as = Side(parameter(request, "run"), parameter(request, "system")), parameter(request, "id")
    library = library_of(request)
    with library.index(side.run) as index:
        record = index.record(side.system, index.case_named(side.system, shown_as))
        language = language_of(request, index.language)
    canvas, w = Canvas(language), messages(__name__, language)
    linked = list(_other_runs(request, side, record, language))
    body = (
        related_html(canvas, linked, w["elsewhere"], w["where"])
        if linked
        else canvas.html("<p>{{ text }}</p>", text=w["nowhere"])
    )
    if request.headers.get("hx-request"):
        return HTMLResponse(str(body), headers={"Cache-Control": "no-store"})
    return page(
        request, canvas, [("elsewhere", w["elsewhere"], body)], heading=one_line(_shown(record), 120), run=side.run
    )


def _other_runs(request: Request, side: Side, record: Record, language: str) -> Iterator[LinkedRecord]:
    library = library_of(request)
    names = [name for name in library.runs() if name != side.run][:_RUNS]
    for name in names:
        try:
            with library.index(name) as index:
                rows = current(request, name, index).same_question(record.case, language=language)
        except RagstoneError:  # a damaged file, or one of a benchmark that is not installed: not this page's business
            continue
        best: dict[str, CaseRow] = {}
        for row in rows:
            if row.system_id not in best or row.case_id == record.case.id:
                best[row.system_id] = row
        for row in list(best.values())[:_SYSTEMS]:
            other = Side(name, row.system_id)
            yield _linked(request, side, record, other, row, " · ".join(dict.fromkeys((row.system_id, name))))


ROUTES = (Route("/case", _case), Route("/case/elsewhere", _elsewhere))
