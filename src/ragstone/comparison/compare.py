"""`compare`: two runs, or two systems of one, sample by sample."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from ragstone.analysis.pairing import RIGHT
from ragstone.comparison.compare_figures import FLIPPED, Comparison, Difference, Flip, Reason, Side, compare_runs
from ragstone.comparison.compare_flips import FlipReader, flip_reader
from ragstone.comparison.pairwise import compare_pairwise
from ragstone.display import Cell, Row, Table, short_names
from ragstone.engine.blocking import public
from ragstone.engine.open_run import open_checked, viewed
from ragstone.errors import UsageError, check_name
from ragstone.messages import messages, preferred_language
from ragstone.report.notebook import result_snippet, result_text
from ragstone.runs import RunReader

__all__ = ["Comparison", "Difference", "Flip", "Reason", "compare", "comparison_tables", "opened_sides", "system_of"]

_LONGEST_NAME = 16  # longer names of systems stand in the title instead of the column heads


@dataclass(frozen=True, repr=False)
class ShownComparison(Comparison):
    """A comparison that shows itself: its verdict, the differences as a picture, and the main table."""

    def __repr__(self) -> str:
        return result_text(*self._leading(), language=preferred_language())

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return result_snippet(*self._leading())

    def _leading(self) -> tuple[str, list[Table]]:
        from ragstone.comparison.compare_verdict import comparison_summary  # noqa: PLC0415  (it imports this module)
        from ragstone.report.opening_text import opening_text  # noqa: PLC0415  (only where somebody prints it)

        language = preferred_language()
        opening = opening_text({"": comparison_summary(self, language=language)}, language=language)
        return opening, comparison_tables(self, language=language)[:1]


@public
def compare(
    a: str | Path,
    b: str | Path | None = None,
    *,
    system_a: str | None = None,
    system_b: str | None = None,
    metrics: str | Sequence[str] = (),
    on: Literal["all", "common"] = "all",
    judges: Literal["same", "different"] = "same",
    where: Mapping[str, str] | None = None,
    group_by: str | Sequence[str] = (),
    by: Literal["retriever", "k", "chunk", ""] = "",
    primary: str | Sequence[str] = (),
) -> "ShownComparison":
    """Compares the systems of two run files; `b` None: two systems of `a`. A file with several systems needs
    `system_a`, `system_b`. Differences are those of B minus A. See `analysis.compare` for what is tested and how.

    `on="common"`: only cases that are the same in both. `judges="different"`: also compare different judges.
    `where`: only cases with these values of the condition or of a column of the data (ability, language, topic…).
    `group_by`: such names; a row for each of their values. `by`: compare retrievers, numbers of chunks or chunk sizes
    with each other, those of `a` with those of `b`, or all of one system of `a`. `primary`: the metrics that decide,
    corrected among themselves (by default all).
    Raises UsageError if nothing can be compared.
    """
    for choice, known in ((on, ("all", "common")), (judges, ("same", "different"))):
        if choice not in known:
            raise UsageError(f"Cannot compare by {choice!r}: it is {' or '.join(known)}.")
    path_b = None if b is None else Path(b)
    with opened_sides(Path(a), path_b, system_a, system_b, within=bool(by)) as sides:
        found = compare_sides(
            *sides, by=by, metrics=[metrics] if isinstance(metrics, str) else metrics, on=on, judges=judges,
            where=where, group_by=[group_by] if isinstance(group_by, str) else group_by,
            primary=[primary] if isinstance(primary, str) else primary,
        )  # fmt: skip
    return ShownComparison(**{item.name: getattr(found, item.name) for item in fields(found)})


def compare_sides(
    a: Side, b: Side, *, by: str = "", group_by: Sequence[str] = (), flips: FlipReader | None = None, **options: Any
) -> Comparison:
    """The same of two sides that are open. `flips` reads their flips on the way; not with `by`."""
    if by and group_by:
        raise UsageError(f"Comparing by {by} has a group for each pair of values: leave out group_by.")
    if by:
        return compare_pairwise(a, b, by, **options)
    flips = flips or flip_reader((a, b))
    readers, texts = (None, False) if flips is None else (flips.readers, flips.texts)
    return compare_runs(a, b, group_by=group_by, readers=readers, texts=texts, **options)


@contextlib.contextmanager
def opened_sides(
    a: Path, b: Path | None, system_a: str | None, system_b: str | None, *, within: bool = False
) -> Iterator[tuple[Side, Side]]:
    """Both sides, their run files open while the context lasts; `b` None: two systems of `a`, or, `within`, a single
    one. Raises UsageError if a system must be named or does not exist."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(open_checked(a))
        second = (
            first if b is None or b == a or (b.exists() and b.samefile(a)) else stack.enter_context(open_checked(b))
        )
        if second is first and within:
            system_b = system_a = system_b or system_a
        elif second is first:
            names = list(first.systems)
            if system_a is None and system_b is None and len(names) == 2:
                system_a, system_b = names
            if system_a is None or system_b is None:
                alone = f"{a} alone: name" if b is None else f"{a} is compared with itself: name another run file, or"
                raise UsageError(
                    f"{alone} two of its systems with --system-a and --system-b; it has: {', '.join(names)}."
                )
        name_a, name_b = system_of(first, a, system_a, "--system-a"), system_of(second, b or a, system_b, "--system-b")
        if second is first and name_a == name_b and not within:
            raise UsageError(f"{name_a} is compared with itself: name two different systems.")
        same = name_a == name_b
        yield (
            Side(viewed(first), name_a, f"{name_a} ({a.name})" if same else name_a, path=a),
            Side(viewed(second), name_b, f"{name_b} ({(b or a).name})" if same else name_b, path=b or a),
        )


def labels_of(*sides: Side) -> tuple[str, str]:
    """Short names of A and B for a reader: of the systems, or of the files where it is the same system."""
    names = [side.system for side in sides]
    if names[0] == names[1]:
        names = [str(side.path) if side.path and not side.axis else side.name for side in sides]
    labels = short_names(names)
    return labels[names[0]], labels[names[1]]


def system_of(run: RunReader, path: Path, requested: str | None, option: str) -> str:
    """The requested system of a run, or its only one. Raises UsageError if it must be named or does not exist."""
    names = list(run.systems)
    if requested is not None:
        check_name("system", requested, names, hint=f"{path} has: {', '.join(names)}.")
        return requested
    if len(names) != 1:
        raise UsageError(f"{path} has {len(names)} systems: name one with {option}; it has: {', '.join(names)}.")
    return names[0]


def comparison_tables(
    comparison: Comparison, *, language: str = "en", moves: int | None = None, power: float | None = None
) -> list[Table]:
    """The differences, and the samples that moved, `lost` first; of a metric at most `moves` in either direction.
    `power`: a difference; how many questions would show it. What these questions can show is also told if they show no
    difference."""
    texts = messages(__name__, language)
    grouped = any(row.group for row in comparison.rows)
    several = any(row.samples != row.n for row in comparison.rows)  # pairs of a sample
    rows = [
        Row((
            Cell(_metric(row, texts)),
            *([Cell(row.group)] if grouped else []), Cell(value=row.a), Cell(value=row.b),
            Cell(value=row.difference, low=row.low, high=row.high), Cell(f"{row.p_holm:.3g}"),
            Cell(texts[row.test]), Cell(str(row.n)), *([Cell(str(row.samples))] if several else []),
            Cell(f"{row.improved} / {row.worsened}"),
        ))
        for row in comparison.rows
    ]  # fmt: skip
    names = labels_of(comparison.a, comparison.b)
    long = max(map(len, names)) > _LONGEST_NAME
    columns = (
        texts["metric"], *([texts["group"]] if grouped else []),
        *((texts["before"], texts["after"]) if long else names),
        texts["difference"], texts["p"], texts["test"], texts["n"], *([texts["samples"]] if several else []),
        texts["flips"],
    )  # fmt: skip
    title = texts["long_title" if long else "title"].format(a=names[0], b=names[1])
    tables = [Table("compare", title, columns, tuple(rows), tuple(_notes(comparison, texts)), keys=2 if grouped else 1)]
    if power is not None or not any(row.significant() for row in comparison.rows if row.primary):
        tables += _power_table(comparison, power, texts)
    return tables + _flips_table(comparison, moves, texts)


def _flips_table(comparison: Comparison, moves: int | None, texts: Mapping[str, str]) -> list[Table]:
    flips = [(row, flip) for row in comparison.rows for flip in (*row.lost[:moves], *row.gained[:moves])]
    if not flips:
        return []
    conditions = any(flip.condition for _, flip in flips)
    rows = [
        Row((
            Cell(label_of(row, texts)), Cell(flip.sample), *([Cell(flip.condition)] if conditions else []),
            Cell(value=flip.before), Cell(value=flip.after),
        ))
        for row, flip in flips
    ]  # fmt: skip
    keys = ("metric", "sample", *(["condition"] if conditions else []))
    columns = tuple(texts[name] for name in (*keys, "before", "after"))
    hidden = sum(row.gained_total + row.lost_total for row in comparison.rows)
    hidden -= sum(flip.flipped for _, flip in flips)
    notes = [texts["flip_note"].format(least=FLIPPED), *([texts["more"].format(n=hidden)] if hidden else [])]
    return [Table("compare-flips", texts["flip_title"], columns, tuple(rows), tuple(notes), keys=len(keys))]


def _metric(row: Difference, texts: Mapping[str, str]) -> str:
    remarks = [texts[row.better]] if row.better != "higher" else []
    names = [_named(name, texts) for name in (row.metric, *row.aliases)]
    remarks += [texts["same_scores"].format(names=", ".join(names[1:]))] if row.aliases else []
    return f"{names[0]} ({texts['apart'].join(remarks)})" if remarks else names[0]


def _named(metric: str, texts: Mapping[str, str]) -> str:
    return texts["right_answers"] if metric == RIGHT else metric


def label_of(row: Difference, texts: Mapping[str, str]) -> str:
    """The metric and its group of cases, for a reader. `texts`: of this module."""
    return replace(row, metric=_named(row.metric, texts)).label


def _power_table(comparison: Comparison, power: float | None, texts: Mapping[str, str]) -> list[Table]:
    """The smallest difference that the questions can show, and the questions that the difference `power` needs."""
    rows = []
    for row in comparison.rows:
        smallest = Cell(texts["no_power"]) if row.smallest is None else Cell(value=row.smallest)
        needed = [] if power is None else [Cell(f"{row.needed(power):,}")]
        rows.append(Row((Cell(label_of(row, texts)), Cell(f"{row.samples:,}"), smallest, *needed)))
    heads = [texts[name] for name in ("metric", "samples", "smallest")]
    heads += [] if power is None else [texts["needed"].format(difference=f"{power:g}")]
    return (
        [Table("compare-power", texts["power_title"], tuple(heads), tuple(rows), (texts["power_note"],))]
        if rows
        else []
    )


def _notes(comparison: Comparison, texts: Mapping[str, str]) -> Iterator[str]:
    """Notes below the table of differences: the methods, and everything that is left out."""
    yield texts["note"]
    if others := [label_of(row, texts) for row in comparison.rows if not row.primary]:
        yield texts["secondary"].format(names=", ".join(others))
    if any(comparison.left_out):
        yield texts["left_out"].format(a=comparison.left_out[0], b=comparison.left_out[1])
    if comparison.changed:
        yield texts["changed"].format(n=comparison.changed)
    for row in comparison.rows:
        if row.failed_a or row.failed_b:
            yield texts["failed"].format(metric=label_of(row, texts), a=row.failed_a, b=row.failed_b)
        if row.only_a or row.only_b:
            yield texts["applies"].format(metric=label_of(row, texts), a=row.only_a, b=row.only_b)
    for name, why in comparison.refused.items():
        reason = texts[f"why.{why.kind}"].format(what=why.what, a=why.a, b=why.b)
        yield texts["refused"].format(metric=name, why=reason)
    for name, (a, b) in comparison.unpaired.items():
        yield texts["unpaired"].format(metric=name, a=a, b=b)
    for side, names in zip(("first", "second"), comparison.one_sided, strict=True):
        if names:
            yield texts[side].format(names=", ".join(names))
    if comparison.differing:
        yield texts["differing"].format(names=", ".join(comparison.differing))
    if all(comparison.judges) and comparison.judges[0] != comparison.judges[1]:
        yield texts["judges"].format(
            a=texts["and"].join(comparison.judges[0]), b=texts["and"].join(comparison.judges[1])
        )
