"""`/cases`: the cases of a run that match a filter, which is the address; sorted and in pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex, CaseRow, Facet, IndexProgress
from ragstone.display import short_names
from ragstone.messages import messages
from ragstone.report.case_page import TONES
from ragstone.report.html import lang_attribute
from ragstone.report.metadata import column_of, condition_of, words_of
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.web.page import address, language_of, library_of, number_in, page, parameter
from ragstone.web.run_cache import is_large

Pair: TypeAlias = tuple[str, str]
"""A parameter of an address, and its value."""

_SIZE = 50
_BUDGET_SECONDS = 1.0  # for the index of a small run, while the page waits
_FACETS, _CHIPS, _MORE_CHIPS, _SCORES = 14, 8, 40, 4
_FIRST = ("status", "cause", "system", "group", "language")


def _cases(request: Request) -> Response:
    name = parameter(request, "run")
    library = library_of(request)
    path = library.path(name)
    pairs = [pair for pair in request.query_params.multi_items() if pair[0] not in ("run", "page", "lang")]
    chosen = CaseFilter.from_query(pairs)
    with library.index(name) as index:
        language = language_of(request, index.language)
        progress = index.progress() if is_large(path) else index.update(_BUDGET_SECONDS)
        if not progress.finished:
            request.app.state.cache.make(path, language)
        canvas, w = Canvas(language), messages(__name__, language)
        body = canvas.html("viewer/cases.html", w=w, **_values(request, canvas, w, name, chosen, index, progress))
    heading = w["heading"].format(run=name)
    return page(request, canvas, [("list", w["cases"], body)], heading=heading, run=name)


def _values(
    request: Request, canvas: Canvas, w: Mapping[str, str], name: str, chosen: CaseFilter, index: CaseIndex,
    progress: IndexProgress,
) -> dict[str, Any]:  # fmt: skip
    """What the template shows."""

    def at(chosen: CaseFilter, number: int = 1) -> str:
        more = [("page", str(number))] if number > 1 else []
        return address(request, "/cases", [("run", name), *parse_qsl(chosen.query()), *more])

    current = max(1, number_in(request, "page") or 1)
    found = index.page(chosen, offset=(current - 1) * _SIZE, size=_SIZE, language=canvas.language)
    last = max(1, -(-found.total // _SIZE))
    facets = index.facets(chosen, language=canvas.language)
    pairs = parse_qsl(chosen.query())
    useful = list(_ordered(facets, pairs))
    labels = short_names(facet.value for facet in facets.get("system", ()))
    lang = request.query_params.get("lang")
    return {
        "chosen": chosen, "here": at(chosen, current), "up": address(request, "/run", {"run": name}),
        "notice": _notice(w, progress), "poll": not progress.finished,
        "sorts": [(value, _sort_name(w, value)) for value in _sorts(index, chosen)],
        "kept": [("run", name), *(pair for pair in pairs if not _has_field(pair[0], index)),
                 *([("lang", lang)] if lang else [])],
        "metrics": [(name, w.get(f"metric_{name}", name), _range_text(chosen, name)) for name in index.metrics],
        "facets": [_facet(canvas, w, index, pairs, at, *item) for item in useful if item[0] in _FIRST],
        "others": [_facet(canvas, w, index, pairs, at, *item) for item in useful if item[0] not in _FIRST],
        "others_open": any(parameter == "label" or parameter.startswith("c.") for parameter, _ in pairs),
        "count": w["count_about" if not found.exact else "count_one" if found.total == 1 else "count"].format(
            n=found.total),
        "clear": at(CaseFilter(sort=chosen.sort)) if chosen != CaseFilter(sort=chosen.sort) else "",
        "start": (current - 1) * _SIZE + 1,
        "rows": [_row(request, canvas, w, name, chosen, row, labels) for row in found.rows],
        "previous": at(chosen, min(current - 1, last)) if current > 1 else "",
        "next": at(chosen, current + 1) if current < last else "",
        "pages": w["pages"].format(page=current, pages=last),
    }  # fmt: skip


def _has_field(parameter: str, index: CaseIndex) -> bool:
    """Whether the form has a field of its own for a parameter, so that it needs no hidden one."""
    return parameter in ("q", "sort") or (parameter.startswith("m.") and parameter[2:] in index.metrics)


def _sorts(index: CaseIndex, chosen: CaseFilter) -> Iterator[str]:
    yield from ("worst", "-worst", "id")
    for metric in index.metrics:
        yield from (metric, f"-{metric}")
    if chosen.sort.removeprefix("-") not in ("worst", "id", *index.metrics):
        yield chosen.sort


def _sort_name(w: Mapping[str, str], value: str) -> str:
    metric = value.removeprefix("-")
    order = w["sort_highest" if value.startswith("-") else "sort_lowest"]
    return w.get(f"sort_{value}") or order.format(metric=w.get(f"metric_{metric}", metric))


def _range_text(chosen: CaseFilter, metric: str) -> str:
    low, high = chosen.metrics.get(metric, (None, None))
    return "" if low is high is None else f"{'' if low is None else f'{low:g}'}..{'' if high is None else f'{high:g}'}"


def _notice(w: Mapping[str, str], progress: IndexProgress) -> str:
    if progress.finished:
        return ""
    key = "indexing" if progress.done < progress.total else "searching"
    return w[key].format(done=progress.done, total=progress.total, searchable=progress.searchable)


def _ordered(facets: Mapping[str, Sequence[Facet]], pairs: Sequence[Pair]) -> Iterator[tuple[str, Sequence[Facet]]]:
    """The facets that divide the cases, or are chosen: ours first, then those of the data."""
    names = [*_FIRST, *sorted(name for name in facets if name not in _FIRST)]
    useful = [
        name for name in names
        if len(facets.get(name, ())) > 1 or any(_pair(name, facet.value) in pairs for facet in facets.get(name, ()))
    ]  # fmt: skip
    for name in useful[:_FACETS]:
        yield name, facets[name]


def _pair(name: str, value: str) -> Pair:
    """The parameter of the address that chooses a value of a facet."""
    label = name.partition("label.")[2]
    return ("label", f"{quote(label, safe=' ')}={value}") if label else (name, value)


def _facet(
    canvas: Canvas, w: Mapping[str, str], index: CaseIndex, pairs: Sequence[Pair], at: Callable[[CaseFilter], str],
    name: str, facets: Sequence[Facet],
) -> Markup:  # fmt: skip
    """A facet with its values as links that add a value to the filter, or take it out."""
    chips, systems = [], short_names(facet.value for facet in facets) if name == "system" else {}
    shown = w.get(f"facet_{name}", "")
    for facet in facets[: _CHIPS + _MORE_CHIPS]:
        pair = _pair(name, facet.value)
        on = pair in pairs
        changed = [other for other in pairs if other != pair] if on else [*pairs, pair]
        title, text = _words(canvas, w, index, name, facet)
        label, shown = one_line(systems.get(facet.value, text), 60), shown or title
        chips.append(
            canvas.html(
                "viewer/chip.html", w=w, label=label, count=facet.count, on=on, href=at(CaseFilter.from_query(changed))
            )
        )
    return canvas.html("viewer/facet.html", w=w, name=one_line(shown, 60), first=chips[:_CHIPS], rest=chips[_CHIPS:])


def _words(canvas: Canvas, w: Mapping[str, str], index: CaseIndex, name: str, facet: Facet) -> tuple[str, str]:
    """What the facet and a value of it are called in reports; the address has their codes."""
    kind, _, field = name.partition(".")
    words = words_of(index.benchmark, canvas.language)
    if kind == "label":
        return column_of(field, facet.value, canvas.language, index.benchmark)
    if kind == "c":
        value = {"True": True, "False": False}.get(facet.value, facet.value)
        return next(condition_of({field: value}, canvas.language, index.benchmark))
    own = {
        "status": w.get(facet.value), "language": words.get(f"field_language_{facet.value}"),
        "group": words.get(f"condition_{facet.value}"),
    }.get(name)  # fmt: skip
    return w[f"facet_{name}"], own or facet.label or facet.value


def _row(
    request: Request, canvas: Canvas, w: Mapping[str, str], name: str, chosen: CaseFilter, row: CaseRow,
    labels: Mapping[str, str],
) -> Markup:  # fmt: skip
    # The case comes last: of a parameter that the filter has, too, the last value is the case's.
    pairs = [*parse_qsl(chosen.query()), ("run", name), ("system", row.system_id), ("id", row.shown)]
    scores = [(one_line(metric, 60), number(value)) for metric, value in row.scores.items() if value is not None]
    return canvas.html(
        "viewer/case_row.html", w=w, row=row, href=address(request, "/case", pairs), lang=lang_attribute(row.language),
        question=one_line(row.question, 200), answer=one_line(row.answer, 200), sample=one_line(row.sample_id, 80),
        label=one_line(row.label, 120), system=one_line(labels.get(row.system_id, row.system_id), 80),
        tone=TONES[row.status], scores=scores[:_SCORES],
    )  # fmt: skip


ROUTES = (Route("/cases", _cases),)
