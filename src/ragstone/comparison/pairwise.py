"""Compares retrievers, numbers of chunks or chunk sizes with each other, between two runs or within one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

from ragstone.analysis.pairing import retrieved_values
from ragstone.comparison.compare_figures import Comparison, Side, compare_runs, corrected
from ragstone.errors import UnknownName, UsageError

AXES = ("retriever", "k", "chunk")


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
