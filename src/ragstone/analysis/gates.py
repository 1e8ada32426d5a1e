"""Gates: whether a metric of a run reaches its threshold, as far as the samples can tell.

In mode `interval` a gate fails only if the whole 95% interval of the mean is on the wrong side, warns if the interval
contains the threshold, and passes otherwise. The interval is exact, so a system right at its threshold fails in at most
about 2.5% of runs. With fewer than `LEAST` samples the gate always warns. In mode `point` the mean decides. A gate with
too few scores is `unknown`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import check_selection, matches, spelled
from ragstone.display import may_be_made, own_name
from ragstone.errors import UnknownName, UsageError
from ragstone.messages import messages
from ragstone.metrics import better, installed_metric, is_own
from ragstone.metrics.catalogue import installed_entry
from ragstone.metrics.elements import element_scores
from ragstone.plans import Plan
from ragstone.stats import Interval, decisive_interval
from ragstone.types import Record, Run, Score

Verdict = Literal["passed", "warned", "failed", "unknown"]
GateReason: TypeAlias = tuple[str, Mapping[str, Any]]  # a key of the messages, and its values
LEAST = 8  # samples; with fewer, intervals of scores other than 0 and 1 miss too often (bench/coverage)
_MOST_WORST = 5  # samples named in a result


@dataclass(frozen=True)
class Gate:
    """A threshold for the mean of a metric. `side` "under" fails below the threshold, "over" above it. `where`: only
    cases with these values of their condition, of a column of the data or of a derived field (`analysis.fields`):
    {"ability": "noise"}, {"question_words": "12..20"}."""

    metric: str
    threshold: float
    side: Literal["under", "over"] = "under"
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The metric, and the selected cases if they are not all."""
        return f"{self.metric} ({spelled(self.where)})" if self.where else self.metric


@dataclass(frozen=True)
class GateResult:
    """The result of a gate for one system. Of the planned scores (`total`), `scored` have a value, `not_applicable`
    cannot have one, `unsure` are of a rule that cannot tell, `failed` have none because of an error, and the rest is
    not yet asked or scored. `coverage`: the share of the first two. `worst`: the deciding samples as (sample id,
    value), worst first; `worst_names`: what people know them by. `only_system`: the run has no other system."""

    gate: Gate
    system: str
    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None
    scored: int
    not_applicable: int
    failed: int
    total: int
    coverage: float
    worst: tuple[tuple[str, float], ...]
    reason_key: GateReason
    only_system: bool = True
    unsure: int = 0
    worst_names: tuple[str, ...] = ()

    def decided_by(self) -> list[str]:
        """The deciding samples with their values: "hr-7 (0.20)"."""
        return [f"{name} ({value:.2f})" for name, (_, value) in zip(self.worst_names, self.worst, strict=True)]

    @property
    def reason(self) -> str:
        """The reason for the verdict, in English."""
        return self.reason_in("en")

    @property
    def line(self) -> str:
        """The result in one line of English text."""
        return self.line_in("en")

    def reason_in(self, language: str) -> str:
        """`reason` in a language."""
        key, values = self.reason_key
        return messages(__name__, language)[key].format(**values)

    def line_in(self, language: str) -> str:
        """`line` in a language."""
        texts = messages(__name__, language)
        mean = "no_score" if self.mean is None else "no_interval" if self.low is None else "mean"
        counts = {"not_applicable": self.not_applicable, "unsure": self.unsure, "errors": self.failed}
        counts["unfinished"] = self.total - self.scored - sum(counts.values())
        return texts["line"].format(
            verdict=texts[f"verdict.{self.verdict}"],
            system="" if self.only_system else texts["system"].format(name=self.system),
            subject=self.gate.subject, sign="≥" if self.gate.side == "under" else "≤", threshold=self.gate.threshold,
            mean=texts[mean].format(mean=self.mean, low=self.low, high=self.high), scored=self.scored,
            total=self.total, rest="".join(texts[name].format(n=n) for name, n in counts.items() if n),
            reason=self.reason_in(language),
        )  # fmt: skip


def check_gates(
    run: Run,
    gates: Sequence[Gate],
    *,
    mode: Literal["interval", "point"] = "interval",
    min_coverage: float = 0.95,
    system: str | None = None,
) -> list[GateResult]:
    """Checks each gate for each system of the run, or only for `system`; results in order. Raises UsageError for a
    metric, a system or cases that the run does not have."""
    if mode not in ("interval", "point"):
        raise UsageError(f"Unknown gate mode {mode!r}: choose interval or point.")
    if not 0 <= min_coverage <= 1:
        raise UsageError(f"The minimum coverage must be from 0 to 1, not {min_coverage!r}.")
    systems, plans = list(run.systems), run.plans()
    if system is not None and system not in systems:
        raise UnknownName("system", system, systems)
    chosen = systems if system is None else [system]
    counts_by_gate = {(name, number): _ScoreCounts() for name in chosen for number in range(len(gates))}
    metrics: set[str] = set()
    values_by_name: dict[str, dict[str, None]] = {}
    fields = fields_of(run, {name for gate in gates for name in gate.where})
    for record in run.records(system=system, texts=False):
        scores = {**record.scores, **element_scores(record.scores)}
        metrics.update(scores)
        values = fields(record.case)
        for name, value in values.items():
            values_by_name.setdefault(name, {})[value] = None
        for number, gate in enumerate(gates):
            if matches(values, gate.where):
                counts_by_gate[record.system_id, number].add(record, scores.get(gate.metric))
    for name in plans.keys() & set(chosen):
        metrics.update(plans[name].unscored)
        for number, gate in enumerate(gates):
            counts_by_gate[name, number].total += _unasked(plans[name], gate.where)
    unfinished = any(plan.unfinished for plan in plans.values())
    unknown = sorted({gate.metric for gate in gates} - metrics)
    if unknown and (metrics or not unfinished):
        raise _no_scores(unknown[0], metrics)
    for (name, number), counts in counts_by_gate.items():
        if gates[number].where and not counts.total:
            check_selection(name, gates[number].where, (), values_by_name, empty=True)
    results = [
        _result(gates[number], name, counts, mode, min_coverage, only_system=len(systems) == 1)
        for (name, number), counts in counts_by_gate.items()
    ]
    names = _names(run, {sample for result in results for sample, _ in result.worst}, system)
    return [replace(result, worst_names=tuple(names[sample] for sample, _ in result.worst)) for result in results]


def _names(run: Run, samples: set[str], system: str | None) -> Mapping[str, str]:
    """What people know these samples by; the run is read for those whose id they did not give."""
    names = {sample: sample for sample in samples}
    unnamed = set(filter(may_be_made, samples))
    for record in run.records(system=system, texts=False) if unnamed else ():
        sample = record.case.sample
        if sample.id in unnamed:
            names[sample.id] = own_name(sample.id, sample.question)
            unnamed.discard(sample.id)
            if not unnamed:
                break
    return names


def _no_scores(name: str, metrics: Iterable[str]) -> UsageError:
    if names := ", ".join(sorted(metrics)):
        return UsageError(f"The run has no scores of {name!r}, which has a gate; available: {names}.")
    return UsageError(f"The run has no scores of {name!r}, which has a gate: it has no scores at all.")


@dataclass
class _ScoreCounts:
    """Counts of a gate's planned scores by outcome; `scored` has (sample id, value)."""

    scored: list[tuple[str, float]] = field(default_factory=list)
    not_applicable: int = 0
    unsure: list[str] = field(default_factory=list)  # samples of which a rule cannot tell the value
    failed: int = 0
    total: int = 0

    @property
    def coverage(self) -> float:
        known = len(self.scored) + len(self.unsure) + self.not_applicable
        return known / self.total if self.total else 0.0

    def add(self, record: Record, score: Score | None) -> None:
        self.total += 1
        if score is None:
            self.failed += record.response is None
        elif score.value is not None:
            self.scored.append((record.case.sample.id, score.value))
        elif score.status == "failed":
            self.failed += 1
        elif score.status == "unsure":
            self.unsure.append(record.case.sample.id)
        else:
            self.not_applicable += 1


def _unasked(plan: Plan, where: Mapping[str, str]) -> int:
    """The number of selected planned cases without a record. A plan cell without a selected name counts as selected, so
    that a gate fails on coverage rather than passes on a part."""
    if not where:
        return plan.total - plan.asked
    return sum(
        cell.total - cell.asked
        for cell in plan.cells
        if matches(cell.condition, {name: value for name, value in where.items() if name in cell.condition})
    )


def _result(
    gate: Gate, system: str, counts: _ScoreCounts, mode: Literal["interval", "point"], min_coverage: float, *,
    only_system: bool,
) -> GateResult:  # fmt: skip
    scored, total = counts.scored, counts.total
    samples, values = [sample for sample, _ in scored], [value for _, value in scored]
    mean = math.fsum(values) / len(values) if values else None
    interval = decisive_interval(values, groups=samples)
    verdict, reason = _verdict(gate, mean, interval, len({*samples}), mode)
    if counts.unsure:
        verdict, reason, interval = _verdict_at_worst_and_best(gate, counts, mode)
    if (scored or counts.unsure) and counts.coverage < min_coverage:
        verdict, reason = "unknown", ("coverage", {"coverage": counts.coverage, "least": min_coverage})
    low, high = interval or (None, None)
    sign = 1 if gate.side == "under" else -1
    beyond = [(sample, value) for sample, value in _by_sample(scored) if sign * (value - gate.threshold) < 0]
    worst = tuple(sorted(beyond, key=lambda item: (sign * item[1], item[0]))[:_MOST_WORST])
    return GateResult(
        gate, system, verdict, mean, low, high, len(scored), counts.not_applicable, counts.failed, total,
        counts.coverage, worst, reason, only_system, len(counts.unsure),
    )  # fmt: skip


def _verdict_at_worst_and_best(gate: Gate, counts: _ScoreCounts, mode: str) -> tuple[Verdict, GateReason, Interval]:
    """The verdict that holds whether the values that a rule cannot tell are 0 or 1, "unknown" where it depends on them;
    and the interval from the lower end of the one to the upper end of the other."""
    verdicts: list[tuple[Verdict, GateReason]] = []
    intervals: list[Interval] = []
    for value in (0.0, 1.0):
        every = [*counts.scored, *((sample, value) for sample in counts.unsure)]
        samples, values = [sample for sample, _ in every], [known for _, known in every]
        intervals.append(decisive_interval(values, groups=samples))
        verdicts.append(_verdict(gate, math.fsum(values) / len(values), intervals[-1], len({*samples}), mode))
    (verdict, (key, details)), (other, _) = verdicts
    least, most = intervals
    interval = None if least is None or most is None else (least[0], most[1])
    if verdict != other:
        return "unknown", ("depends", {"n": len(counts.unsure)}), interval
    anyway = key in ("right_side", "wrong_side", "mean_decides")
    return verdict, (f"{key}_anyway" if anyway else key, details), interval


def _by_sample(scored: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The mean of each sample over its conditions and judgements, in order of first appearance."""
    grouped: dict[str, list[float]] = {}
    for sample, value in scored:
        grouped.setdefault(sample, []).append(value)
    return [(sample, sum(values) / len(values)) for sample, values in grouped.items()]


def _verdict(gate: Gate, mean: float | None, interval: Interval, samples: int, mode: str) -> tuple[Verdict, GateReason]:
    if mean is None:
        return "unknown", ("nothing", {})
    under = gate.side == "under"

    def bad(bound: float) -> bool:
        return bound < gate.threshold if under else bound > gate.threshold

    if mode == "point":
        return "failed" if bad(mean) else "passed", ("mean_decides", {})
    if interval is None or samples < LEAST:
        return "warned", ("few", {"n": samples, "least": LEAST})
    far, near = interval if under else reversed(interval)  # `far` is the end nearer to the bad values
    if bad(near):
        return "failed", ("wrong_side", {})
    if bad(far):
        return "warned", ("contains", {})
    return "passed", ("right_side", {})


def gates_of(
    under: Mapping[str, float],
    over: Mapping[str, float],
    meta: Mapping[str, Any] | None = None,
    *,
    where: Mapping[str, str] | None = None,
    project: Iterable[Gate] = (),
) -> list[Gate]:
    """Gates from thresholds by metric, added to the project's gates; a threshold replaces the project's gate on the
    same subject and side. `meta`: the run's, which records the better direction of the user's own metrics. Raises
    UsageError for a gate that would fail on good values, and for an unreachable threshold."""
    for thresholds in (under, over):
        check_thresholds(thresholds)
    gates = [
        *project,
        *(Gate(metric, threshold, "under", where or {}) for metric, threshold in under.items()),
        *(Gate(metric, threshold, "over", where or {}) for metric, threshold in over.items()),
    ]
    merged = {(gate.subject, gate.side): gate for gate in gates}
    sides = {(gate.metric, gate.side) for gate in gates}
    for gate in merged.values():
        most = merged.get((gate.subject, "over"))
        if gate.side == "under" and most is not None and gate.threshold > most.threshold:
            raise UsageError(
                f"No value passes both {gate.subject} ≥ {gate.threshold:g} and {gate.subject} ≤ {most.threshold:g}. "
                "Change one of the two thresholds, or remove it."
            )
        wrong, option = ("lower", "--fail-over") if gate.side == "under" else ("higher", "--fail-under")
        both = {(gate.metric, "under"), (gate.metric, "over")} <= sides  # a minimum and a maximum are both meant
        if better(gate.metric, meta) == wrong and not both and _is_known(gate.metric, meta):
            raise UsageError(
                f"{wrong.capitalize()} values of {gate.metric} are better: write {option} "
                f"{gate.metric}={gate.threshold}."
            )
    return list(merged.values())


def check_thresholds(thresholds: Mapping[str, Any]) -> None:
    """Raises UsageError for a threshold that is not a finite number, or is outside the range of the metric."""
    for metric, threshold in thresholds.items():
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not math.isfinite(threshold):
            raise UsageError(f"The threshold of {metric} is {threshold!r}; expected a number, such as {metric}=0.8.")
        if not 0 <= threshold <= 1 and _is_share(metric):
            percent = f"; {threshold:g}% is {metric}={threshold / 100:g}" if 1 < threshold <= 100 else ""
            raise UsageError(f"The threshold {metric}={threshold:g} is out of range: it must be from 0 to 1{percent}.")


def _is_share(metric: str) -> bool:
    """Whether the metric is known to range from 0 to 1: it is ours, or says so."""
    try:
        return is_own(metric) or installed_entry(metric).range.startswith(("0 to 1", "0 or 1"))
    except UsageError:
        return False


def _is_known(metric: str, meta: Mapping[str, Any] | None) -> bool:
    """Whether the better direction is known, from the run or the registry."""
    directions = (meta or {}).get("better")
    if isinstance(directions, Mapping) and metric in directions:
        return True
    try:
        installed_metric(metric)
    except UsageError:
        return False
    return True
