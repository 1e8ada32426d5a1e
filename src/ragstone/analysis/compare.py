"""Compares two systems on the same samples: paired differences with intervals and tests, and samples that flipped.

A pair is a sample under one condition, in both runs. The difference is the mean of B minus A over the pairs. Its
interval and its test treat all pairs of a sample as one unit. Independent scores of 0 and 1 use McNemar's exact test,
others a sign permutation test. Metrics with the same scores are one quantity and are tested once; Holm's correction is
over all quantities, separately for the primary ones. Metrics from different judges, prompts or protocols are left out,
with the reason, unless requested.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragstone.analysis.comparable import Reason, question_of, refused
from ragstone.analysis.pairing import Pair, PairScore, Side, SideScores, read_side
from ragstone.analysis.power import Spread, spread_of
from ragstone.analysis.selection import matches
from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.stats import difference_interval, holm, paired_test

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
    """One metric: both means over the `n` pairs with a score on both sides, the mean difference (B − A) with its 95%
    interval (None for a single sample), the test, and its p-value before and after Holm's correction.

    `failed_a`, `failed_b`: pairs whose score failed on that side; `lacking`: pairs left out because of a failure.
    `only_a`, `only_b`: pairs to which the metric applies on that side only. `gained` and `lost` are the flips for the
    better and for the worse, the largest first, with the largest other changes of non-binary scores; `gained_total`
    and `lost_total` count flips only. `samples`: the number of distinct samples, on which the test is based (the
    effective n); the mean of `improved` and `worsened` of them changed. `group`: the group of cases, "" for all.
    `aliases`: metrics with the same scores on both sides. `primary`: decides the verdict. `smallest`: the smallest
    difference that these samples would show with 80% power, None if none; `spread` has what that is computed from, and
    `tested` how many rows are corrected together."""

    metric: str
    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    test: Literal["mcnemar", "permutation"]
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

    @property
    def label(self) -> str:
        """The metric and its group of cases."""
        return f"{self.metric} ({self.group})" if self.group else self.metric

    @property
    def coverage(self) -> float:
        """The share of pairs with both scores, among those to which the metric applies on both sides."""
        return self.n / (self.n + self.lacking) if self.n + self.lacking else 1.0

    def significant(self, level: float = 0.05) -> bool:
        """Whether the sides differ after Holm's correction."""
        return self.difference != 0 and self.p_holm < level

    @property
    def gain(self) -> float:
        """The difference with its sign set so that more is better; 0 where neither direction is better."""
        return {"higher": 1.0, "lower": -1.0, "neither": 0.0}[self.better] * self.difference

    def needed(self, difference: float) -> int:
        """The samples that would show a difference with 80% power."""
        return 0 if self.spread is None else self.spread.needed(difference, self.tested)

    def regressed(self, by: float | None = None, level: float = 0.05) -> bool:
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
    sides with cases left to ask, as (name, asked, planned). `commands`: the command lines of A and B."""

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
) -> Comparison:
    """Compares two systems. `metrics`: compare only these. `on`: where the data of the runs differ, "common" compares
    the identical pairs and "all" raises. `where`: only cases whose condition, or column of the data, has these values.
    `group_by`: one row for each value of these, instead of one for all cases. `primary`: the metrics that decide (all
    by default); they are corrected among themselves, and the others too.

    Raises UsageError if the runs cannot be compared: different benchmarks, different data, or no common sample."""
    _check_benchmarks(a, b)
    scores_a, scores_b = (read_side(side, where or {}, group_by) for side in (a, b))
    only_a = scores_a.scores.keys() - scores_b.scores.keys()
    only_b = scores_b.scores.keys() - scores_a.scores.keys()
    both = sorted(scores_a.scores.keys() & scores_b.scores.keys())
    unfinished = tuple(counts for side in (a, b) if (counts := _unfinished(side, where or {})) is not None)
    common = [pair for pair in both if scores_a.digests[pair] == scores_b.digests[pair]]
    changed = [pair for pair in both if scores_a.digests[pair] != scores_b.digests[pair]]
    if on == "all" and (only_a or only_b or changed):
        raise UsageError(_data_differ(a, b, only_a, only_b, changed, len(common), unfinished))
    if not common:
        raise UsageError(f"{a.name} and {b.name} have no sample in common: compare runs of the same data.")
    names = sorted(scores_a.metrics | scores_b.metrics)
    if unknown := [name for name in (*metrics, *primary) if name not in names]:
        raise UsageError(f"Neither run has scores of {unknown[0]!r}; available: {', '.join(names)}.")
    reasons = {} if judges == "different" else refused(a, b, scores_a, scores_b)
    selected = [name for name in dict.fromkeys([*primary, *(metrics or names)]) if name not in reasons]
    rows: dict[Hashable, Difference] = {}
    unpaired: dict[str, tuple[int, int]] = {}
    for group, conditions in _groups(common, scores_a):
        for name in [name for name in selected if name in scores_a.metrics and name in scores_b.metrics]:
            row, scores = _difference(name, group, conditions, scores_a, scores_b, better(name, b.run.meta))
            row = replace(row, primary=not primary or name in primary)
            if not row.n:
                unpaired[row.label] = (row.failed_a, row.failed_b)
            elif (same := rows.get(key := (group, row.better, scores))) is not None:
                rows[key] = replace(same, aliases=(*same.aliases, name))
            else:
                rows[key] = row
    return Comparison(
        a, b, corrected([*rows.values()]), len(common), (len(only_a), len(only_b)),
        {name: reason for name, reason in reasons.items() if not metrics or name in (*metrics, *primary)},
        unpaired=unpaired,
        one_sided=(tuple(sorted({*selected} - scores_b.metrics)), tuple(sorted({*selected} - scores_a.metrics))),
        judges=(scores_a.judges, scores_b.judges), changed=len(changed), differing=_differing(a, b),
        unfinished=unfinished,
        commands=(str(a.run.meta.get("command", "")), str(b.run.meta.get("command", ""))),
    )  # fmt: skip


def _groups(common: Sequence[Pair], side: SideScores) -> list[tuple[str, dict[Pair, str]]]:
    """The groups by name, each with its pairs and the parts of their conditions that vary within it."""
    pairs_by_group: dict[str, list[Pair]] = {}
    for pair in common:
        pairs_by_group.setdefault(side.groups[pair], []).append(pair)
    return [(group, side.varying(pairs)) for group, pairs in sorted(pairs_by_group.items())]


def _check_benchmarks(a: Side, b: Side) -> None:
    names = [question_of(side).get("benchmark") for side in (a, b)]
    if names[0] != names[1]:
        raise UsageError(
            f"{a.name} is a run of {names[0]!r} and {b.name} one of {names[1]!r}: compare runs of one benchmark."
        )


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
    a: Side, b: Side, only_a: set[Pair], only_b: set[Pair], changed: Sequence[Pair], common: int,
    unfinished: Sequence[tuple[str, int, int]],
) -> str:  # fmt: skip
    parts = [
        f"{len(only)} only in {side.name} ({min(only)[0]!r}…)" for side, only in ((a, only_a), (b, only_b)) if only
    ]
    if changed:
        parts.append(f"{len(changed)} with another question, reference or given passages ({changed[0][0]!r}…)")
    message = f"The data differ: {' and '.join(parts)}"
    for name, asked, total in unfinished:
        message += f"; {name}: {asked:,} of {total:,}, unfinished"
    if not common:
        return f"{message}, none in both."
    return f"{message}; {common} in both. To compare the pairs that both have, add --on common."


def _difference(
    name: str,
    group: str,
    conditions: Mapping[Pair, str],
    scores_a: SideScores,
    scores_b: SideScores,
    direction: Literal["higher", "lower", "neither"],
) -> tuple[Difference, tuple[tuple[Pair, float, float], ...]]:
    """The difference of one metric over these pairs, and the pairs with both scores. If there are none, `n` is 0 and
    the other figures are placeholders."""
    pairs: list[tuple[Pair, float, float]] = []
    failed_a = failed_b = lacking = only_a = only_b = 0
    absent = PairScore(None, False)
    for pair in conditions:
        before, after = scores_a.scores[pair].get(name, absent), scores_b.scores[pair].get(name, absent)
        failed_a, failed_b = failed_a + before.failed, failed_b + after.failed
        lacking += before.failed or after.failed
        if before.value is not None and after.value is not None:
            pairs.append((pair, before.value, after.value))
        elif not (before.failed or after.failed):
            only_a, only_b = only_a + (before.value is not None), only_b + (after.value is not None)
    empty = Difference(
        name, 0, 0, 0, 0, 0, 0, "permutation", 1, 1, direction, failed_a, failed_b, group=group, lacking=lacking,
        only_a=only_a, only_b=only_b,
    )  # fmt: skip
    if not pairs:
        return empty, ()
    a, b = [value for _, value, _ in pairs], [value for _, _, value in pairs]
    samples = [pair[0] for pair, _, _ in pairs]
    test, p = paired_test(a, b, groups=samples)
    shares = all(-1e-9 <= value <= 1 + 1e-9 for value in (*a, *b))
    differences = [y - x for x, y in zip(a, b, strict=True)]
    low, high = difference_interval(differences, groups=samples, shares=shares) or (None, None)
    up, down = _moves(pairs, conditions, binary={*a, *b} <= {0.0, 1.0})
    gained, lost = (down, up) if direction == "lower" else (up, down)
    means = list(zip(_by_sample(samples, a), _by_sample(samples, b), strict=True))
    higher, lower = sum(y > x for x, y in means), sum(y < x for x, y in means)
    improved, worsened = (lower, higher) if direction == "lower" else (higher, lower)
    row = replace(
        empty, n=len(pairs), a=sum(a) / len(a), b=sum(b) / len(b), difference=(sum(b) - sum(a)) / len(a),
        low=low, high=high, test=test, p=p, p_holm=p, gained=_listed(gained), lost=_listed(lost),
        gained_total=sum(flip.flipped for flip in gained), lost_total=sum(flip.flipped for flip in lost),
        samples=len(means), improved=improved, worsened=worsened, spread=spread_of(a, b, samples),
    )  # fmt: skip
    return row, tuple(pairs)


def corrected(rows: Sequence[Difference]) -> tuple[Difference, ...]:
    """The rows with Holm's correction and the smallest detectable difference; the primary rows form one family, the
    others another."""
    result: list[Difference] = []
    for primary in (True, False):
        family = [row for row in rows if row.primary is primary]
        for row, p in zip(family, holm([row.p for row in family]), strict=True):
            smallest = None if row.spread is None else row.spread.smallest(len(family))
            result.append(replace(row, p_holm=p, smallest=smallest, tested=len(family)))
    return tuple(result)


def _by_sample(samples: Sequence[str], values: Sequence[float]) -> list[float]:
    grouped: dict[str, list[float]] = {}
    for sample, value in zip(samples, values, strict=True):
        grouped.setdefault(sample, []).append(value)
    return [sum(group) / len(group) for group in grouped.values()]


def _moves(
    pairs: Sequence[tuple[Pair, float, float]], conditions: Mapping[Pair, str], *, binary: bool
) -> tuple[list[Flip], list[Flip]]:
    """The pairs whose score rose and those whose score fell, largest changes first."""
    least = 1.0 if binary else FLIPPED
    moved = [
        Flip(pair[0], conditions[pair], before, after, flipped=abs(after - before) >= least - 1e-9)
        for pair, before, after in pairs
        if after != before
    ]
    moved.sort(key=lambda flip: (-abs(flip.after - flip.before), flip.sample, flip.condition))
    return [flip for flip in moved if flip.after > flip.before], [flip for flip in moved if flip.after < flip.before]


def _listed(moves: Sequence[Flip]) -> tuple[Flip, ...]:
    return tuple(flip for rank, flip in enumerate(moves[:_MOST_FLIPS]) if flip.flipped or rank < _LARGEST)
