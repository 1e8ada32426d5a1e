"""Compares two systems on the same samples: paired differences with intervals and tests, and samples that flipped.

A pair is a question under one condition, in both runs. The difference is the mean of B minus A over the pairs. One
decision (`stats.decide`) is behind its interval, p, the sentences, colours and exit codes; all pairs of a sample are
one unit. Metrics with the same scores are one quantity and are tested once; Holm's correction is over all quantities,
separately for the primary ones, and each interval is at the level that this correction leaves its row. Right answers
are a quantity like the metrics. Metrics from different judges, prompts or protocols are left out, with the reason,
unless requested.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from ragstone.analysis.flips import Gain
from ragstone.analysis.pair_columns import Pairs, SidePairs, paired
from ragstone.analysis.power import Spread, spread_of
from ragstone.analysis.selection import matches
from ragstone.analysis.sides import RIGHT, Reader, Side, read_side
from ragstone.comparison.comparable import Reason, check_same_benchmark, is_derived, only_one_has, question_of, refused
from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.stats import LEVEL, Array, Decision, DecisionKind, Indices, decide, family
from ragstone.stats.intervals import ROUNDING

__all__ = ["FLIPPED", "Comparison", "Difference", "Flip", "Reason", "Side", "compare_runs", "corrected"]

FLIPPED = 0.5  # minimum change of a non-binary score that counts as a flip
_MOST_FLIPS = 50
_LARGEST = 5  # largest changes that are listed even if they are not flips
_COMPARED_ELSEWHERE = ("benchmark", "version", "data", "judge")  # settings with their own checks


@dataclass(frozen=True)
class Flip:
    """A sample whose score changed. `condition` has the parts that vary among the compared cases. `flipped`: the score
    went from wrong to right or back, or changed by at least `FLIPPED`."""

    sample: str
    condition: str
    before: float
    after: float
    flipped: bool = True


@dataclass(frozen=True)
class Difference:
    """One metric: both means over the `n` pairs with a score on both sides, the mean difference (B − A), the test, and
    its p-value before and after Holm's correction. The interval (None for a single sample) is at the `level` that the
    correction leaves, 5% for one quantity: it has 0 exactly if the corrected p is 5% or more.

    `failed_a`, `failed_b`: pairs whose score failed on that side; `lacking`: pairs left out because of a failure.
    `only_a`, `only_b`: pairs to which the metric applies on that side only. `gained` and `lost` are the flips for the
    better and for the worse, the largest first, with the largest other changes of non-binary scores; `gained_total`
    and `lost_total` count flips only. `samples`: the number of distinct samples, on which the test is based (the
    effective n); the mean of `improved` and `worsened` of them changed. `group`: the group of cases, "" for all.
    `aliases`: metrics with the same scores on both sides. `primary`: decides the verdict. `smallest`: the smallest
    difference that these samples would show with 80% power, None if none; `spread` has what that is computed from,
    `decision` what the interval is, and `tested` how many rows are corrected together."""

    metric: str
    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    test: DecisionKind
    p: float
    p_holm: float
    better: Literal["higher", "lower", "neither"]
    failed_a: int = 0
    failed_b: int = 0
    gained: tuple[Flip, ...] = ()
    lost: tuple[Flip, ...] = ()
    gained_total: int = 0
    lost_total: int = 0
    group: str = ""
    lacking: int = 0
    only_a: int = 0
    only_b: int = 0
    samples: int = 0
    improved: int = 0
    worsened: int = 0
    aliases: tuple[str, ...] = ()
    primary: bool = True
    smallest: float | None = None
    tested: int = 1
    spread: Spread | None = None
    level: float = LEVEL
    decision: Decision | None = None

    @property
    def label(self) -> str:
        """The metric and its group of cases."""
        return f"{self.metric} ({self.group})" if self.group else self.metric

    @property
    def coverage(self) -> float:
        """The share of pairs with both scores, among those to which the metric applies on both sides."""
        return self.n / (self.n + self.lacking) if self.n + self.lacking else 1.0

    def significant(self, level: float = LEVEL) -> bool:
        """Whether the sides differ after Holm's correction."""
        return self.difference != 0 and self.p_holm < level

    @property
    def gain(self) -> float:
        """The difference with its sign set so that more is better; 0 where neither direction is better."""
        return {"higher": 1.0, "lower": -1.0, "neither": 0.0}[self.better] * self.difference

    def needed(self, difference: float) -> int:
        """The samples that would show a difference with 80% power."""
        return 0 if self.spread is None else self.spread.needed(difference, self.tested)

    def regressed(self, by: float | None = None, level: float = LEVEL) -> bool:
        """Whether B is significantly worse in a primary metric (after Holm) and, with `by`, by more than that in the
        mean."""
        if self.gain >= 0 or not self.primary or not self.significant(level):
            return False
        return by is None or -self.gain > by


@dataclass(frozen=True)
class Comparison:
    """The comparison of A and B. `pairs` counts the compared pairs; `left_out`, those that only one side has (A only,
    B only); `changed`, those whose question or data differ. `refused` has metrics that were not compared, with reasons.

    `unpaired`: metrics without a pair that has both scores, with the number of failed pairs in A and in B.
    `one_sided`: metrics that only one side has: (A only, B only). `judges`: the judge's models as the endpoint named
    them, in A and in B. `differing`: other settings in which the runs differ, such as the template. `unfinished`:
    sides with cases left to ask, as (name, asked, planned). `commands`: the command lines of A and B. `texts`: the
    module whose texts name the metrics that a benchmark derives, "" if there is none."""

    a: Side
    b: Side
    rows: tuple[Difference, ...]
    pairs: int
    left_out: tuple[int, int]
    refused: Mapping[str, Reason] = field(default_factory=dict)
    unpaired: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    one_sided: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    judges: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    changed: int = 0
    differing: tuple[str, ...] = ()
    unfinished: tuple[tuple[str, int, int], ...] = ()
    commands: tuple[str, str] = ("", "")
    texts: str = ""

    @property
    def coverage(self) -> float:
        """The share of pairs that were compared, among all that either side has."""
        return self.pairs / max(1, self.pairs + sum(self.left_out) + self.changed)


def compare_runs(
    a: Side,
    b: Side,
    *,
    metrics: Sequence[str] = (),
    on: Literal["all", "common"] = "all",
    judges: Literal["same", "different"] = "same",
    where: Mapping[str, str] | None = None,
    group_by: Sequence[str] = (),
    primary: Sequence[str] = (),
    readers: tuple[Reader, Reader] | None = None,
    texts: bool = False,
) -> Comparison:
    """Compares two systems. `metrics`: compare only these. `on`: where the data of the runs differ, "common" compares
    the identical pairs and "all" raises. `where`: only cases whose condition, or column of the data, has these values.
    `group_by`: one row for each value of these, instead of one for all cases. `primary`: the metrics that decide (all
    by default); they are corrected among themselves, and the others too. `readers` see the records of A and of B,
    with `texts` those of the passages, too, and say of each whether it is right: right answers are then compared, too.

    Raises UsageError if the runs cannot be compared: different benchmarks, different data, or no common sample."""
    check_same_benchmark(a, b, "compare runs of one benchmark")
    scores_a, scores_b = (
        read_side(side, where or {}, group_by, reader, texts=texts)
        for side, reader in zip((a, b), readers or (None, None), strict=True)
    )
    pairs_a, pairs_b = SidePairs(scores_a), SidePairs(scores_b)
    found = paired(pairs_a, pairs_b)
    unfinished = tuple(counts for side in (a, b) if (counts := _unfinished(side, where or {})) is not None)
    common = found.common
    if on == "all" and (len(found.only_a) or len(found.only_b) or len(found.changed)):
        only = (a, pairs_a, found.only_a), (b, pairs_b, found.only_b)
        raise UsageError(_data_differ(*only, found.changed, len(common), unfinished))
    if not len(common):
        raise UsageError(f"{a.name} and {b.name} have no sample in common: compare runs of the same data.")
    pairs_a.forget(samples=False)
    pairs_b.forget(samples=True)
    names = sorted(scores_a.metrics.keys() | scores_b.metrics.keys())
    if unknown := [name for name in (*metrics, *primary) if name not in names]:
        raise UsageError(f"Neither run has scores of {unknown[0]!r}; available: {', '.join(names)}.")
    reasons = {} if judges == "different" else refused(a, b, scores_a, scores_b)
    selected = [name for name in dict.fromkeys([*primary, *(metrics or names), RIGHT]) if name not in reasons]
    selected = sorted(selected, key=lambda name: name == RIGHT)
    both = [name for name in selected if name in scores_a.metrics and name in scores_b.metrics]
    derived = {name for name in both if is_derived(a, name) and is_derived(b, name)} - {*metrics, *primary}
    rows, unpaired = _differences(common, both, primary, b.run.meta, derived)

    def alone(names: set[str]) -> tuple[str, ...]:
        return tuple(sorted(name for name in names - {RIGHT} if only_one_has(a, b, name)))

    return Comparison(
        a, b, corrected(rows), len(common), (len(found.only_a), len(found.only_b)),
        {name: reason for name, reason in reasons.items() if not metrics or name in (*metrics, *primary)},
        unpaired=unpaired,
        one_sided=(alone({*selected} - scores_b.metrics.keys()), alone({*selected} - scores_a.metrics.keys())),
        judges=(scores_a.judges, scores_b.judges), changed=len(found.changed), differing=_differing(a, b),
        unfinished=unfinished,
        commands=(str(a.run.meta.get("command", "")), str(b.run.meta.get("command", ""))),
    )  # fmt: skip


def _differences(
    common: Pairs, names: Sequence[str], primary: Sequence[str], meta: Mapping[str, Any], derived: Collection[str]
) -> tuple[list[Difference], dict[str, tuple[int, int]]]:
    """The difference of each metric in each group of pairs, metrics with the same scores as one; and the failed pairs
    in A and in B of those without a pair that has both scores. `derived`: left out where all are 0, as a cause that
    nobody saw is no question to test."""
    rows: dict[Hashable, Difference] = {}
    unpaired: dict[str, tuple[int, int]] = {}
    for group, pairs in common.groups():
        for name in names:
            row, scores = _difference(name, group, pairs, better(name, meta))
            row = replace(row, primary=not primary or name in primary)
            if (not row.n and name == RIGHT) or (row.n and name in derived and not (row.a or row.b)):
                continue
            if not row.n:
                unpaired[row.label] = (row.failed_a, row.failed_b)
            elif (equal := rows.get(key := (group, row.better, scores))) is not None:
                rows[key] = replace(equal, aliases=(*equal.aliases, name))
            else:
                rows[key] = row
    return [*rows.values()], unpaired


def _unfinished(side: Side, where: Mapping[str, str]) -> tuple[str, int, int] | None:
    """(name, asked, planned) of a side with cases left to ask, else None. Counts only cases that match `where`, if the
    plan has these names."""
    if (plan := side.run.plans().get(side.system)) is None:
        return None
    asked, total = plan.asked, plan.total
    if where and all(any(name in cell.condition for cell in plan.cells) for name in where):
        cells = [cell for cell in plan.cells if matches(cell.condition, where)]
        asked, total = sum(cell.asked for cell in cells), sum(cell.total for cell in cells)
    return (side.name, asked, total) if asked < total else None


def _differing(a: Side, b: Side) -> tuple[str, ...]:
    old, new = question_of(a), question_of(b)
    keys = sorted((old.keys() | new.keys()) - set(_COMPARED_ELSEWHERE))
    return tuple(key for key in keys if old.get(key) != new.get(key))


def _data_differ(
    a: tuple[Side, SidePairs, Indices], b: tuple[Side, SidePairs, Indices], changed: Indices, common: int,
    unfinished: Sequence[tuple[str, int, int]],
) -> str:  # fmt: skip
    """`a` and `b`: with the pairs that only this side has. `changed`: pairs of A, in their order."""
    parts = [
        f"{len(only)} only in {side.name} ({pairs.first_sample(only)!r}…)." for side, pairs, only in (a, b) if len(only)
    ]
    if len(changed):
        first = a[1].sample(changed[0])
        parts.append(f"{len(changed)} with another question, reference or given passages ({first!r}…).")
    parts += [f"{name}: {asked:,} of {total:,}, unfinished." for name, asked, total in unfinished]
    if common:
        parts.append(f"{common} in both. To compare the pairs that both have, add --on common.")
    else:
        parts.append("None in both: compare runs of the same questions.")
    return " ".join(["The data differ.", *parts])


def _difference(
    name: str, group: str, pairs: Pairs, direction: Literal["higher", "lower", "neither"]
) -> tuple[Difference, bytes]:
    """The difference of one metric over these pairs, and a hash of the pairs with both scores and of these. If there
    are none, `n` is 0 and the other figures are placeholders."""
    before, failed_a = pairs.a.scores(name, pairs.at_a)
    after, failed_b = pairs.b.scores(name, pairs.at_b)
    known, failed = ~(np.isnan(before) | np.isnan(after)), failed_a | failed_b
    alone = ~known & ~failed
    empty = Difference(
        name, 0, 0, 0, 0, 0, 0, "newcombe", 1, 1, direction, int(failed_a.sum()), int(failed_b.sum()), group=group,
        lacking=int(failed.sum()), only_a=int((alone & ~np.isnan(before)).sum()),
        only_b=int((alone & ~np.isnan(after)).sum()),
    )  # fmt: skip
    places = np.flatnonzero(known)
    if not len(places):
        return empty, b""
    a, b, samples = before, after, pairs.units
    if len(places) < len(known):  # a million scores are not copied for nothing
        a, b, samples = a[known], b[known], None if samples is None else samples[known]
    a += 0.0
    b += 0.0
    # Sums in another order are the same score: what is rounding alone would count as a change of the sample.
    np.copyto(b, a, where=np.abs(b - a) <= ROUNDING)
    decision = decide(a, b, groups=samples)
    moves = [_moves(pairs, places, a, b, rising=rising) for rising in (True, False)]
    (gained, gained_total), (lost, lost_total) = reversed(moves) if direction == "lower" else moves
    before, after = _by_sample(samples, a), _by_sample(samples, b)
    higher, lower = int((after > before).sum()), int((after < before).sum())
    improved, worsened = (lower, higher) if direction == "lower" else (higher, lower)
    total_a, total_b = sum(map(float, a)), sum(map(float, b))
    difference = (total_b - total_a) / len(a)
    difference = 0.0 if abs(difference) <= ROUNDING else difference
    row = replace(
        empty, n=len(a), a=total_a / len(a), b=total_b / len(a), difference=difference,
        test=decision.kind, p=decision.p, p_holm=decision.p, decision=decision, gained=gained, lost=lost,
        gained_total=gained_total, lost_total=lost_total, samples=len(before), improved=improved, worsened=worsened,
        spread=spread_of(a, b, samples),
    )  # fmt: skip
    scores = blake2b(digest_size=32)
    for column in (places, a, b):
        scores.update(column.data)
    return row, scores.digest()


def gain_of_row(row: Difference) -> Gain:
    """What a row says, for the picture of flips."""
    needed = 0 if row.low is None or not row.difference or row.significant() else row.needed(row.difference)
    return Gain(row.n, row.a, row.b, row.difference, row.low, row.high, row.samples, needed, row.p_holm)


def corrected(rows: Sequence[Difference]) -> tuple[Difference, ...]:
    """The rows with Holm's correction, the intervals that agree with it and the smallest detectable difference; the
    primary rows form one family, the others another."""
    result: list[Difference] = []
    for primary in (True, False):
        chosen = [(row, row.decision) for row in rows if row.primary is primary]
        together = family([decision for _, decision in chosen if decision is not None])
        for (row, decision), (p, level) in zip(chosen, together, strict=True):
            low, high = (None if decision is None else decision.interval(level)) or (None, None)
            smallest = None if row.spread is None else row.spread.smallest(len(chosen))
            result.append(
                replace(row, p_holm=p, level=level, low=low, high=high, smallest=smallest, tested=len(chosen))
            )
    return tuple(result)


def _by_sample(samples: Indices | None, values: Array) -> Array:
    """The mean of the values of each sample; None: each has one."""
    if samples is None:
        return values
    units = np.unique(samples, return_inverse=True)[1]
    return np.asarray(np.bincount(units, values) / np.bincount(units), dtype=np.float64)


def _moves(pairs: Pairs, places: Indices, a: Array, b: Array, *, rising: bool) -> tuple[tuple[Flip, ...], int]:
    """The pairs whose score rose, or those whose score fell: the largest changes, and the number of flips."""
    binary = bool((np.isin(a, (0.0, 1.0)) & np.isin(b, (0.0, 1.0))).all())
    least = (1.0 if binary else FLIPPED) - 1e-9
    moved = np.flatnonzero(b > a if rising else b < a)
    sizes = np.abs(b[moved] - a[moved])
    candidates = _largest(sizes, None if pairs.units is None else pairs.units[places[moved]])
    listed = sorted((-float(sizes[at]), *pairs.named(int(places[moved[at]])), at) for at in candidates.tolist())
    shown = [
        Flip(sample, condition, float(a[moved[at]]), float(b[moved[at]]), flipped=bool(sizes[at] >= least))
        for rank, (_, sample, condition, at) in enumerate(listed[:_MOST_FLIPS])
        if sizes[at] >= least or rank < _LARGEST
    ]
    return tuple(shown), int((sizes >= least).sum())


def _largest(sizes: Array, units: Indices | None) -> Indices:
    """The places among which are the largest changes: of equal ones the first, and all of the last one's sample."""
    if len(sizes) <= _MOST_FLIPS:
        return np.arange(len(sizes))
    last = np.partition(sizes, len(sizes) - _MOST_FLIPS)[len(sizes) - _MOST_FLIPS]
    larger, equal = np.flatnonzero(sizes > last), np.flatnonzero(sizes == last)
    wanted, rest = np.split(equal, [_MOST_FLIPS - len(larger)])
    rest = rest[:0] if units is None else rest[units[rest] == units[wanted[-1]]]
    return np.concatenate([larger, wanted, rest])
