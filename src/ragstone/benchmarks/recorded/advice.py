"""What to do next, by the rules of thumb of the evaluation-framework seed (optimising by Ragas metrics): low recall
indicates gaps in the knowledge base, a weak embedder or poorly worded queries; low precision, in addition, a missing
reranker; low correctness with good retrieval the prompt, the sampling, the model or its tuning. The rules for
faithfulness and answer relevancy are ragstone's. The cases behind a rule are those that fit what it says.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragstone.benchmarks.recorded.aggregate import ScoreTally
from ragstone.benchmarks.recorded.diagnosis import LOW, deciding_metric
from ragstone.benchmarks.recorded.metric_scores import Groups, MetricScores
from ragstone.benchmarks.recorded.stages import StageTally
from ragstone.runs.readers import is_extractive
from ragstone.stats import Estimate

BAR = 0.8
_WORST = 10
# Topic of a rule → its metrics; the first one that was scored counts.
_METRICS: Mapping[str, tuple[str, ...]] = {
    "recall": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall", "recall"),
    "precision": ("context_precision", "ragas.context_precision", "ragchecker.context_precision", "context_relevance"),
    "correctness": (
        "answer_correctness",
        "ragas.answer_correctness",
        "ragchecker.f1",
        "answer_match.judge",
        "answer_match",
    ),
    "faithfulness": ("faithfulness", "ragas.faithfulness", "groundedness", "ragchecker.faithfulness"),
    "relevancy": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}


@dataclass(frozen=True)
class Advice:
    """One rule that applies. `rule` is its key in the messages, `mean` that of the cases that it is about; `worst` has
    the samples that show it, worst first."""

    rule: str
    metric: str
    mean: Estimate
    low: bool
    worst: tuple[tuple[str, float], ...]


def metric_for(metrics: Mapping[str, MetricScores], topic: str) -> str:
    """The metric of this topic, with or without a cut-off (`recall`, `recall@5`); "" if none was scored."""
    scored = [name for name in metrics if metrics[name].values and " " not in name]  # "recall@5 fetched": of a stage
    return next((name for known in _METRICS[topic] for name in scored if name.partition("@")[0] == known), "")


def advise(tally: ScoreTally, gates: Mapping[str, float]) -> list[Advice]:
    """The rules that apply, in the order in which to act: retrieval before generation. `gates` decide what is right."""
    metrics, advice = tally.metrics, list[Advice]()
    for topic in ("recall", "precision", "correctness", "faithfulness", "relevancy"):
        if topic == "correctness":
            advice += _of_correctness(tally, gates, fixed=[item.rule for item in advice])
            continue
        if name := metric_for(metrics, topic):
            none = topic == "recall" and name.partition("@")[0] == "recall" and not any(metrics[name].values)
            found = _rule("recall_none" if none else topic, name, metrics[name], BAR)
            advice += (_lost_later(tally, item) for item in found) if topic == "recall" else found
    return advice


def _lost_later(tally: ScoreTally, advice: Advice) -> Advice:
    """The rule for low recall; where the system's stages show for most of these samples that its search found what is
    right, the rule for what comes after it."""
    fetch, scores = tally.stages.get("fetch", StageTally()), tally.metrics[advice.metric]
    recalls = zip(fetch.samples, fetch.recalls, strict=True)
    fetched = np.array([hash(sample) for sample, recall in recalls if recall >= BAR], dtype=np.int64)
    low = scores.below(BAR)
    late = np.intersect1d(low, fetched)
    if 2 * len(late) <= len(low):
        return advice
    return replace(advice, rule="recall_later", worst=tuple(scores.worst(_WORST, below=BAR, among=late)))


def _rule(rule: str, name: str, scores: MetricScores, below: float, among: Groups | None = None) -> Iterator[Advice]:
    """The rule, if the mean of the samples `among` which it is (of all) is low and some of them are below this bar."""
    groups, values = scores.samples.groups(scores.places), np.asarray(scores.values)
    inside = np.ones(len(groups), dtype=bool) if among is None else np.isin(groups, among)
    mean = Estimate.of_mean(array("d", values[inside]), groups=groups[inside], total=scores.total)
    worst = tuple(scores.worst(_WORST, below=below, among=among))
    if mean.value is not None and mean.value < BAR and worst:
        yield Advice(rule, name, mean, mean.high is not None and mean.high < BAR, worst)


def _of_correctness(tally: ScoreTally, gates: Mapping[str, float], fixed: Sequence[str]) -> Iterator[Advice]:
    """Wrong answers are the model's fault only where the passages are known to contain what an answer needs. `fixed`:
    the rules for retrieval that apply."""
    metrics = tally.metrics
    name, right = deciding_metric(metrics, gates) or ("", LOW)
    if name.partition("@")[0] not in _METRICS["correctness"]:
        name, right = metric_for(metrics, "correctness"), LOW
    if not name:
        return
    scores = metrics[name]
    answers = np.setdiff1d(scores.samples.groups(scores.places), _refused_rightly(tally))
    known = {topic: metrics[metric] for topic in ("recall", "precision") if (metric := metric_for(metrics, topic))}
    poor = [found.below(BAR) for found in known.values()]
    if "recall" not in known and not fixed:
        yield from _rule("correctness_alone", name, scores, right, answers)
        return
    suspicious = np.unique(np.concatenate(poor)) if poor else np.array([], dtype=np.int64)
    good = known["recall"].below(np.inf) if "recall" in known else np.array([], dtype=np.int64)
    advice = [*_rule("correctness", name, scores, right, np.intersect1d(answers, np.setdiff1d(good, suspicious)))]
    if fixed and not advice:
        advice += _rule("correctness_too", name, scores, right, np.intersect1d(answers, suspicious))
    yield from advice


def _refused_rightly(tally: ScoreTally) -> Groups:
    """The questions that cannot be answered and were declined, whatever a metric says of the refusal."""
    asked = np.array([hash(sample) for sample, _ in tally.refusals[False]], dtype=np.int64)  # as `Samples.groups`
    declined = np.array([declined for _, declined in tally.refusals[False]], dtype=bool)
    return np.setdiff1d(asked[declined], asked[~declined])


def attempt(rule: str, spec: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """What a rule says to try on a system of this specification, which need not have a language model."""
    own = words.get(f"try_{rule}_extractive") if is_extractive(spec) else None
    return own or words[f"try_{rule}"]
