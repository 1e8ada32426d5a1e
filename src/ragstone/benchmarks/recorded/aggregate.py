"""One pass over the scores of a run: values by metric, sample and group, what they cost, and why some are missing."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragstone.metrics import better
from ragstone.metrics.judge.record import JudgeStep, steps_by_metric
from ragstone.stats import Estimate
from ragstone.types import Record, Run, Usage

__all__ = ["Cost", "Scores", "Tally", "columns_of", "display_order", "tally"]

_REASONS = 20  # different reasons of one metric that are told apart

# The order in which metrics are told; what is not named follows by name.
_ORDER = (
    "faithfulness", "groundedness", "answer_relevancy", "answer_relevance", "context_precision", "context_recall",
    "context_relevance", "answer_correctness", "citation_precision", "citation_recall", "knowledge_density",
)  # fmt: skip


def display_order(name: str) -> tuple[int, str]:
    """Where a metric stands in a table."""
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


@dataclass
class Scores:
    """The scores of one metric: values with the samples they belong to, and what became of the rest."""

    values: list[float] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    failed: int = 0
    not_applicable: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    unasked: int = 0  # cases that nobody has scored yet

    @property
    def total(self) -> int:
        return len(self.values) + self.failed + self.not_applicable + self.unasked

    def mean(self) -> Estimate:
        """The mean of the values; several of one sample are one cluster."""
        return Estimate.of_mean(self.values, groups=self.samples, total=self.total)

    def worst(self, count: int, *, below: float) -> list[tuple[str, float]]:
        """The samples with the lowest values, those below a bar: (sample id, value), the lowest first. One that was
        judged several times has the mean."""
        held: dict[str, list[float]] = {}
        for sample, value in zip(self.samples, self.values, strict=True):
            held.setdefault(sample, []).append(value)
        means = {sample: sum(values) / len(values) for sample, values in held.items()}
        low = sorted((sample for sample, mean in means.items() if mean < below), key=means.__getitem__)  # stable
        return [(sample, means[sample]) for sample in low[:count]]


@dataclass
class Cost:
    """What one metric took of the judge: requests, prompt and completion tokens. `alone`: all steps that it rests on,
    as if nothing had been asked before; `share`: those that were sent, each divided by how many metrics rest on it, so
    that the shares of all metrics sum to what was spent. `cached` counts the replies that cost nothing."""

    alone: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    share: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    cached: float = 0.0


@dataclass
class Tally:
    """All that the tables need of one system."""

    metrics: dict[str, Scores] = field(default_factory=dict)
    groups: dict[str, dict[str, dict[str, Scores]]] = field(default_factory=dict)  # column → value → metric
    repeats: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    costs: dict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))
    judges: Counter[str] = field(default_factory=Counter)  # models as they named themselves
    problems: int = 0  # replies of the judge that could not be used
    replies: int = 0

    @property
    def names(self) -> list[str]:
        return sorted(self.metrics, key=display_order)


def tally(run: Run) -> dict[str, Tally]:
    """Every system of the run, in order."""
    found: dict[str, Tally] = {system: Tally() for system in run.systems}
    options = run.meta.get("options", {})
    columns = tuple(options.get("group_by", ())) if isinstance(options, Mapping) else ()
    for record in run.records():
        _add(found.setdefault(record.system_id, Tally()), record, columns)
    for system, plan in run.plans().items():
        metrics = found[system].metrics
        for name in {*metrics, *plan.unscored}:
            metrics.setdefault(name, Scores()).unasked = plan.total - plan.asked + plan.unscored.get(name, 0)
    return found


def columns_of(record: Record) -> Mapping[str, Any]:
    """The single values of the row's other columns."""
    held = record.case.sample.meta.get("columns")
    return held if isinstance(held, Mapping) else {}


def _add(one: Tally, record: Record, columns: Sequence[str]) -> None:
    held = columns_of(record)
    groups = {column: str(held[column]) for column in columns if column in held}
    for name, score in record.scores.items():
        places = [one.metrics.setdefault(name, Scores())]
        for column, value in groups.items():
            places.append(one.groups.setdefault(column, {}).setdefault(value, {}).setdefault(name, Scores()))
        for scores in places:
            if score.status == "scored" and score.value is not None:
                scores.values.append(score.value)
                scores.samples.append(record.case.sample.id)
                continue
            scores.failed += score.status == "failed"
            scores.not_applicable += score.status == "not_applicable"
            reason = score.reason if score.reason in scores.reasons or len(scores.reasons) < _REASONS else "…"
            scores.reasons[reason] += 1
        if score.value is not None:
            one.repeats[name][record.case.sample.id].append(score.value)
    _add_cost(one, steps_by_metric(record))


def _add_cost(one: Tally, by_metric: Mapping[str, Sequence[JudgeStep]]) -> None:
    """A step that several metrics of the case rest on is one object there, because it is stored once."""
    users = Counter(id(step) for named in by_metric.values() for step in named)
    told: set[int] = set()
    for name, named in by_metric.items():
        for step in named:
            spent = step.usage or Usage()
            amounts = (spent.requests, spent.prompt_tokens, spent.completion_tokens)
            cost = one.costs[name]
            for at, amount in enumerate(amounts):
                cost.alone[at] += amount
                cost.share[at] += 0 if step.cached else amount / users[id(step)]
            cost.cached += step.cached / users[id(step)]
            if id(step) not in told:
                told.add(id(step))
                one.replies += 1
                one.problems += bool(step.problem)
                if step.model:
                    one.judges[step.model] += 1


def lower_is_better(name: str, meta: Mapping[str, Any] | None = None) -> bool:
    """Whether small values of the metric are the good ones."""
    return better(name, meta) == "lower"
