"""Two systems on the same samples: paired differences with intervals and tests, and which samples flipped.

A pair is a sample under one condition, in both runs. The difference is that of B minus A; its interval is a bootstrap
over samples. Scores that are only 0 and 1 are tested by McNemar's exact test, others by permutation of the signs; the
p-values of one comparison are corrected by Holm. Verdicts of different judges, prompts or protocols are different
measurements: such metrics are left out, with the reason, unless they are asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.stats import bootstrap_mean, holm, mcnemar_exact, permutation_paired
from ragstone.types import Run, Score

__all__ = ["Comparison", "Difference", "Flip", "Side", "compare_runs"]

Pair = tuple[str, str]  # sample id, condition as text

_JUDGED_QUESTION = ("model", "protocol", "verify", "budget", "language", "embedder")
_FLIPPED = 0.5  # how far a score that is not 0 or 1 must move to count as a flip
_MOST_FLIPS = 50


@dataclass(frozen=True)
class Side:
    """One system of one run. `name` is what it is called in tables."""

    run: Run
    system: str
    name: str


@dataclass(frozen=True)
class Flip:
    """A sample whose score changed: from wrong to right or back, or by half of the scale."""

    sample: str
    condition: str
    before: float
    after: float


@dataclass(frozen=True)
class Difference:
    """One metric: both means over the `n` pairs that both sides have a score for, the mean of the differences (B − A)
    with its 95% interval, the test and its p-value, raw and by Holm. `failed_a`, `failed_b`: scores that failed on one
    side. `gained` and `lost` are flips for the better and for the worse."""

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

    @property
    def gain(self) -> float:
        """The difference, turned so that more is better; 0 where neither direction is."""
        return {"higher": 1.0, "lower": -1.0, "neither": 0.0}[self.better] * self.difference

    def regressed(self, by: float | None = None, level: float = 0.05) -> bool:
        """Whether B is worse: significantly so (Holm), and, with `by`, by more than that in the mean."""
        if self.gain >= 0 or self.p_holm >= level:
            return False
        return by is None or -self.gain > by


@dataclass(frozen=True)
class Comparison:
    """Two sides. `left_out` has pairs that only one side has: (in A only, in B only); `refused` metrics with why.
    `unpaired`: metrics of which no pair has both scores, with the number of pairs that failed in A and in B.
    `one_sided`: metrics that only one side was asked for: (A only, B only). `judges`: the judge's model as the endpoint
    called it, in A and in B."""

    a: Side
    b: Side
    rows: tuple[Difference, ...]
    pairs: int
    left_out: tuple[int, int]
    refused: Mapping[str, str] = field(default_factory=dict)
    unpaired: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    one_sided: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    judges: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def compare_runs(
    a: Side,
    b: Side,
    *,
    metrics: Sequence[str] = (),
    on: Literal["all", "common"] = "all",
    judges: Literal["same", "different"] = "same",
    group: Mapping[str, str] | None = None,
) -> Comparison:
    """Compares two systems. `metrics`: these alone. `on="common"`: the samples that both have, where the data differ;
    with "all" that is refused. `group`: only cases whose condition has these values.

    Raises UsageError where they cannot be compared: different benchmarks, different data, nothing in common."""
    (one, judges_a), (other, judges_b) = _scores(a, group), _scores(b, group)
    _check_benchmarks(a, b)
    only_a, only_b = one.keys() - other.keys(), other.keys() - one.keys()
    if (only_a or only_b) and on == "all":
        raise UsageError(_data_differ(a, b, only_a, only_b, len(one.keys() & other.keys())))
    common = sorted(one.keys() & other.keys())
    if not common:
        raise UsageError(f"{a.name} and {b.name} have no sample in common: nothing can be compared.")
    in_a, in_b = ({name for scores in held.values() for name in scores} for held in (one, other))
    names = sorted(in_a | in_b)
    if unknown := [name for name in metrics if name not in names]:
        raise UsageError(f"Neither run has scores of {unknown[0]!r}; there are: {', '.join(names)}.")
    refused = {} if judges == "different" else _refused(a, b, one, other)
    asked = [name for name in dict.fromkeys(metrics or names) if name not in refused]
    wanted = [name for name in asked if name in in_a and name in in_b]
    made = {name: _difference(name, common, one, other, better(name, b.run.meta)) for name in wanted}
    rows = [row for row in made.values() if row.n]
    adjusted = holm([row.p for row in rows]) if rows else []
    rows = [replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]
    told = {name: why for name, why in refused.items() if not metrics or name in metrics}
    return Comparison(
        a, b, tuple(rows), len(common), (len(only_a), len(only_b)), told,
        unpaired={row.metric: (row.failed_a, row.failed_b) for row in made.values() if not row.n},
        one_sided=(tuple(sorted({*asked} - in_b)), tuple(sorted({*asked} - in_a))),
        judges=(judges_a, judges_b),
    )  # fmt: skip


@dataclass(frozen=True)
class _One:
    value: float | None
    failed: bool
    judged: bool


def _scores(side: Side, group: Mapping[str, str] | None) -> tuple[dict[Pair, dict[str, _One]], tuple[str, ...]]:
    """The scores by pair and metric, and the judge's models as the endpoint called them. Several judgements of one
    answer (`--repeat`) are one score, their mean, however many the other side has."""
    held: dict[Pair, dict[str, list[Score]]] = {}
    judges: set[str] = set()
    for record in side.run.records(system=side.system):
        condition = record.case.condition
        columns = record.case.sample.meta.get("columns", {})
        if group and any(str(condition.get(name, columns.get(name))) != value for name, value in group.items()):
            continue
        told = ", ".join(
            f"{name}={condition[name]}" for name in sorted(condition) if name not in ("documents", "judge_repeat")
        )
        pair = held.setdefault((record.case.sample.id, told), {})
        for name, score in record.scores.items():
            pair.setdefault(name, []).append(score)
            judges.update(
                step["model"] for step in _verdicts(score.evidence) if isinstance(step, Mapping) and step.get("model")
            )
    found = {pair: {name: _one(scores) for name, scores in named.items()} for pair, named in held.items()}
    return found, tuple(sorted(judges))


def _one(scores: Sequence[Score]) -> _One:
    values = [score.value for score in scores if score.value is not None]
    return _One(
        sum(values) / len(values) if values else None,
        not values and any(score.status == "failed" for score in scores),
        any(_verdicts(score.evidence) for score in scores),
    )


def _verdicts(evidence: Any) -> list[Any]:
    """The requests to a judge that a score rests on."""
    found = evidence.get("verdicts") if isinstance(evidence, Mapping) else None
    return found if isinstance(found, list) else []


def _question(side: Side) -> Mapping[str, Any]:
    question = side.run.meta.get("question", {})
    return question if isinstance(question, Mapping) else {}


def _check_benchmarks(a: Side, b: Side) -> None:
    names = [_question(side).get("benchmark") for side in (a, b)]
    if names[0] != names[1]:
        raise UsageError(f"{a.name} is a run of {names[0]!r} and {b.name} one of {names[1]!r}: they share no question.")


def _data_differ(a: Side, b: Side, only_a: set[Pair], only_b: set[Pair], common: int) -> str:
    named = [
        f"{len(only)} only in {side.name} ({min(only)[0]!r}…)" for side, only in ((a, only_a), (b, only_b)) if only
    ]
    return (
        f"The data differ: {' and '.join(named)}; {common} in both. Compare what both have with --on common."
        if common
        else f"The data differ: {' and '.join(named)}, and none in both."
    )


def _judge(side: Side) -> Mapping[str, Any]:
    judge = _question(side).get("judge") or side.run.meta.get("judge") or {}
    return judge if isinstance(judge, Mapping) else {}


def _refused(
    a: Side, b: Side, one: Mapping[Pair, Mapping[str, _One]], other: Mapping[Pair, Mapping[str, _One]]
) -> dict[str, str]:
    """Judged metrics whose verdicts are not comparable, and versions that differ, each with why."""
    found: dict[str, str] = {}
    versions = [side.run.meta.get("metrics", {}) for side in (a, b)]
    for name in versions[0].keys() & versions[1].keys():
        if versions[0][name] != versions[1][name]:
            found[name] = f"version {versions[0][name]} there, {versions[1][name]} here"
    why = _judges_differ(_judge(a), _judge(b))
    if why:
        judged = {
            name for held in (one, other) for scores in held.values() for name, score in scores.items() if score.judged
        }
        found |= dict.fromkeys(sorted(judged), why)
    return found


def _judges_differ(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    for key in _JUDGED_QUESTION:
        if key in a and key in b and a[key] != b[key]:
            return f"the judge's {key} differs: {a[key]!r} and {b[key]!r}"
    for key in ("prompts", "rubrics"):
        old, new = a.get(key, {}), b.get(key, {})
        differing = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        if differing:
            return f"the judge's {key} differ: {', '.join(differing[:5])}"
    return ""


def _difference(
    name: str,
    common: Sequence[Pair],
    one: Mapping[Pair, Mapping[str, _One]],
    other: Mapping[Pair, Mapping[str, _One]],
    direction: Literal["higher", "lower", "neither"],
) -> Difference:
    """Of one metric; with `n` 0, and no number that means anything, where no pair has both scores."""
    pairs: list[tuple[Pair, float, float]] = []
    failed = [0, 0]
    for pair in common:
        before, after = one[pair].get(name), other[pair].get(name)
        failed[0] += before is not None and before.failed
        failed[1] += after is not None and after.failed
        if before is not None and after is not None and before.value is not None and after.value is not None:
            pairs.append((pair, before.value, after.value))
    if not pairs:
        return Difference(name, 0, 0, 0, 0, 0, 0, "permutation", 1, 1, direction, failed[0], failed[1])
    a, b = [value for _, value, _ in pairs], [value for _, _, value in pairs]
    differences = [after - before for _, before, after in pairs]
    samples = [pair[0] for pair, _, _ in pairs]
    low, high = bootstrap_mean(differences, groups=samples if len(set(samples)) < len(samples) else None)
    binary = {*a, *b} <= {0.0, 1.0}
    if binary and len(set(samples)) == len(samples):
        test: Literal["mcnemar", "permutation"] = "mcnemar"
        p = mcnemar_exact(sum(x > y for x, y in zip(a, b, strict=True)), sum(y > x for x, y in zip(a, b, strict=True)))
    else:
        test = "permutation"
        means = [_by_sample(samples, values) for values in (a, b)]
        p = permutation_paired(means[0], means[1])
    up, down = _flips(pairs, binary)
    gained, lost = (down, up) if direction == "lower" else (up, down)
    return Difference(
        metric=name, n=len(pairs), a=sum(a) / len(a), b=sum(b) / len(b),
        difference=sum(differences) / len(differences), low=low, high=high, test=test, p=p, p_holm=p, better=direction,
        failed_a=failed[0], failed_b=failed[1], gained=tuple(gained[:_MOST_FLIPS]), lost=tuple(lost[:_MOST_FLIPS]),
        gained_total=len(gained), lost_total=len(lost),
    )  # fmt: skip


def _by_sample(samples: Sequence[str], values: Sequence[float]) -> list[float]:
    """The mean of each sample: what is exchangeable is a sample, not each of its conditions."""
    held: dict[str, list[float]] = {}
    for sample, value in zip(samples, values, strict=True):
        held.setdefault(sample, []).append(value)
    return [sum(each) / len(each) for each in held.values()]


def _flips(pairs: Sequence[tuple[Pair, float, float]], binary: bool) -> tuple[list[Flip], list[Flip]]:
    """Those that went up and those that went down, the largest first."""
    least = 1.0 if binary else _FLIPPED
    moved = [Flip(*pair, before, after) for pair, before, after in pairs if abs(after - before) >= least]
    moved.sort(key=lambda flip: (-abs(flip.after - flip.before), flip.sample, flip.condition))
    return [flip for flip in moved if flip.after > flip.before], [flip for flip in moved if flip.after < flip.before]
