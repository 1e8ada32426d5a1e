"""Two systems on the same samples: paired differences with intervals and tests, and which samples flipped.

A pair is a sample under one condition, in both runs. The difference is that of B minus A. Scores that are only 0 and 1
are tested by McNemar's exact test, with Tango's interval of the difference; others by permutation of the signs, with a
bootstrap over samples. The p-values of one comparison are corrected by Holm. Verdicts of different judges, prompts or
protocols are different measurements: such metrics are left out, with the reason, unless they are asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragstone.analysis.comparable import Reason, question_of, refused
from ragstone.analysis.pairing import Held, One, Pair, Side, read_side
from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.stats import bootstrap_mean, holm, mcnemar_exact, paired_difference, permutation_paired

__all__ = ["FLIPPED", "Comparison", "Difference", "Flip", "Reason", "Side", "compare_runs"]

FLIPPED = 0.5  # how far a score that is not 0 or 1 must move to count as a flip
_MOST_FLIPS = 50
_LARGEST = 5  # moves that are named although they are no flips
_APART = ("benchmark", "version", "data", "judge")  # of a question, what is looked at by itself


@dataclass(frozen=True)
class Flip:
    """A sample whose score moved. `condition` has what varies among the cases that are compared. `flipped`: from wrong
    to right or back, or by at least `FLIPPED`."""

    sample: str
    condition: str
    before: float
    after: float
    flipped: bool = True


@dataclass(frozen=True)
class Difference:
    """One metric: both means over the `n` pairs that both sides have a score for, the mean of the differences (B − A)
    with its 95% interval, the test and its p-value, raw and by Holm.

    `failed_a`, `failed_b`: pairs whose score failed on one side; `lacking`: pairs that are missing for that. `only_a`,
    `only_b`: pairs to which the metric applies on one side only. `gained` and `lost` are the flips for the better and
    for the worse, the largest first, and the largest other moves of scores that are not 0 or 1; `gained_total` and
    `lost_total` count flips. `samples`: how many samples the pairs are of, on which the test rests (the effective
    n); `improved` and `worsened` of them moved in the mean. `group`: the part of the cases that this is about, "" for
    all."""

    metric: str
    n: int
    a: float
    b: float
    difference: float
    low: float
    high: float
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

    @property
    def label(self) -> str:
        """The metric, and the part of the cases."""
        return f"{self.metric} ({self.group})" if self.group else self.metric

    @property
    def coverage(self) -> float:
        """The share of pairs that have both scores, of those that could have."""
        return self.n / (self.n + self.lacking) if self.n + self.lacking else 1.0

    def significant(self, level: float = 0.05) -> bool:
        """Whether the sides differ, after Holm."""
        return self.difference != 0 and self.p_holm < level

    @property
    def gain(self) -> float:
        """The difference, turned so that more is better; 0 where neither direction is."""
        return {"higher": 1.0, "lower": -1.0, "neither": 0.0}[self.better] * self.difference

    def regressed(self, by: float | None = None, level: float = 0.05) -> bool:
        """Whether B is worse: significantly so (Holm), and, with `by`, by more than that in the mean."""
        if self.gain >= 0 or not self.significant(level):
            return False
        return by is None or -self.gain > by


@dataclass(frozen=True)
class Comparison:
    """Two sides. `pairs` that were compared; `left_out`, pairs that only one side has (in A only, in B only);
    `changed`, pairs in which the sides were not asked the same. `refused` metrics with why.

    `unpaired`: metrics of which no pair has both scores, with the number of pairs that failed in A and in B.
    `one_sided`: metrics that only one side was asked for: (A only, B only). `judges`: the judge's model as the endpoint
    called it, in A and in B. `differing`: in what else the questions of the runs differ, such as the template.
    `unfinished`: sides of which cases remain that nobody has asked, as (name, asked, planned). `commands` made A and B,
    a line each."""

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


def compare_runs(
    a: Side,
    b: Side,
    *,
    metrics: Sequence[str] = (),
    on: Literal["all", "common"] = "all",
    judges: Literal["same", "different"] = "same",
    where: Mapping[str, str] | None = None,
    group_by: Sequence[str] = (),
) -> Comparison:
    """Compares two systems. `metrics`: these alone. `on="common"`: the pairs in which both were asked the same, where
    the data differ; with "all" that is refused. `where`: only cases of which the condition, or a column of the data,
    has these values. `group_by`: a row for each value of these, instead of one for all.

    Raises UsageError where they cannot be compared: different benchmarks, different data, nothing in common."""
    _check_benchmarks(a, b)
    one, other = read_side(a, where or {}, group_by), read_side(b, where or {}, group_by)
    only_a, only_b = one.scores.keys() - other.scores.keys(), other.scores.keys() - one.scores.keys()
    both = sorted(one.scores.keys() & other.scores.keys())
    unfinished = tuple(found for side in (a, b) if (found := _unfinished(side, where or {})) is not None)
    common = [pair for pair in both if one.asked[pair] == other.asked[pair]]
    changed = [pair for pair in both if one.asked[pair] != other.asked[pair]]
    if on == "all" and (only_a or only_b or changed):
        raise UsageError(_data_differ(a, b, only_a, only_b, changed, len(common), unfinished))
    if not common:
        raise UsageError(f"{a.name} and {b.name} have no sample in common: nothing can be compared.")
    names = sorted(one.metrics | other.metrics)
    if unknown := [name for name in metrics if name not in names]:
        raise UsageError(f"Neither run has scores of {unknown[0]!r}; there are: {', '.join(names)}.")
    apart = {} if judges == "different" else refused(a, b, one, other)
    asked = [name for name in dict.fromkeys(metrics or names) if name not in apart]
    made = [
        _difference(name, group, conditions, one, other, better(name, b.run.meta))
        for group, conditions in _groups(common, one)
        for name in asked
        if name in one.metrics and name in other.metrics
    ]
    rows = [row for row in made if row.n]
    rows = [replace(row, p_holm=p) for row, p in zip(rows, holm([row.p for row in rows]), strict=True)]
    return Comparison(
        a, b, tuple(rows), len(common), (len(only_a), len(only_b)),
        {name: why for name, why in apart.items() if not metrics or name in metrics},
        unpaired={row.label: (row.failed_a, row.failed_b) for row in made if not row.n},
        one_sided=(tuple(sorted({*asked} - other.metrics)), tuple(sorted({*asked} - one.metrics))),
        judges=(one.judges, other.judges), changed=len(changed), differing=_differing(a, b),
        unfinished=unfinished,
        commands=(str(a.run.meta.get("command", "")), str(b.run.meta.get("command", ""))),
    )  # fmt: skip


def _groups(common: Sequence[Pair], one: Held) -> list[tuple[str, dict[Pair, str]]]:
    """The groups by name, each with its pairs and what of their conditions varies in it."""
    found: dict[str, list[Pair]] = {}
    for pair in common:
        found.setdefault(one.groups[pair], []).append(pair)
    return [(group, one.varying(pairs)) for group, pairs in sorted(found.items())]


def _check_benchmarks(a: Side, b: Side) -> None:
    names = [question_of(side).get("benchmark") for side in (a, b)]
    if names[0] != names[1]:
        raise UsageError(f"{a.name} is a run of {names[0]!r} and {b.name} one of {names[1]!r}: they share no question.")


def _unfinished(side: Side, where: Mapping[str, str]) -> tuple[str, int, int] | None:
    """Of a side of which cases remain: its name, how many were asked and planned; of `where` alone, where the plan
    knows these names."""
    if (plan := side.run.plans().get(side.system)) is None:
        return None
    asked, total = plan.asked, plan.total
    if where and all(any(name in cell.condition for cell in plan.cells) for name in where):
        cells = [
            cell for cell in plan.cells if all(str(cell.condition.get(name)) == where[name] for name in where)
        ]  # fmt: skip
        asked, total = sum(cell.asked for cell in cells), sum(cell.total for cell in cells)
    return (side.name, asked, total) if asked < total else None


def _differing(a: Side, b: Side) -> tuple[str, ...]:
    old, new = question_of(a), question_of(b)
    return tuple(key for key in sorted(old.keys() | new.keys()) if key not in _APART and old.get(key) != new.get(key))


def _data_differ(
    a: Side, b: Side, only_a: set[Pair], only_b: set[Pair], changed: Sequence[Pair], common: int,
    unfinished: Sequence[tuple[str, int, int]],
) -> str:  # fmt: skip
    named = [
        f"{len(only)} only in {side.name} ({min(only)[0]!r}…)" for side, only in ((a, only_a), (b, only_b)) if only
    ]
    if changed:
        named.append(f"{len(changed)} with another question, reference or given passages ({changed[0][0]!r}…)")
    told = f"The data differ: {' and '.join(named)}"
    for name, asked, total in unfinished:
        told += f"; {name}: {asked:,} of {total:,}, unfinished"
    return f"{told}; {common} in both. Compare what both have with --on common." if common else f"{told}, none in both."


def _difference(
    name: str,
    group: str,
    conditions: Mapping[Pair, str],
    one: Held,
    other: Held,
    direction: Literal["higher", "lower", "neither"],
) -> Difference:
    """Of one metric in these pairs; with `n` 0, and no number that means anything, where no pair has both scores."""
    pairs: list[tuple[Pair, float, float]] = []
    failed_a = failed_b = lacking = only_a = only_b = 0
    nothing = One(None, False)
    for pair in conditions:
        before, after = one.scores[pair].get(name, nothing), other.scores[pair].get(name, nothing)
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
        return empty
    a, b = [value for _, value, _ in pairs], [value for _, _, value in pairs]
    samples = [pair[0] for pair, _, _ in pairs]
    test, p, low, high = _tested(samples, a, b)
    up, down = _moves(pairs, conditions, binary={*a, *b} <= {0.0, 1.0})
    gained, lost = (down, up) if direction == "lower" else (up, down)
    means = list(zip(_by_sample(samples, a), _by_sample(samples, b), strict=True))
    higher, lower = sum(y > x for x, y in means), sum(y < x for x, y in means)
    improved, worsened = (lower, higher) if direction == "lower" else (higher, lower)
    return replace(
        empty, n=len(pairs), a=sum(a) / len(a), b=sum(b) / len(b), difference=(sum(b) - sum(a)) / len(a),
        low=low, high=high, test=test, p=p, p_holm=p, gained=_named(gained), lost=_named(lost),
        gained_total=sum(flip.flipped for flip in gained), lost_total=sum(flip.flipped for flip in lost),
        samples=len(means), improved=improved, worsened=worsened,
    )  # fmt: skip


def _tested(
    samples: Sequence[str], a: Sequence[float], b: Sequence[float]
) -> tuple[Literal["mcnemar", "permutation"], float, float, float]:
    """The test that suits these scores, its p-value, and the interval of the mean difference. What is exchangeable is a
    sample, not each of its conditions: where a sample has several pairs, its mean takes part in the test."""
    several = len(set(samples)) < len(samples)
    if {*a, *b} <= {0.0, 1.0} and not several:
        only_a, only_b = (sum(x > y for x, y in zip(*each, strict=True)) for each in ((a, b), (b, a)))
        return "mcnemar", mcnemar_exact(only_a, only_b), *paired_difference(only_a, only_b, len(a))
    p = permutation_paired(_by_sample(samples, a), _by_sample(samples, b))
    differences = [after - before for before, after in zip(a, b, strict=True)]
    return "permutation", p, *bootstrap_mean(differences, groups=samples if several else None)


def _by_sample(samples: Sequence[str], values: Sequence[float]) -> list[float]:
    held: dict[str, list[float]] = {}
    for sample, value in zip(samples, values, strict=True):
        held.setdefault(sample, []).append(value)
    return [sum(each) / len(each) for each in held.values()]


def _moves(
    pairs: Sequence[tuple[Pair, float, float]], conditions: Mapping[Pair, str], *, binary: bool
) -> tuple[list[Flip], list[Flip]]:
    """Those that went up and those that went down, the largest first."""
    least = 1.0 if binary else FLIPPED
    moved = [
        Flip(pair[0], conditions[pair], before, after, flipped=abs(after - before) >= least - 1e-9)
        for pair, before, after in pairs
        if after != before
    ]
    moved.sort(key=lambda flip: (-abs(flip.after - flip.before), flip.sample, flip.condition))
    return [flip for flip in moved if flip.after > flip.before], [flip for flip in moved if flip.after < flip.before]


def _named(moves: Sequence[Flip]) -> tuple[Flip, ...]:
    return tuple(flip for place, flip in enumerate(moves[:_MOST_FLIPS]) if flip.flipped or place < _LARGEST)
