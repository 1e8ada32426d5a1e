"""`/compare`: which answers of two systems differ, as a matrix that leads to the cases; `/beside`: cases side by
side."""

from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.analysis.case_index import CaseIndex, CaseRow
from ragstone.analysis.flips import CELLS, Cell, Flips, flips_of
from ragstone.analysis.pair_columns import SideScores
from ragstone.analysis.sides import Side as ComparedSide
from ragstone.comparison.comparable import refused
from ragstone.comparison.flips_page import (
    cell_label,
    differences_html,
    flips_html,
    flips_todo,
    flips_verdict,
    matrix_html,
)
from ragstone.errors import UnknownName, UsageError
from ragstone.messages import messages
from ragstone.report.case_page import TONES
from ragstone.report.html import lang_attribute
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.report.sections.opening import block_of, opening_html
from ragstone.report.side_by_side import MOST, side_by_side
from ragstone.web.page import address, language_of, library_of, number_in, page
from ragstone.web.pending import pending_of, waiting_html
from ragstone.web.sides import Side, asked, beside_address, columns_of, current, named, sides_of

_SIZE = 25  # cases of a page
_LARGE = 50_000  # answers: a page does not wait for more
_WAIT_LARGE, _WAIT = 0.1, 60.0  # seconds


def _compare(request: Request) -> Response:
    sides = sides_of(request)
    with ExitStack() as stack:
        library = library_of(request)
        indices = [current(request, side.run, stack.enter_context(library.index(side.run))) for side in sides]
        canvas = Canvas(language_of(request, indices[0].language))
        w = messages(__name__, canvas.language)
        made = {
            pair: _flips(request, [sides[place] for place in pair], [indices[place] for place in pair])
            for pair in combinations(range(len(sides)), 2)
        }
        heading = w["heading"]
        if any(flips is None for flips in made.values()):
            parts = [("compare", heading, waiting_html(canvas, f"{request.url.path}?{request.url.query}"))]
        elif len(sides) > 2:
            parts = _matrix(request, canvas, w, sides, {pair: flips for pair, flips in made.items() if flips})
        else:
            flips = made[0, 1]
            assert flips is not None
            if not flips.common:
                parts = [_nothing_common(request, canvas, w, sides, indices, flips)]
            elif cell := request.query_params.get("cell"):
                parts = [_list(request, canvas, w, sides, indices, flips, _cell(cell))]
            else:
                parts = _pair(request, canvas, w, sides, indices, flips)
    return page(request, canvas, parts, heading=heading, systems=named(sides), run=sides[0].run)


def _flips(request: Request, sides: Sequence[Side], indices: Sequence[CaseIndex]) -> Flips | None:
    """The flips of two sides; None while they are being counted."""
    states = [index.progress() for index in indices]
    key = (*sides, *((state.done, state.total, state.current) for state in states))
    large = max(state.done for state in states) > _LARGE
    library = library_of(request)

    def make() -> Flips:
        with library.index(sides[0].run) as a, library.index(sides[1].run) as b:
            one, other = (
                index.outcomes(asked(index, side.system), index.metrics)
                for index, side in zip((a, b), sides, strict=True)
            )  # fmt: skip
            return flips_of(one, other, refused=_refused(request, sides, (a.metrics, b.metrics)))

    return pending_of(request).of(key, make, wait=_WAIT_LARGE if large else _WAIT)


def _refused(request: Request, sides: Sequence[Side], metrics: tuple[Sequence[str], Sequence[str]]) -> list[str]:
    """The metrics that `compare` would not compare, because their judges or versions differ."""
    a, b = (SideScores(metrics={name: array("d") for name in names}) for names in metrics)
    with ExitStack() as stack:
        one, other = (
            ComparedSide(stack.enter_context(library_of(request).opened(side.run)).run, side.system, side.run)
            for side in sides
        )
        return [*refused(one, other, a, b)]


def _cell(name: str) -> Cell:
    for cell in CELLS:
        if cell == name:
            return cell
    raise UnknownName("cell", name, CELLS)


def _pairs(sides: Sequence[Side]) -> list[tuple[str, str]]:
    return [pair for side in sides for pair in side.pairs]


def _pair(
    request: Request, canvas: Canvas, w: Mapping[str, str], sides: Sequence[Side], indices: Sequence[CaseIndex],
    flips: Flips,
) -> list[tuple[str, str, Markup]]:  # fmt: skip
    names = (named(sides)[0], named(sides)[1])
    links: dict[Cell, str] = {
        cell: address(request, "/compare", [*_pairs(sides), ("cell", cell)]) for cell in CELLS
    }  # fmt: skip
    states = [index.progress() for index in indices]
    done, total = sum(state.done for state in states), sum(state.total for state in states)
    todo = flips_todo(flips, names, canvas.language, links)
    behind = [w["behind"].format(done=f"{done:,}", total=f"{total:,}")] if done < total else []
    block = block_of([flips_verdict(flips, names, canvas.language)], [flips_html(canvas, flips, names, links)], todo,
                     heading=canvas.words["to_do"])  # fmt: skip
    body = opening_html(canvas, [block], unfinished=behind) + canvas.html(
        "comparison/compare.html",
        w=w,
        command=_command(sides),
        swapped=address(request, "/compare", _pairs(sides[::-1])),
    )
    parts = [("compare", w["heading"], body)]
    if table := differences_html(canvas, flips.scores, names):
        parts.append(("metrics", w["metrics"], table))
    return parts


def _nothing_common(
    request: Request, canvas: Canvas, w: Mapping[str, str], sides: Sequence[Side], indices: Sequence[CaseIndex],
    flips: Flips,
) -> tuple[str, str, Markup]:  # fmt: skip
    """That no question is of both sides, or that one of them is still being read."""
    if any(state.done < state.total for state in (index.progress() for index in indices)):
        return "compare", w["heading"], waiting_html(canvas, f"{request.url.path}?{request.url.query}")
    (a, b), (n_a, n_b) = (one_line(name, 60) for name in named(sides)), flips.left_out
    text = w["nothing_common"].format(a=a, b=b, n_a=f"{n_a:,}", n_b=f"{n_b:,}")
    return "compare", w["heading"], canvas.html("<p>{{ text }}</p>", text=text)


def _command(sides: Sequence[Side]) -> str:
    """The command that tests the differences."""
    files = [one_line(side.run, 200) for side in sides]
    files = files[:1] if files[0] == files[1] else files
    quoted = " ".join(f"'{name}'" if set(name) & set(" '\"$`\\") else name for name in files)
    return f"ragstone compare {quoted} --report compare.html"


def _matrix(
    request: Request, canvas: Canvas, w: Mapping[str, str], sides: Sequence[Side],
    made: Mapping[tuple[int, int], Flips],
) -> list[tuple[str, str, Markup]]:  # fmt: skip
    gains = {pair: flips.right for pair, flips in made.items()}
    gains |= {(b, a): None if flips.right is None else flips.right.turned for (a, b), flips in made.items()}
    links = {
        (a, b): address(request, "/compare", _pairs([sides[a], sides[b]])) for a, b in gains
    }  # fmt: skip
    names = named(sides)
    body = matrix_html(canvas, names, gains, links)
    return [("compare", w["heading"], body)]


def _list(
    request: Request, canvas: Canvas, w: Mapping[str, str], sides: Sequence[Side], indices: Sequence[CaseIndex],
    flips: Flips, cell: Cell,
) -> tuple[str, str, Markup]:  # fmt: skip
    """The cases of a cell, each a link to both answers side by side."""
    names = (named(sides)[0], named(sides)[1])
    places = flips.places[cell]
    number = max(1, number_in(request, "page") or 1)
    start = (number - 1) * _SIZE
    shown = places[start : start + _SIZE]
    found = [index.rows(shown[:, side].tolist()) for side, index in enumerate(indices)]

    def at(number: int) -> str:
        return address(request, "/compare", [*_pairs(sides), ("cell", cell), ("page", str(number))])

    rows = [
        _row(request, w, sides, names, pair, cell, start + offset)
        for offset, pair in enumerate(zip(*found, strict=True))
    ]  # fmt: skip
    last = max(1, -(-len(places) // _SIZE))
    title = cell_label(cell, names, canvas.language)
    body = canvas.html(
        "comparison/compared_list.html", w=w, rows=rows, start=start + 1,
        count=w["count"].format(cell=title, n=f"{len(places):,}"),
        up=address(request, "/compare", _pairs(sides)), previous=at(min(number - 1, last)) if number > 1 else "",
        next=at(number + 1) if number < last else "", pages=w["pages"].format(page=number, pages=last),
    )  # fmt: skip
    return ("compare", title, body)


def _row(
    request: Request, w: Mapping[str, str], sides: Sequence[Side], names: Sequence[str], rows: Sequence[CaseRow],
    cell: Cell, number: int,
) -> dict[str, Any]:  # fmt: skip
    href = beside_address(request, [(side, row.shown) for side, row in zip(sides, rows, strict=True)])
    return {
        "href": f"{href}&cell={cell}&n={number}", "question": one_line(rows[0].question, 200) or rows[0].sample_id,
        "lang": lang_attribute(rows[0].language), "id": one_line(rows[0].sample_id, 80),
        "answers": [(one_line(name, 60), one_line(row.answer, 200), TONES[row.status], w[row.status])
                    for name, row in zip(names, rows, strict=True)],
    }  # fmt: skip


def _beside(request: Request) -> Response:
    """These cases side by side; those of a cell lead to the one before and the one after."""
    runs, systems, ids = (request.query_params.getlist(name) for name in ("run", "system", "id"))
    if not len(runs) == len(systems) == len(ids) or not 1 <= len(ids) <= MOST:
        raise UsageError(
            f"The address needs run=, system= and id= of each case, of at most {MOST}: open it from a link."
        )
    cases = [(Side(run, system), case) for run, system, case in zip(runs, systems, ids, strict=True)]
    with library_of(request).opened(runs[0]) as run:
        language = language_of(request, run.language)
    canvas, w = Canvas(language), messages(__name__, language)
    body = side_by_side(canvas, list(columns_of(request, cases, canvas)))
    nav = canvas.html("comparison/compare_links.html", w=w, **_neighbours(request, [side for side, _ in cases]))
    return page(request, canvas, [("beside", w["beside"], nav + body)], heading=w["beside"],
                systems=named([side for side, _ in cases]), run=runs[0])  # fmt: skip


def _neighbours(request: Request, sides: Sequence[Side]) -> dict[str, str]:
    """The cases before and after this one in its cell, if it was opened from one."""
    links = {"previous": "", "next": "", "up": address(request, "/cases", {"run": sides[0].run})}
    if len({*sides}) == len(sides) > 1:
        links["up"] = address(request, "/compare", _pairs(sides))
    cell, place = request.query_params.get("cell"), number_in(request, "n")
    if len(sides) != 2 or cell not in CELLS or place is None:
        return links
    links["up"] = address(request, "/compare", [*_pairs(sides), ("cell", cell), ("page", str(place // _SIZE + 1))])
    with ExitStack() as stack:
        indices = [stack.enter_context(library_of(request).index(side.run)) for side in sides]
        flips = _flips(request, sides, indices)
        places = flips.places[_cell(cell)] if flips is not None else ()
        for name, number in (("previous", place - 1), ("next", place + 1)):
            if 0 <= number < len(places):
                ((a,), (b,)) = (index.rows([int(place)]) for index, place in zip(indices, places[number], strict=True))
                href = beside_address(request, [(sides[0], a.shown), (sides[1], b.shown)])
                links[name] = f"{href}&cell={cell}&n={number}"
    return links


ROUTES = (Route("/compare", _compare), Route("/beside", _beside))
