"""The verdict of a comparison: the sentences to read first, and one HTML page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragstone.analysis.sides import RIGHT
from ragstone.comparison.compare_figures import Comparison, Difference
from ragstone.comparison.difference_tables import comparison_tables, label_of, labels_of, texts_for
from ragstone.display import Action, Chart, Dot, Summary, Table, signed
from ragstone.engine.open_run import check_target
from ragstone.messages import messages
from ragstone.optional import load
from ragstone.report.opening import better_line
from ragstone.storage import write_file

if TYPE_CHECKING:
    from ragstone.analysis.flips import Cell, Flips
    from ragstone.comparison.compare_flips import FlippedCases
    from ragstone.report.side_by_side import Column

_NAMED = 4  # metrics named in the verdict
_SENTENCES, _DOTS = 2, 6  # of a page

Kind = Literal["regression", "improvement", "mixed", "change", "no_difference", "nothing"]


def verdict_of(comparison: Comparison) -> Kind:
    """The kind of verdict, by what differs after Holm. "change": only metrics without a better direction differ."""
    deciding = [row for row in comparison.rows if row.primary]
    if not deciding:
        return "nothing"
    kinds = {_kind(row) for row in deciding if row.significant()}
    if {"regression", "improvement"} <= kinds:
        return "mixed"
    return next((kind for kind in ("regression", "improvement", "change") if kind in kinds), "no_difference")


def _kind(row: Difference) -> Literal["regression", "improvement", "change"]:
    return "change" if row.better == "neither" else "regression" if row.gain < 0 else "improvement"


def comparison_verdict(comparison: Comparison, *, language: str = "en", opened: bool = False) -> list[str]:
    """One sentence for each metric that fell or rose, the most important first: regressions, improvements, then changes
    without a better direction; the last sentence names what did not change. `opened`: `right_line` stands above."""
    words = texts_for(comparison, __name__, language)
    order = ("regression", "improvement", "change")
    rows = [row for row in comparison.rows if row.primary and not (opened and row.metric == RIGHT and not row.group)]
    moved = sorted((row for row in rows if row.significant()), key=lambda row: order.index(_kind(row)))
    lines = [_moved(row, words) for row in moved[:_NAMED]]
    if len(moved) > _NAMED:
        lines.append(words["more_moved"].format(n=len(moved) - _NAMED))
    if unchanged := [row for row in rows if not row.significant()]:
        sizes = sorted({row.samples for row in unchanged})
        unit = words["one" if sizes == [1] else "several"]
        size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,}–{sizes[-1]:,}"
        labels = [label_of(row, words) for row in unchanged[:_NAMED]]
        if len(unchanged) > _NAMED:
            labels.append(words["more"].format(n=len(unchanged) - _NAMED))
        lines.append(words["none"].format(labels=words["join"].join(labels), n=f"{size} {unit}"))
    return lines or ([] if opened else [words["nothing"]])


def right_line(comparison: Comparison, flips: "Flips", *, language: str = "en") -> str:
    """Which side has more right answers, or how many questions would tell: the sentence that the page opens with."""
    words = messages(better_line.__module__, language)
    return "" if flips.right is None else better_line(flips.right, labels_of(comparison.a, comparison.b), words)


def comparison_summary(comparison: Comparison, *, judged: bool = False, language: str = "en") -> Summary:
    """What the page of a comparison opens with: two sentences, the differences by metric as dots (what differs
    first), and what to do about metrics that are worse or, unless right answers are compared (`judged`), that more
    questions would decide."""
    words = texts_for(comparison, __name__, language)
    rows = sorted((row for row in comparison.rows if row.primary), key=lambda row: not row.significant())
    ends = [abs(end) for row in rows for end in (row.difference, row.low, row.high) if end is not None]
    scale = max(ends, default=0.0) or 1.0
    worse = [row for row in rows if row.regressed()]
    _, b = labels_of(comparison.a, comparison.b)
    actions = [
        words["worse"].format(label=label_of(row, words), b=b, worse=f"{row.worsened:,}", samples=f"{row.samples:,}")
        for row in worse
    ]
    undecided = [(row.needed(row.difference) - row.samples, label_of(row, words)) for row in rows if row.difference]
    if not judged and not any(row.significant() for row in rows) and undecided and min(undecided)[0] > 0:
        more, label = min(undecided)
        actions = [words["ask_more"].format(more=f"{more:,}", label=label)]
    return Summary(
        "", "\n".join(comparison_verdict(comparison, language=language)[:_SENTENCES]),
        dots=tuple(_dot(row, scale, words) for row in rows[:_DOTS]), actions=tuple(map(Action, actions[:_SENTENCES])),
    )  # fmt: skip


def _dot(row: Difference, scale: float, words: Mapping[str, str]) -> Dot:
    """The difference of a metric on an axis that ends at `scale`."""
    low, high = (None if end is None else end / scale for end in (row.low, row.high))
    tone: Literal["", "good", "missed"] = ""
    if row.significant() and row.better != "neither":
        tone = "good" if row.gain > 0 else "missed"
    sign = "+" if row.difference > 0 else ""
    text = f"{sign}{_signed(row.difference)} [{_signed(row.low)}, {_signed(row.high)}]"
    return Dot(
        label_of(row, words), row.difference / scale, low, high, text, lower=row.better == "lower", signed=True,
        tone=tone,
    )  # fmt: skip


def _moved(row: Difference, words: Mapping[str, str]) -> str:
    return words["unjudged" if row.better == "neither" else "moved"].format(
        label=label_of(row, words), way=words["rose" if row.difference > 0 else "fell"], size=abs(row.difference),
        low=_signed(row.low), high=_signed(row.high), worse=row.worsened, better=row.improved, lower=row.worsened,
        higher=row.improved, samples=row.samples, questions=words["one" if row.samples == 1 else "several"],
        kind=words[_kind(row)],
    )  # fmt: skip


def _signed(amount: float | None) -> str:
    return "–" if amount is None else signed(amount, 2)


def comparison_notices(comparison: Comparison, *, language: str = "en") -> list[str]:
    """A line for each side that has cases without an answer yet."""
    form = messages(__name__, language)["unfinished"]
    return [form.format(name=name, asked=asked, total=total) for name, asked, total in comparison.unfinished]


def write_comparison(
    comparison: Comparison, target: str | Path, *, more: Sequence[Table] = (), charts: Sequence[Chart] = (),
    flips: "FlippedCases | None" = None, language: str = "en",
) -> Path:  # fmt: skip
    """Write a comparison as one self-contained HTML file and return its path. `more` and `charts`: the benchmark's
    tables and charts; `flips`: what opens the page as a picture, with the cases behind it. Needs the extra `report`."""
    check_target(target)
    module = load("ragstone.comparison.comparison_page", extra="report", purpose="The HTML report")
    names = labels_of(comparison.a, comparison.b)
    facts = {
        key: [side.name, *command.splitlines()]
        for key, side, command in zip("ab", (comparison.a, comparison.b), comparison.commands, strict=True)
    }  # fmt: skip
    page: str = module.render(
        names, comparison_summary(comparison, judged=flips is not None, language=language),
        [*comparison_tables(comparison, language=language), *more], facts,
        notices=comparison_notices(comparison, language=language), charts=charts,
        flips=None if flips is None else flips.flips, cases=_cases(flips, names, language), language=language,
    )  # fmt: skip
    return write_file(Path(target), page, parents=True)


def _cases(
    flips: "FlippedCases | None", names: tuple[str, str], language: str
) -> "list[tuple[Cell, Column, Column]]":  # fmt: skip
    """The cases that are shown, with the names of their sides and why they are right or wrong."""
    if flips is None:
        return []
    column = load("ragstone.report.side_by_side", extra="report", purpose="The HTML report").Column
    return [
        (cell, *(
            column(name, record, benchmark.explain(record, language=language), benchmark=benchmark)
            for name, record, benchmark in zip(names, records, flips.benchmarks, strict=True)
        ))
        for cell, *records in flips.cases
    ]  # fmt: skip
