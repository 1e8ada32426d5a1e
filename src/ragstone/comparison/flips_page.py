"""The flips of two systems as a 2 × 2 picture that leads to the cases, and of several as a matrix of pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ragstone.analysis.flips import CELLS, Cell, Flips, Gain
from ragstone.display import Cell as TableCell
from ragstone.display import Row, Table
from ragstone.messages import messages
from ragstone.report.html import table_html
from ragstone.report.opening import better_line
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas

_NAME = 60
_SHORT, _SHORTEST = 40, 12  # characters: longer names are A and B in sentences, or in cells, with a key below


def flips_verdict(flips: Flips, names: tuple[str, str], language: str) -> str:
    """The sentence that a comparison opens with: which side has more right answers, or how many questions would
    tell."""
    if flips.right is None:
        return messages(__name__, language)["undecided"]
    return better_line(flips.right, _short(names), messages(better_line.__module__, language))


def flips_todo(
    flips: Flips, names: tuple[str, str], language: str, links: Mapping[Cell, str]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """What to do: sentences, each with links to the cells whose cases are to be read."""
    w, gain = messages(__name__, language), flips.right
    if gain is None:
        return [(w["undecided_todo"], [])]
    a, b = _short(names)

    def item(key: str, *cells: Cell, **values: str) -> tuple[str, list[tuple[str, str]]]:
        n = sum(flips.counts[cell] for cell in cells)
        return w[key].format(n=f"{n:,}", **values), [
            (links[cell], cell_label(cell, names, language)) for cell in cells if flips.counts[cell] and cell in links
        ]

    found = []
    if gain.decided:
        cell: Cell = "lost" if gain.difference > 0 else "won"
        better, worse = (b, a) if cell == "lost" else (a, b)
        found.append(item("take_but" if flips.counts[cell] else "take", cell, better=better, worse=worse))
    elif gain.needed > gain.questions:
        found.append(item("ask_more", more=f"{gain.needed - gain.questions:,}"))
    else:
        found.append(item("either"))
    if flips.counts["won"] + flips.counts["lost"] and not gain.decided:
        found.append(item("differ", "lost", "won"))
    return [*found, item("both", "both_wrong")] if flips.counts["both_wrong"] else found


def cell_label(cell: Cell, names: tuple[str, str], language: str, most: int = _SHORT) -> str:
    """What a cell has: what A and B got right and wrong."""
    a, b = _short(names, most)
    return messages(__name__, language)[cell].format(a=a, b=b)


def _short(names: tuple[str, str], most: int = _SHORT) -> tuple[str, str]:
    a, b = (one_line(name, _NAME) for name in names)
    return (a, b) if max(len(a), len(b)) <= most else ("A", "B")


def flips_html(
    canvas: Canvas, flips: Flips, names: tuple[str, str], links: Mapping[Cell, str] | None = None
) -> Markup:  # fmt: skip
    """The 2 × 2 table: what A and B have right and wrong. `links`: the address of the cases of each cell."""
    w, links = messages(__name__, canvas.language), links or {}
    a, b = _short(names, _SHORTEST)
    cells = {
        name: {"name": name, "count": flips.counts[name], "href": links.get(name, ""),
               "label": cell_label(name, names, canvas.language, _SHORTEST)}
        for name in CELLS
    }  # fmt: skip
    rows = [(w["right_by"], [cells["both_right"], cells["lost"]]), (w["wrong_by"], [cells["won"], cells["both_wrong"]])]
    notes = []
    if flips.open:
        notes.append(w["open"].format(n=f"{flips.open:,}"))
    if any(flips.left_out):
        notes.append(w["left_out"].format(a=f"{flips.left_out[0]:,}", b=f"{flips.left_out[1]:,}"))
    key = [("A", one_line(names[0], 2 * _NAME)), ("B", one_line(names[1], 2 * _NAME))] if (a, b) == ("A", "B") else []
    return canvas.html("comparison/flips.html", w=w, a=a, b=b, rows=rows, notes=notes, key=key)


def matrix_html(
    canvas: Canvas, names: Sequence[str], gains: Mapping[tuple[int, int], Gain | None],
    links: Mapping[tuple[int, int], str],
) -> Markup:  # fmt: skip
    """Every pair of several systems: by how many points the row's is better than the column's. `gains` and `links` are
    by (place of A, place of B), B being better where the difference is positive."""
    w = messages(__name__, canvas.language)
    rows: list[tuple[str, list[dict[str, Any]]]] = []
    for row, name in enumerate(names):
        cells = []
        for column in range(len(names)):
            gain = gains.get((column, row))
            tone = "" if gain is None or not gain.decided else "won" if gain.difference > 0 else "lost"
            cells.append({
                "text": "" if gain is None else _points(gain.difference), "tone": tone,
                "interval": "" if gain is None else _interval(gain), "href": links.get((column, row), ""),
            })  # fmt: skip
        rows.append((one_line(name, _NAME), cells))
    return canvas.html(
        "comparison/flips_matrix.html",
        w=w,
        verdict=_best(names, gains, w),
        names=[one_line(name, _NAME) for name in names],
        rows=rows,
    )


def _best(names: Sequence[str], gains: Mapping[tuple[int, int], Gain | None], w: Mapping[str, str]) -> str:
    """Which system is better than most others, or that none is seen to be better."""
    wins = [0] * len(names)
    for (_, better), gain in gains.items():
        wins[better] += gain is not None and gain.decided and gain.difference > 0
    best = max(range(len(names)), key=lambda place: wins[place])
    key = "best" if wins[best] else "none_best"
    return w[key].format(name=one_line(names[best], _NAME), n=wins[best], others=len(names) - 1, all=len(names))


def differences_html(canvas: Canvas, gains: Mapping[str, Gain], names: tuple[str, str]) -> Markup:
    """The means of every metric on both sides and their difference; "" without any."""
    if not gains:
        return Markup()
    w = messages(__name__, canvas.language)
    rows = [
        Row((
            TableCell(name), TableCell(value=gain.a), TableCell(value=gain.b),
            TableCell(value=gain.difference, low=gain.low, high=gain.high), TableCell(f"{gain.n:,}"),
        ))
        for name, gain in sorted(gains.items())
    ]  # fmt: skip
    columns = (w["metric"], one_line(names[0], _NAME), one_line(names[1], _NAME), w["difference"], w["n"])
    return table_html(canvas, Table("differences", w["differences"], columns, tuple(rows), (w["note"],)))


def _points(share: float) -> str:
    """A difference of shares in points, with its sign."""
    points = 100 * share
    if abs(points) < 0.05:
        return "0.0"
    return f"{'+' if points > 0 else '−'}{abs(points):.1f}"


def _interval(gain: Gain) -> str:
    if gain.low is None or gain.high is None:
        return ""
    return f" [{_points(gain.low)}, {_points(gain.high)}]"
