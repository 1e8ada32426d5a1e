"""`compare`: two runs, or two systems of one, sample by sample."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from ragstone.analysis.sides import retrieved_values
from ragstone.comparison.compare_figures import Comparison, Difference, Flip, Reason, Side, compare_runs, corrected
from ragstone.comparison.compare_flips import FlipReader, flip_reader
from ragstone.comparison.difference_tables import comparison_tables
from ragstone.display import Table
from ragstone.engine.open_run import benchmark_of, open_checked, viewed
from ragstone.engine.public_functions import public
from ragstone.errors import UnknownName, UsageError, check_name
from ragstone.messages import preferred_language
from ragstone.report.notebook import result_snippet, result_text
from ragstone.runs import RunReader

__all__ = ["Comparison", "Difference", "Flip", "Reason", "compare", "comparison_tables", "opened_sides", "system_of"]
AXES = ("retriever", "k", "chunk")


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
    found = compare_runs(a, b, group_by=group_by, readers=readers, texts=texts, **options)
    with contextlib.suppress(UsageError):  # of a benchmark that is not installed
        found = replace(found, texts=type(benchmark_of(a.run.meta, a.path)).__module__)
    return found


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


def system_of(run: RunReader, path: Path, requested: str | None, option: str) -> str:
    """The requested system of a run, or its only one. Raises UsageError if it must be named or does not exist."""
    names = list(run.systems)
    if requested is not None:
        check_name("system", requested, names, hint=f"{path} has: {', '.join(names)}.")
        return requested
    if len(names) != 1:
        raise UsageError(f"{path} has {len(names)} systems: name one with {option}; it has: {', '.join(names)}.")
    return names[0]


def compare_pairwise(
    a: Side,
    b: Side,
    axis: str,
    *,
    metrics: Sequence[str] = (),
    on: Literal["all", "common"] = "all",
    judges: Literal["same", "different"] = "same",
    where: Mapping[str, str] | None = None,
    primary: Sequence[str] = (),
) -> Comparison:
    """Compares every value of `axis` in A with every other one in B; if A and B are the same system of one run, each
    pair once. Rows are grouped by pair ("bm25 → local/e5-small"); Holm's correction is over all rows.

    Raises UsageError if there are fewer than two values, and the errors of `compare_runs`."""
    if axis not in AXES:
        raise UnknownName("axis", axis, AXES)
    same = a.run is b.run and a.system == b.system
    values_a = _values(a, axis)
    values_b = values_a if same else _values(b, axis)
    pairs = list(combinations(values_a, 2)) if same else [(x, y) for x in values_a for y in values_b if x != y]
    if not pairs:
        known = ", ".join(dict.fromkeys((*values_a, *values_b))) or "none"
        raise UsageError(f"--by {axis} needs two values of {axis} to compare; there is {known}.")
    comparisons = [
        compare_runs(
            replace(a, name=x if len(pairs) == 1 else "A", axis=axis, value=x),
            replace(b, name=y if len(pairs) == 1 else "B", axis=axis, value=y),
            metrics=metrics, on=on, judges=judges, where=where, primary=primary,
        )
        for x, y in pairs
    ]  # fmt: skip
    rows = [
        replace(row, group=f"{x} → {y}")
        for (x, y), comparison in zip(pairs, comparisons, strict=True)
        for row in comparison.rows
    ]
    first = comparisons[0]
    return replace(
        first,
        rows=corrected(rows),
        pairs=sum(comparison.pairs for comparison in comparisons),
        changed=sum(comparison.changed for comparison in comparisons),
        left_out=(sum(part.left_out[0] for part in comparisons), sum(part.left_out[1] for part in comparisons)),
        unpaired={name: counts for part in comparisons for name, counts in part.unpaired.items()},
        refused={name: reason for part in comparisons for name, reason in part.refused.items()},
    )


def _values(side: Side, axis: str) -> list[str]:
    """The values of an axis in cases with retrieval, sorted; numbers by size."""
    records = side.run.records(system=side.system, texts=False)
    values = {value for record in records if (value := retrieved_values(record.case, axis)) is not None}
    return sorted(values, key=lambda value: (float(value), "") if value.isdecimal() else (0.0, value))
