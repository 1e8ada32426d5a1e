"""`compare`: two runs, or two systems of one, sample by sample."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from ragstone.analysis.compare import FLIPPED, Comparison, Difference, Flip, Reason, Side, compare_runs
from ragstone.api.blocking import public
from ragstone.errors import UnknownName, UsageError
from ragstone.messages import messages
from ragstone.runs import RunReader, open_run
from ragstone.types import Cell, Row, Table

__all__ = ["Comparison", "Difference", "Flip", "Reason", "compare", "comparison_tables", "opened_sides"]


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
) -> Comparison:
    """Compares the systems of two run files; `b` None: two systems of `a`. A file with several systems needs
    `system_a`, `system_b`. Differences are those of B minus A. See `analysis.compare` for what is tested and how.

    `on="common"`: only what both were asked alike. `judges="different"`: compare verdicts of different judges, too.
    `where`: only cases with these values of the condition or of a column of the data (ability, language, topic…).
    `group_by`: such names; a row for each of their values.
    Raises UsageError where there is nothing that can be compared.
    """
    for told, known in ((on, ("all", "common")), (judges, ("same", "different"))):
        if told not in known:
            raise UsageError(f"Cannot compare by {told!r}: it is {' or '.join(known)}.")
    metrics = [metrics] if isinstance(metrics, str) else metrics
    group_by = [group_by] if isinstance(group_by, str) else group_by
    with opened_sides(Path(a), None if b is None else Path(b), system_a, system_b) as (one, other):
        return compare_runs(one, other, metrics=metrics, on=on, judges=judges, where=where, group_by=group_by)


@contextlib.contextmanager
def opened_sides(a: Path, b: Path | None, system_a: str | None, system_b: str | None) -> Iterator[tuple[Side, Side]]:
    """Both sides, their run files open for as long as the context lasts; `b` None: two systems of `a`. Raises
    UsageError where a system is to be named, or is not there."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(open_run(a))
        second = first if b is None or b == a or (b.exists() and b.samefile(a)) else stack.enter_context(open_run(b))
        if second is first:
            names = list(first.systems)
            if system_a is None and system_b is None and len(names) == 2:
                system_a, system_b = names
            if system_a is None or system_b is None:
                alone = f"{a} alone: name" if b is None else f"{a} is compared with itself: name another run file, or"
                raise UsageError(
                    f"{alone} two of its systems with --system-a and --system-b; it has: {', '.join(names)}."
                )
        one, other = _system(first, a, system_a, "--system-a"), _system(second, b or a, system_b, "--system-b")
        if second is first and one == other:
            raise UsageError(f"{one} is compared with itself: name two systems.")
        same = one == other
        yield (
            Side(first, one, f"{one} ({a.name})" if same else one),
            Side(second, other, f"{other} ({(b or a).name})" if same else other),
        )


def _system(run: RunReader, path: Path, asked: str | None, option: str) -> str:
    names = list(run.systems)
    if asked is not None:
        if asked not in names:
            raise UnknownName("system", asked, names, hint=f"{path} has: {', '.join(names)}.")
        return asked
    if len(names) != 1:
        raise UsageError(f"{path} has {len(names)} systems: name one with {option}; it has: {', '.join(names)}.")
    return names[0]


def comparison_tables(found: Comparison, *, language: str = "en", moves: int | None = None) -> list[Table]:
    """The differences, and the samples that moved, `lost` first; of a metric at most `moves` in either direction."""
    told = messages(__name__, language)
    grouped = any(row.group for row in found.rows)
    several = any(row.samples != row.n for row in found.rows)  # pairs of a sample
    rows = [
        Row((
            Cell(row.metric if row.better == "higher" else f"{row.metric} ({told[row.better]})"),
            *([Cell(row.group)] if grouped else []), Cell(value=row.a), Cell(value=row.b),
            Cell(value=row.difference, low=row.low, high=row.high), Cell(f"{row.p_holm:.3g}"),
            Cell(told[row.test]), Cell(str(row.n)), *([Cell(str(row.samples))] if several else []),
            Cell(f"{row.gained_total} / {row.lost_total}"),
        ))
        for row in found.rows
    ]  # fmt: skip
    columns = (
        told["metric"], *([told["group"]] if grouped else []), found.a.name, found.b.name, told["difference"],
        told["p"], told["test"], told["n"], *([told["samples"]] if several else []), told["flips"],
    )  # fmt: skip
    title = told["title"].format(a=found.a.name, b=found.b.name)
    made = [Table("compare", title, columns, tuple(rows), tuple(_notes(found, told)), keys=2 if grouped else 1)]
    named = [(row, flip) for row in found.rows for flip in (*row.lost[:moves], *row.gained[:moves])]
    if named:
        told_rows = [
            Row((
                Cell(row.label), Cell(flip.sample), Cell(flip.condition), Cell(value=flip.before),
                Cell(value=flip.after),
            ))
            for row, flip in named
        ]  # fmt: skip
        hidden = sum(row.gained_total + row.lost_total for row in found.rows) - sum(flip.flipped for _, flip in named)
        names = tuple(told[name] for name in ("metric", "sample", "condition", "before", "after"))
        more = (told["more"].format(n=hidden),) if hidden else ()
        made.append(Table("compare-flips", told["flip_title"], names, tuple(told_rows), more, keys=3))
    return made


def _notes(found: Comparison, told: Mapping[str, str]) -> Iterator[str]:
    """What is below the table of differences: how they were made, and all that is missing from them."""
    yield told["note"].format(least=FLIPPED)
    if any(found.left_out):
        yield told["left_out"].format(a=found.left_out[0], b=found.left_out[1])
    if found.changed:
        yield told["changed"].format(n=found.changed)
    for row in found.rows:
        if row.failed_a or row.failed_b:
            yield told["failed"].format(metric=row.label, a=row.failed_a, b=row.failed_b)
        if row.only_a or row.only_b:
            yield told["applies"].format(metric=row.label, a=row.only_a, b=row.only_b)
    for name, why in found.refused.items():
        reason = told[f"why.{why.kind}"].format(what=why.what, a=why.a, b=why.b)
        yield told["refused"].format(metric=name, why=reason)
    for name, (a, b) in found.unpaired.items():
        yield told["unpaired"].format(metric=name, a=a, b=b)
    for side, names in zip(("first", "second"), found.one_sided, strict=True):
        if names:
            yield told[side].format(names=", ".join(names))
    if found.differing:
        yield told["differing"].format(names=", ".join(found.differing))
    if all(found.judges) and found.judges[0] != found.judges[1]:
        yield told["judges"].format(a=told["and"].join(found.judges[0]), b=told["and"].join(found.judges[1]))
