"""Gates: whether a metric of a run reaches its threshold, as far as the samples can tell.

In mode `interval` a gate fails only if the whole 95% interval of the mean is on the wrong side, warns if the interval
contains the threshold, and passes otherwise; in mode `point` the mean decides. Where too few samples were scored, the
gate is `unknown`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from ragstone.errors import UnknownName, UsageError
from ragstone.messages import messages
from ragstone.metrics import better, find_metric
from ragstone.metrics.catalogue import entry
from ragstone.stats import Estimate
from ragstone.types import Plan, Run

__all__ = ["Gate", "GateResult", "Verdict", "check_gates", "check_thresholds", "gates_of"]

Verdict = Literal["passed", "warned", "failed", "unknown"]
GateReason: TypeAlias = tuple[str, Mapping[str, Any]]  # a key of the messages, and its values
_MOST_WORST = 5  # samples that a result names


@dataclass(frozen=True)
class Gate:
    """A threshold for the mean of a metric. `side` "under" fails below the threshold, "over" above it."""

    metric: str
    threshold: float
    side: Literal["under", "over"] = "under"


@dataclass(frozen=True)
class GateResult:
    """The result of a gate for one system. `worst` has the deciding samples as (sample id, value), the worst first.
    `coverage` is the share of the planned scores (`total`) that are available: scores that are not applicable count as
    available, cases without an answer or not yet asked or scored do not. `only_system`: the run has no other system."""

    gate: Gate
    system: str
    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None
    scored: int
    total: int
    coverage: float
    worst: tuple[tuple[str, float], ...]
    reasons: tuple[GateReason, ...]
    only_system: bool = True

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in English."""
        return self.reason_in("en")

    @property
    def line(self) -> str:
        """The result in one line of English text."""
        return self.line_in("en")

    def reason_in(self, language: str) -> str:
        """`reason` in a language."""
        texts = messages(__name__, language)
        return texts["join"].join(texts[key].format(**values) for key, values in self.reasons)

    def line_in(self, language: str) -> str:
        """`line` in a language."""
        texts = messages(__name__, language)
        mean = "no_score" if self.mean is None else "mean"
        return texts["line"].format(
            verdict=texts[f"verdict.{self.verdict}"],
            system="" if self.only_system else texts["system"].format(name=self.system),
            metric=self.gate.metric, sign="≥" if self.gate.side == "under" else "≤", threshold=self.gate.threshold,
            mean=texts[mean].format(mean=self.mean, low=self.low, high=self.high), scored=self.scored,
            total=self.total, reason=self.reason_in(language),
        )  # fmt: skip


def check_gates(
    run: Run,
    gates: Sequence[Gate],
    *,
    mode: Literal["interval", "point"] = "interval",
    min_coverage: float = 0.95,
    system: str | None = None,
) -> list[GateResult]:
    """Each gate for each system of the run, or for `system` only, in order. Raises UsageError for a metric or a system
    that the run does not have."""
    if mode not in ("interval", "point"):
        raise UsageError(f"Unknown gate mode {mode!r}: choose interval or point.")
    if not 0 <= min_coverage <= 1:
        raise UsageError(f"The minimum coverage must be from 0 to 1, not {min_coverage!r}.")
    values: dict[tuple[str, str], list[tuple[str, float]]] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    names: set[str] = set()
    systems = list(run.systems)
    if system is not None and system not in systems:
        raise UnknownName("system", system, systems)
    metrics = {gate.metric for gate in gates}
    for record in run.records(system=system):
        names.update(record.scores)
        for metric in metrics:
            score = record.scores.get(metric)
            count = counts.setdefault((record.system_id, metric), [0, 0])
            count[1] += 1
            if score is None or score.status == "failed":
                count[0] += 1
            elif score.value is not None:
                values.setdefault((record.system_id, metric), []).append((record.case.sample.id, score.value))
    plans = run.plans()
    for name, plan in plans.items():
        names.update(plan.unscored)
        for metric in metrics if system in (None, name) else ():
            count = counts.setdefault((name, metric), [0, 0])
            count[0] += plan.total - plan.asked
            count[1] += plan.total - plan.asked
    unknown = sorted(metrics - names)
    if unknown and (names or not any(plan.unfinished for plan in plans.values())):
        raise UsageError(
            f"The run has no scores of {unknown[0]!r}, which has a gate; available: {', '.join(sorted(names))}."
        )
    return [
        replace(
            _result(
                gate, name, values.get((name, gate.metric), []), counts.get((name, gate.metric), [0, 0]), mode,
                min_coverage, plans.get(name),
            ),
            only_system=len(systems) == 1,
        )
        for name in (systems if system is None else [system])
        for gate in gates
    ]  # fmt: skip


def _result(
    gate: Gate,
    system: str,
    scored: Sequence[tuple[str, float]],
    counts: Sequence[int],
    mode: Literal["interval", "point"],
    min_coverage: float,
    plan: Plan | None,
) -> GateResult:
    failed, total = counts
    coverage = 1 - failed / total if total else 0.0
    mean = Estimate.of_mean([value for _, value in scored], groups=[sample for sample, _ in scored], total=total)
    verdict, reason = _verdict(gate, mean, coverage, mode, min_coverage)
    reasons = [reason]
    if plan is not None and (plan.asked < plan.total or gate.metric in plan.unscored):
        done = plan.asked - plan.unscored.get(gate.metric, 0)
        reasons.insert(0, ("unfinished", {"scored": done, "total": plan.total}))
    not_applicable = total - failed - len(scored)
    if scored and not_applicable > (1 - min_coverage) * total:
        reasons.append(("not_applicable", {"n": not_applicable, "total": total}))
    sign = 1 if gate.side == "under" else -1
    beyond = [(sample, value) for sample, value in _by_sample(scored) if sign * (value - gate.threshold) < 0]
    worst = tuple(sorted(beyond, key=lambda item: (sign * item[1], item[0]))[:_MOST_WORST])
    return GateResult(gate, system, verdict, mean.value, mean.low, mean.high, mean.n, total, coverage, worst,
                      tuple(reasons))  # fmt: skip


def _by_sample(scored: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The mean of each sample over its conditions and judgements, in order of first appearance."""
    grouped: dict[str, list[float]] = {}
    for sample, value in scored:
        grouped.setdefault(sample, []).append(value)
    return [(sample, sum(values) / len(values)) for sample, values in grouped.items()]


def _verdict(
    gate: Gate,
    mean: Estimate,
    coverage: float,
    mode: str,
    min_coverage: float,
) -> tuple[Verdict, GateReason]:
    if mean.known is None:
        return "unknown", ("nothing", {})
    value, low, high = mean.known
    if coverage < min_coverage:
        return "unknown", ("coverage", {"coverage": coverage, "least": min_coverage})
    under = gate.side == "under"
    near, far = (high, low) if under else (low, high)  # the end nearer to the good values, and the other

    def bad(bound: float) -> bool:
        return bound < gate.threshold if under else bound > gate.threshold

    if mode == "point":
        return "failed" if bad(value) else "passed", ("mean_decides", {})
    if bad(near):
        return "failed", ("wrong_side", {})
    if bad(far):
        return "warned", ("contains", {})
    return "passed", ("right_side", {})


def gates_of(
    under: Mapping[str, float], over: Mapping[str, float], meta: Mapping[str, Any] | None = None
) -> list[Gate]:
    """Gates from thresholds by metric. `meta`: that of the run, which records the better direction of the user's own
    metrics. Raises UsageError for a gate that would fail on good values, and for one that no value can reach."""
    for thresholds in (under, over):
        check_thresholds(thresholds)
    for thresholds, wrong, option in ((under, "lower", "--fail-over"), (over, "higher", "--fail-under")):
        for metric, threshold in thresholds.items():
            # A metric with both a minimum and a maximum is meant to have both.
            both = metric in under and metric in over
            if better(metric, meta) == wrong and not both and _is_known(metric, meta):
                raise UsageError(
                    f"{wrong.capitalize()} values of {metric} are better: write {option} {metric}={threshold}."
                )
    return [
        *(Gate(metric, threshold) for metric, threshold in under.items()),
        *(Gate(metric, threshold, "over") for metric, threshold in over.items()),
    ]


def check_thresholds(thresholds: Mapping[str, Any]) -> None:
    """Raise UsageError for a threshold that is not a finite number, or is outside the range of the metric."""
    for metric, threshold in thresholds.items():
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold):
            raise UsageError(f"The threshold of {metric} is {threshold!r}; expected a number, such as {metric}=0.8.")
        if not 0 <= threshold <= 1 and _is_share(metric):
            percent = f"; {threshold:g}% is {metric}={threshold / 100:g}" if 1 < threshold <= 100 else ""
            raise UsageError(f"The threshold {metric}={threshold:g} is out of range: it must be from 0 to 1{percent}.")


def _is_share(metric: str) -> bool:
    """Whether the metric is known to range from 0 to 1."""
    try:
        return entry(metric).range.startswith(("0 to 1", "0 or 1"))
    except UsageError:
        return False


def _is_known(metric: str, meta: Mapping[str, Any] | None) -> bool:
    """Whether the better direction is known, from the run or the registry."""
    directions = (meta or {}).get("better")
    if isinstance(directions, Mapping) and metric in directions:
        return True
    try:
        find_metric(metric)
    except UsageError:
        return False
    return True
