"""The words of a trend: what changed and what did not, what else changed on the way, and what to look at."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from rich.cells import cell_len

from ragstone.comparison.change_points import LEAST_FIGURES
from ragstone.comparison.trend_figures import Change, Curve, Mark, Trend
from ragstone.messages import messages
from ragstone.report.number_format import number
from ragstone.stats import Estimate

_NAMED = 4  # changes and quantities named in a sentence
_ACTIONS = 3
_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDEST = 48  # points; of more, the last are shown


def verdict_kind(trend: Trend) -> Literal["regression", "improvement", "mixed", "change", "no_change", "nothing"]:
    """The kind of verdict, by the changes. "change": only quantities without a better direction changed; "nothing":
    nothing could be tested."""
    if not trend.tested:
        return "nothing"
    kinds = {change.kind for _, change in trend.moves}
    if {"regression", "improvement"} <= kinds:
        return "mixed"
    return next((kind for kind in ("regression", "improvement", "change") if kind in kinds), "no_change")


def trend_verdict(trend: Trend, language: str) -> list[str]:
    """The verdict in one sentence, what it rests on, and a sentence for each other thing that changed."""
    words, marks = messages(__name__, language), [mark_line(trend, mark, language) for mark in trend.marks]
    if not trend.tested:
        return [words["nothing"], *marks]
    still = [quantity(curve, words) for curve in trend.tested if not curve.changes]
    names = words["join"].join(still[:_NAMED]) + (
        words["more"].format(n=len(still) - _NAMED) if len(still) > _NAMED else ""
    )
    if moves := trend.moves:
        parts = [_moved(trend, curve, change, words) for curve, change in moves[:_NAMED]]
        if len(moves) > _NAMED:
            parts.append(words["more_moves"].format(n=len(moves) - _NAMED))
        parts += [words["rest"].format(names=names)] if still else []
        line = words["apart"].join(parts) + words["stop"]
    else:
        line = words["no_change"].format(names=names)
    return [line, _basis(trend, words), *marks]


def _moved(trend: Trend, curve: Curve, change: Change, words: Mapping[str, str]) -> str:
    before, after = (
        amount(curve, end, digits=_digits(change)) + _interval(curve, end, _digits(change))
        for end in (change.before, change.after)
    )
    text = words["moved"].format(
        label=quantity(curve, words), way=words["rose" if change.rose else "fell"], before=before, after=after,
        when=words["week" if trend.by == "week" else "on"].format(when=labels(trend, words)[change.at]),
    )  # fmt: skip
    return text + (words[change.kind] if curve.better == "lower" else "")  # rising is worse


def _digits(change: Change) -> int:
    """As few as show the difference, at least two."""
    ends = (change.before.value or 0.0, change.after.value or 0.0)
    return next((digits for digits in (2, 3, 4) if f"{ends[0]:.{digits}f}" != f"{ends[1]:.{digits}f}"), 5)


def amount(curve: Curve, estimate: Estimate, *, digits: int = 2) -> str:
    """The value of a quantity with its unit."""
    return _in_unit(curve, estimate.value, digits)


def _in_unit(curve: Curve, value: float | None, digits: int) -> str:
    if value is None:
        return "–"
    if curve.kind == "errors":
        return f"{100 * value:.{digits - 1}f}%"
    if curve.kind == "tokens":
        return f"{value:,.0f}"
    if curve.kind == "cost":
        return number(value)
    return f"{value:,.{digits}f}" + (" s" if curve.kind.startswith("latency") else "")


def _interval(curve: Curve, estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{_in_unit(curve, estimate.low, digits)}, {_in_unit(curve, estimate.high, digits)}]"


def quantity(curve: Curve, words: Mapping[str, str]) -> str:
    """The name of a quantity: a metric's is its own."""
    return curve.name if curve.kind == "metric" else words[curve.kind]


def labels(trend: Trend, words: Mapping[str, str]) -> list[str]:
    """The time of each run: a date, with the year where there are several, the time of day where dates recur, and the
    run's name where these do, too."""
    times = [run.when for run in trend.runs]
    form = words["date" if len({time.year for time in times}) == 1 else "dated"]
    months = words["months"].split()
    dates = [form.format(day=time.day, month=months[time.month - 1], year=time.year) for time in times]
    if len({*dates}) == len(dates):
        return dates
    timed = [words["time"].format(date=date, time=f"{time:%H:%M}") for date, time in zip(dates, times, strict=True)]
    if len({*timed}) == len(timed):
        return timed
    return [words["run_at"].format(date=date, run=run.name) for date, run in zip(timed, trend.runs, strict=True)]


def _basis(trend: Trend, words: Mapping[str, str]) -> str:
    finished = [run for run in trend.runs if run.unfinished is None]
    sizes = sorted({run.cases for run in finished})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,}–{sizes[-1]:,}"
    dates = labels(trend, words)
    return words["basis_by" if trend.by else "basis"].format(
        runs=len(finished), start=dates[0], end=dates[-1], cases=size, tested=len(trend.tested),
        period=words[f"periods_{trend.by}"] if trend.by else "",
    )  # fmt: skip


def mark_line(trend: Trend, mark: Mark, language: str) -> str:
    """The sentence about something else that changed."""
    words = messages(__name__, language)
    when = words["week" if trend.by == "week" else "on"].format(when=labels(trend, words)[mark.at])
    if mark.kind == "data":
        return words["data"].format(when=when, shared=mark.shared, total=mark.total)
    if mark.kind == "system":
        names = list(dict.fromkeys(_setting(name, words) for name in mark.settings))
        more = words["more"].format(n=len(names) - _NAMED) if len(names) > _NAMED else ""
        return words["system"].format(when=when, names=words["join"].join(names[:_NAMED]) + more)
    reason = mark.reason
    why = "" if reason is None else reason.said(words)
    return words["ruler"].format(when=when, names=words["join"].join(mark.metrics), why=why)


def curve_lines(trend: Trend, language: str) -> list[str]:
    """A line for each quantity: its name, its curve in characters, its first and its last value."""
    words = messages(__name__, language)
    names = [quantity(curve, words) for curve in trend.curves]
    width = max(map(cell_len, names), default=0)
    lines = []
    for curve, name in zip(trend.curves, names, strict=True):
        known = [point for point in curve.points if point.value is not None]
        drawn = sparkline([point.value for point in curve.points], {change.at for change in curve.changes})
        ends = f"{amount(curve, known[0])} → {amount(curve, known[-1])}"
        lines.append(f"{name}{' ' * (width - cell_len(name))}  {drawn}  {ends}")
    return lines


def trend_notes(trend: Trend, language: str) -> list[str]:
    """What limits the trend: unfinished runs, failed scores, times that are not known, how it was tested."""
    words = messages(__name__, language)
    notes = [
        words["unfinished"].format(name=run.name, asked=run.unfinished[0], total=run.unfinished[1])
        for run in trend.runs
        if run.unfinished is not None
    ]
    failed: dict[str, int] = {}
    for run in trend.runs:
        for name, count in run.failed.items():
            failed[name] = failed.get(name, 0) + count
    notes += [words["failed"].format(name=name, n=count) for name, count in sorted(failed.items())]
    if undated := [run for run in trend.runs if not run.dated]:
        notes.append(words["file_time"].format(n=len(undated), runs=len(trend.runs)))
    if trend.undated:
        notes.append(words["undated"].format(n=trend.undated))
    if trend.stream:
        notes.append(words["stream"])
    varying = [curve for curve in trend.tested if not curve.kind.startswith("latency") and not curve.repeated]
    if varying:
        names = words["join"].join(quantity(curve, words) for curve in varying)
        notes.append(words["not_repeated_by" if trend.by else "not_repeated"].format(names=names))
    if any(curve.kind == "latency_p50" and curve.p is None for curve in trend.curves):
        notes.append(words["latency_untested"].format(n=LEAST_FIGURES))
    return [*notes, words["method"]]


def trend_actions(trend: Trend, language: str) -> list[str]:
    """At most three lines: for a change for the worse, the command that shows its cases. None where the runs have no
    questions in common."""
    words = messages(__name__, language)
    places = dict.fromkeys(change.at for _, change in trend.moves if change.kind != "improvement")
    lines = []
    for place in [*places][:_ACTIONS]:
        before = next((run for run in reversed(trend.runs[:place]) if run.unfinished is None), None)
        if before is None or trend.by or trend.stream:
            continue
        files = " ".join(shlex.quote(run.path) for run in (before, trend.runs[place]))
        lines.append(words["look"].format(when=labels(trend, words)[place], command=f"ragstone compare {files}"))
    return lines


def _setting(name: str, words: Mapping[str, str]) -> str:
    """What a reader calls a setting, by the last part of its name that has a word; one without any is quoted. The name
    or version of a part is a change of that part."""
    first, *below = name.split(".")
    parts = [first, *(part for part in below if part not in ("kind", "name", "version"))]
    known = (words.get(f"setting_{part}") for part in reversed(parts))
    return next(filter(None, known), words["setting_other"].format(name=name))


def sparkline(values: Sequence[float | None], cuts: Collection[int] = ()) -> str:
    """A block for each value, from the lowest to the highest of them; "·" where there is none, "│" before each place of
    `cuts`. Of a flat curve all blocks are of middle height."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    start = max(0, len(values) - _WIDEST)
    line = "…" if start else ""
    for place in range(start, len(values)):
        value = values[place]
        line += "│" if place in cuts else ""
        if value is None:
            line += "·"
        elif high == low:
            line += _BLOCKS[3]
        else:
            line += _BLOCKS[round((value - low) / (high - low) * (len(_BLOCKS) - 1))]
    return line
