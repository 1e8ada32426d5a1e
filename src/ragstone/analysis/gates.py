"""Gates: does a metric of a run reach its threshold, as far as the samples can tell?

By `interval` a gate fails only where the 95% interval of the mean lies wholly on the wrong side, warns where it holds
the threshold, and passes otherwise; by `point` the mean alone decides. Where too few samples were scored, neither says
anything: the gate is `unknown`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.stats import mean_interval
from ragstone.types import Run

__all__ = ["Gate", "GateResult", "Verdict", "check_gates", "gates_of"]

Verdict = Literal["passed", "warned", "failed", "unknown"]
_DECIDED = 5  # samples that a result names


@dataclass(frozen=True)
class Gate:
    """A threshold for the mean of a metric: at least (`side` "under": it fails under it) or at most ("over")."""

    metric: str
    threshold: float
    side: Literal["under", "over"] = "under"


@dataclass(frozen=True)
class GateResult:
    """What became of a gate, for one system. `worst` are the samples that decided: (sample id, value), the worst first.
    `coverage` is the share of scores that could be had; those that are not applicable count as had."""

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
    reason: str

    @property
    def line(self) -> str:
        """One line for a person."""
        sign = "≥" if self.gate.side == "under" else "≤"
        told = "no score" if self.mean is None else f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"
        return (
            f"{self.verdict}: {self.gate.metric} {sign} {self.gate.threshold:g}: {told}, "
            f"{self.scored} of {self.total} scored. {self.reason}"
        )


def check_gates(
    run: Run,
    gates: Sequence[Gate],
    *,
    mode: Literal["interval", "point"] = "interval",
    min_coverage: float = 0.95,
) -> list[GateResult]:
    """Each gate for each system of the run, in order. Raises UsageError for a metric that the run has not."""
    values: dict[tuple[str, str], list[tuple[str, float]]] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    names: set[str] = set()
    systems = list(run.systems)
    wanted = {gate.metric for gate in gates}
    for record in run.records():
        names.update(record.scores)
        missing = record.error is not None
        for metric in wanted:
            score = record.scores.get(metric)
            count = counts.setdefault((record.system_id, metric), [0, 0])
            if score is None and not missing:
                continue
            count[1] += 1
            if score is None or score.status == "failed":
                count[0] += 1
            elif score.value is not None:
                values.setdefault((record.system_id, metric), []).append((record.case.sample.id, score.value))
    if unknown := sorted(wanted - names):
        raise UsageError(
            f"The run has no scores of {unknown[0]!r}, for which there is a gate; it has: {', '.join(sorted(names))}."
        )
    return [
        _result(gate, system, values.get((system, gate.metric), []), counts.get((system, gate.metric), [0, 0]),
                mode, min_coverage)
        for system in systems
        for gate in gates
    ]  # fmt: skip


def _result(
    gate: Gate,
    system: str,
    scored: Sequence[tuple[str, float]],
    counts: Sequence[int],
    mode: Literal["interval", "point"],
    min_coverage: float,
) -> GateResult:
    failed, total = counts
    coverage = 1 - failed / total if total else 0.0
    mean = low = high = None
    if scored:
        values = [value for _, value in scored]
        samples = [sample for sample, _ in scored]
        mean = sum(values) / len(values)
        low, high = mean_interval(values, groups=samples if len(set(samples)) < len(samples) else None)
    verdict, reason = _verdict(gate, mean, low, high, coverage, mode, min_coverage)
    without = total - failed - len(scored)
    if scored and without > (1 - min_coverage) * total:
        reason += f" {without} of {total} are not applicable: the mean says nothing of them."
    sign = 1 if gate.side == "under" else -1
    beyond = [(sample, value) for sample, value in _by_sample(scored) if sign * (value - gate.threshold) < 0]
    worst = tuple(sorted(beyond, key=lambda one: (sign * one[1], one[0]))[:_DECIDED])
    return GateResult(gate, system, verdict, mean, low, high, len(scored), total, coverage, worst, reason)


def _by_sample(scored: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The mean of each sample, in the order in which they came: one name each, however often it was judged."""
    held: dict[str, list[float]] = {}
    for sample, value in scored:
        held.setdefault(sample, []).append(value)
    return [(sample, sum(values) / len(values)) for sample, values in held.items()]


def _verdict(
    gate: Gate,
    mean: float | None,
    low: float | None,
    high: float | None,
    coverage: float,
    mode: str,
    min_coverage: float,
) -> tuple[Verdict, str]:
    if mean is None or low is None or high is None:
        return "unknown", "Nothing was scored."
    if coverage < min_coverage:
        return "unknown", f"Only {coverage:.1%} could be scored, less than {min_coverage:.1%}: run the command again."
    under = gate.side == "under"
    near, far = (high, low) if under else (low, high)  # the end on the side of the good values, and the other

    def bad(value: float) -> bool:
        return value < gate.threshold if under else value > gate.threshold

    if mode == "point":
        return ("failed", "The mean decides.") if bad(mean) else ("passed", "The mean decides.")
    if bad(near):
        return "failed", "The whole interval is on the wrong side."
    if bad(far):
        return "warned", "The interval holds the threshold: more samples would tell."
    return "passed", "The whole interval is on the right side."


def gates_of(under: Mapping[str, float], over: Mapping[str, float]) -> list[Gate]:
    """Gates from thresholds by metric. UsageError for one that is set on the side where all good values lie."""
    for metric in under:
        if better(metric) == "lower":
            raise UsageError(
                f"Lower values of {metric} are the better ones: write --fail-over {metric}={under[metric]}."
            )
    return [
        *(Gate(metric, threshold) for metric, threshold in under.items()),
        *(Gate(metric, threshold, "over") for metric, threshold in over.items()),
    ]
