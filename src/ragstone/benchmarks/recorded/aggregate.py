"""One pass over the scores of a run: values by metric, sample and group, their cost, and why some are missing."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from ragstone.benchmarks.recorded.metric_scores import MetricScores
from ragstone.benchmarks.recorded.stages import StageTally, add_stages
from ragstone.metrics import better
from ragstone.metrics.answerable import answerable, declined
from ragstone.metrics.judge.panel import by_judge
from ragstone.metrics.judge.record import JudgeStep, steps_by_metric
from ragstone.plans import Plan
from ragstone.stats import Samples
from ragstone.types import Record, Run, Usage

_TEXTS, _SHOWN = 1_000, 200  # samples whose question and answer are kept, and characters of each
_REASONS = 20  # different reasons that are counted for one metric

# The order of metrics in tables; the rest follows by name.
_ORDER = (
    "faithfulness", "groundedness", "answer_relevancy", "answer_relevance", "context_precision", "context_recall",
    "context_relevance", "answer_correctness", "citation_precision", "citation_recall", "knowledge_density",
)  # fmt: skip


def display_order(name: str) -> tuple[int, str]:
    """The sort key of a metric in a table."""
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


@dataclass
class JudgeCost:
    """What one metric cost, as `amounts_of`. `alone`: all judge steps that it uses, as if it had been computed alone;
    `share`: the steps that were sent, each divided by the number of metrics that use it, so that the shares of all
    metrics sum to the total. `cached` counts the replies from the cache."""

    alone: list[float] = field(default_factory=lambda: [0.0] * 5)
    share: list[float] = field(default_factory=lambda: [0.0] * 5)
    cached: float = 0.0


@dataclass
class ScoreTally:
    """The aggregated scores of one system. `refusals`: of the questions that the data call answerable (True) or not
    (False), each sample and whether its answer declines; an empty answer is neither."""

    samples: Samples = field(default_factory=Samples)
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)  # question and answer of the first `_TEXTS` samples
    metrics: dict[str, MetricScores] = field(default_factory=dict)
    groups: dict[str, dict[str, dict[str, MetricScores]]] = field(default_factory=dict)  # column → value → metric
    answers: dict[str, list[int]] = field(default_factory=dict)  # hashes, by sample, if anything is repeated
    costs: dict[str, JudgeCost] = field(default_factory=lambda: defaultdict(JudgeCost))
    system: Usage = field(default_factory=Usage)  # of the system's own models, as it reports it
    judges: Counter[str] = field(default_factory=Counter)  # model names as the endpoint returned them
    stages: dict[str, StageTally] = field(default_factory=dict)  # in the order of their first appearance
    refusals: dict[bool, list[tuple[str, bool]]] = field(default_factory=lambda: {True: [], False: []})
    errors: Counter[str] = field(default_factory=Counter)  # questions without an answer, by kind of failure
    group_errors: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)  # the same: column → value → kind
    problems: int = 0  # replies of the judge that could not be used
    replies: int = 0
    coerced: Counter[str] = field(default_factory=Counter)  # what was done to read replies, each counted once a reply
    read_so: int = 0  # replies to which something was done
    partial: int = 0  # scores of several judges without one that failed
    # What several judges scored, by metric: (sample, {judge: value}).
    by_judge: dict[str, list[tuple[str, dict[str, float]]]] = field(default_factory=dict)
    doubts: int = 0  # decompositions that were doubted in the second reply, too
    quotes: int = 0  # that the judge gives for support
    unsupported_quotes: int = 0  # those that are in no passage

    @property
    def names(self) -> list[str]:
        return sorted(self.metrics, key=display_order)

    def of(self, metrics: dict[str, MetricScores], name: str) -> MetricScores:
        """The scores of a metric among these of one group or of all."""
        if name not in metrics:
            metrics[name] = MetricScores(self.samples)
        return metrics[name]


# The tally of a run that is open, with the plans that it had: they are the same object while the file is unchanged.
_KEPT: WeakKeyDictionary[Run, tuple[Mapping[str, Plan], dict[str, ScoreTally]]] = WeakKeyDictionary()


def tally_scores(run: Run) -> dict[str, ScoreTally]:
    """The tally of each system, in order. The records are read once however many tables and charts ask for it."""
    kept = _KEPT.get(run)
    if kept is None or kept[0] is not run.plans():
        deque(tallied(run, run.records(texts=False)), maxlen=0)
    return _KEPT[run][1]


def tallied(run: Run, records: Iterable[Record]) -> Iterator[Record]:
    """Passes on all records of a run. After the last one their tally is known to `tally_scores`."""
    plans = run.plans()
    tallies: dict[str, ScoreTally] = {system: ScoreTally() for system in run.systems}
    options = run.meta.get("options", {})
    columns = tuple(options.get("group_by", ())) if isinstance(options, Mapping) else ()
    repeated = isinstance(options, Mapping) and options.get("repeat", 1) != 1
    for record in records:
        if (tally := tallies.get(record.system_id)) is None:
            tally = tallies[record.system_id] = ScoreTally()
        _add(tally, record, columns)
        if repeated and record.response is not None and "judge_repeat" not in record.case.condition:
            tally.answers.setdefault(record.case.sample.id, []).append(hash(record.response.answer))
        yield record
    for system, plan in plans.items():
        metrics = tallies[system].metrics
        for name in {*metrics, *plan.unscored}:
            tallies[system].of(metrics, name).unasked = plan.total - plan.asked + plan.unscored.get(name, 0)
    for tally in tallies.values():
        _count_errors(tally)
    _KEPT[run] = plans, tallies


def _count_errors(tally: ScoreTally) -> None:
    """Counts questions that the system failed to answer as failures of every metric."""
    places = [(tally.metrics, tally.errors)]
    for column, values in tally.group_errors.items():
        places += [(tally.groups.get(column, {}).get(value, {}), kinds) for value, kinds in values.items()]
    for metrics, kinds in places:
        for scores in metrics.values():
            scores.failed += kinds.total()
            scores.reasons.update({f"the system failed ({kind})": count for kind, count in kinds.items()})


def columns_of(record: Record) -> Mapping[str, Any]:
    """The scalar values of the row's other columns."""
    columns = record.case.sample.meta.get("columns")
    return columns if isinstance(columns, Mapping) else {}


def _add(tally: ScoreTally, record: Record, columns: Sequence[str]) -> None:
    values = columns_of(record)
    groups = {column: str(values[column]) for column in columns if column in values}
    if record.error is not None:
        kind = record.error.partition(":")[0]
        tally.errors[kind] += 1
        for column, value in groups.items():
            tally.group_errors.setdefault(column, {}).setdefault(value, Counter())[kind] += 1
    if record.response is not None and record.response.usage is not None:
        tally.system += record.response.usage
    add_stages(tally.stages, record)
    place = tally.samples.add(record.case.sample.id)
    if len(tally.texts) < _TEXTS and record.response is not None:
        texts = (record.case.query.question[:_SHOWN], record.response.answer[:_SHOWN])
        tally.texts.setdefault(record.case.sample.id, texts)
    for name, score in record.scores.items():
        places = [tally.of(tally.metrics, name)]
        for column, value in groups.items():
            places.append(tally.of(tally.groups.setdefault(column, {}).setdefault(value, {}), name))
        details = score.evidence if isinstance(score.evidence, dict | Mapping) else {}
        tally.partial += "judges_missing" in details and score.value is not None
        for scores in places:
            scores.unsupported_quotes += bool(details.get("unsupported_quotes"))
            scores.read += "read" in details
            if score.status == "scored" and score.value is not None:
                scores.add(score.value, place)
                continue
            scores.failed += score.status == "failed"
            scores.not_applicable += score.status == "not_applicable"
            if score.status == "unsure":
                scores.unsure_places.append(place)
            reason = score.reason if score.reason in scores.reasons or len(scores.reasons) < _REASONS else "…"
            scores.reasons[reason] += 1
    possible = answerable(record.case)
    if possible is not None and "judge_repeat" not in record.case.condition and _is_answered(record):
        tally.refusals[possible].append((record.case.sample.id, declined(record.response, record.scores.values())))
    for name, values in by_judge(record).items():
        tally.by_judge.setdefault(name, []).append((record.case.sample.id, values))
    _add_cost(tally, steps_by_metric(record))


def _is_answered(record: Record) -> bool:
    return record.response is not None and bool(record.response.answer.strip())


def amounts_of(usage: Usage) -> tuple[float, ...]:
    """Requests, prompt, completion, cached and written prompt tokens."""
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.written_tokens)
    return (float(usage.requests), *tokens)


def _add_cost(tally: ScoreTally, by_metric: Mapping[str, Sequence[JudgeStep]]) -> None:
    """A step that several metrics of the case use is stored once and is one object."""
    if not any(by_metric.values()):
        return
    users = Counter(id(step) for steps in by_metric.values() for step in steps)
    counted: set[int] = set()
    for name, steps in by_metric.items():
        for step in steps:
            usage = step.usage or Usage()
            amounts = amounts_of(usage)
            cost = tally.costs[name]
            for index, amount in enumerate(amounts):
                cost.alone[index] += amount
                cost.share[index] += 0 if step.cached else amount / users[id(step)]
            cost.cached += step.cached / users[id(step)]
            if id(step) not in counted:
                counted.add(id(step))
                tally.replies += 1
                tally.problems += bool(step.problem)
                tally.doubts += bool(step.doubt) and not step.problem and step.name == "decompose"
                tally.read_so += bool(step.coerced)
                tally.coerced.update({name.partition(":")[0] for name in step.coerced})
                if step.model:
                    tally.judges[step.model] += 1
                for claim in () if step.problem else (*step.answer_claims, *step.reference_claims):
                    tally.quotes += bool(claim.supported_by) and claim.quote_found is not None
                    tally.unsupported_quotes += claim.unsupported_quote


def lower_is_better(name: str, meta: Mapping[str, Any] | None = None) -> bool:
    """Whether lower values of the metric are better."""
    return better(name, meta) == "lower"
