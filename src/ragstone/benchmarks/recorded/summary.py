"""What a reader of scored answers sees first: the weakest metrics, every metric as a dot, and what to try next."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ragstone.benchmarks.recorded.advice import Advice, advise, attempt, metric_for
from ragstone.benchmarks.recorded.aggregate import ScoreTally, lower_is_better, tally_scores
from ragstone.benchmarks.recorded.diagnosis import CORRECTNESS, deciding_metric, is_of_correctness
from ragstone.benchmarks.recorded.metric_scores import MetricScores
from ragstone.benchmarks.verdicts import asked, percent, score
from ragstone.display import Action, Dot, Summary
from ragstone.errors import UnknownName
from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language, installed_entry
from ragstone.stats import Estimate
from ragstone.types import Run

_TOPICS = ("correctness", "faithfulness", "recall", "precision", "relevancy")
_NAMED, _DOTS, _ACTIONS, _SAMPLES, _EXAMPLES = 3, 24, 3, 5, 2
_BINS = 10


def summaries(run: Run, gates: Mapping[str, float], *, language: str = "en") -> dict[str, Summary]:
    """The summary of each system with a score, or an answer that a rule cannot tell about."""
    writer = _Summary(run, gates, language)
    tallies = {system: tally for system, tally in tally_scores(run).items() if _scored(tally) or _unsure(tally)}
    return {system: writer.of(system, tally) for system, tally in tallies.items()}


def _scored(tally: ScoreTally) -> list[str]:
    return [name for name in tally.names if tally.metrics[name].values]


def _unsure(tally: ScoreTally) -> list[str]:
    return [name for name in tally.names if tally.metrics[name].unsure]


@dataclass(frozen=True)
class _Right:
    """How many answers are right, and by which metric; `graded`: its values are not only 0 and 1."""

    metric: str
    threshold: float
    count: int
    share: Estimate
    graded: bool


class _Summary:
    def __init__(self, run: Run, gates: Mapping[str, float], language: str) -> None:
        self.meta, self.systems, self.gates, self.language = run.meta, run.systems, gates, language
        self.words = messages(__name__, language)

    def of(self, system: str, tally: ScoreTally) -> Summary:
        dots = tuple(self._dots(tally))
        actions = tuple(
            Action(
                self._advice(item.rule, system),
                samples=tuple(sample for sample, _ in item.worst[:_SAMPLES]),
                examples=tuple(self._examples(tally, item)),
            )
            for item in advise(tally, self.gates)[:_ACTIONS]
        )
        right = self._right(tally)
        first = next((name for name in CORRECTNESS if name in tally.metrics), "")
        if first and tally.metrics[first].unsure:
            read = Action(self.words["read_unsure"].format(metric=first))
            actions = (read, *actions[: _ACTIONS - 1])
        if not any(map(is_of_correctness, tally.metrics)):
            actions = (*actions[: _ACTIONS - 1], Action(self.words["no_correctness"]))
        notes = (self.words["rules_of_thumb"],) if any(action.samples for action in actions) else ()
        if right is not None and right.graded:
            sign = "≤" if lower_is_better(right.metric, self.meta) else "≥"
            bar = f"{right.metric} {sign} {right.threshold:g}"
            notes = (self.words["right_from"].format(bar=bar), *notes)
        return Summary("", self._verdict(system, tally, right), dots=dots, actions=actions, notes=notes)

    def _examples(self, tally: ScoreTally, item: Advice) -> Iterator[str]:
        """The worst samples, with what was asked and answered: an id may be one that the user never gave."""
        for sample in [name for name, _ in item.worst if name in tally.texts][:_EXAMPLES]:
            question, answer = tally.texts[sample]
            yield self.words["example"].format(question=question, answer=answer)

    def _advice(self, rule: str, system: str) -> str:
        what = attempt(rule, self.systems.get(system, {}), self.words)
        return self.words["action"].format(finding=self.words[f"low_{rule}"], advice=what)

    def _verdict(self, system: str, tally: ScoreTally, right: _Right | None) -> str:
        """The share of right answers, where it is known, and the metrics that say most: one of each topic, else the
        first ones."""
        topics = [name for topic in _TOPICS if (name := metric_for(tally.metrics, topic))]
        names = (topics or _scored(tally) or _unsure(tally))[:_NAMED]
        shown = [name for name in names if right is None or right.graded or name != right.metric]
        first = tally.metrics[(shown or names)[0]]
        figures, on = self._figures({name: tally.metrics[name] for name in shown})
        if right is None:
            text = self.words["verdict"].format(system=system, figures=figures) + on
        else:
            text = self._share_right(system, right, tally.metrics[right.metric].unsure)
            if figures:
                text += self.words["right_figures"].format(figures=figures) + on
            elif len(first.values) < first.total - first.not_applicable - first.unsure:
                text += self.words["on"].format(n=asked(len(first.values), first.total, self.language))
        if impossible := tally.refusals[False]:
            refused = sum(declined for _, declined in impossible)
            text += self.words["refused"].format(refused=refused, n=len(impossible))
        return text + self.words["stop"]

    def _figures(self, tallies: Mapping[str, MetricScores]) -> tuple[str, str]:
        """The mean of each metric, and on how many answers they are; where these differ, each says its own."""
        numbers = {name: asked(len(of.values), of.total, self.language) for name, of in tallies.items()}
        differ = len({*numbers.values()}) > 1
        figures = self.words["join"].join(
            f"{name} {score(of.mean(gated=name in self.gates))}"
            + (self.words["own_number"].format(n=numbers[name]) if differ else "")
            for name, of in tallies.items()
        )
        return figures, "" if differ else "".join(self.words["on"].format(n=n) for n in {*numbers.values()})

    def _share_right(self, system: str, right: _Right, unsure: int) -> str:
        """How many answers are right; where the metric cannot tell about some, at least and at most."""
        if not unsure:
            return self.words["right_verdict"].format(
                system=system, right=f"{right.count:,}", n=f"{right.share.n:,}", share=percent(right.share)
            )
        n = right.share.n + unsure
        least, most = right.count, right.count + unsure
        return self.words["right_between"].format(
            system=system, least=f"{least:,}", most=f"{most:,}", n=f"{n:,}", low=f"{100 * least / n:.0f}",
            high=f"{100 * most / n:.0f}", unsure=f"{unsure:,}", metric=right.metric,
        )  # fmt: skip

    def _right(self, tally: ScoreTally) -> _Right | None:
        """The share of right answers as the cards count them: by the metric that decides, and refusals of questions
        that cannot be answered."""
        if (deciding := deciding_metric(tally.metrics, self.gates)) is None:
            return None
        name, threshold = deciding
        scores = tally.metrics[name]
        values = np.asarray(scores.values)
        rights = values <= threshold if lower_is_better(name, self.meta) else values >= threshold
        groups, refusals = scores.samples.groups(scores.places), tally.refusals[False]
        asked_of = np.array([hash(sample) for sample, _ in refusals], dtype=np.int64)  # as `Samples.groups`
        refused = np.array([declined for _, declined in refusals], dtype=bool)
        rights |= np.isin(groups, np.setdiff1d(asked_of[refused], asked_of[~refused]))
        more = ~np.isin(asked_of, groups)  # a metric may score questions that cannot be answered: each counts once
        rights, groups = np.append(rights, refused[more]), np.append(groups, asked_of[more])
        share = Estimate.of_mean(array("d", rights), groups=groups, total=scores.total, decisive=name in self.gates)
        return _Right(name, threshold, int(rights.sum()), share, graded=bool(np.any((values != 0) & (values != 1))))

    def _dots(self, tally: ScoreTally) -> Iterator[Dot]:
        """The metrics with values in [0, 1]."""
        for name in _scored(tally)[:_DOTS]:
            scores = tally.metrics[name]
            mean = scores.mean(gated=name in self.gates)
            if mean.value is None or min(scores.values) < 0 or max(scores.values) > 1:
                continue
            lower = lower_is_better(name, self.meta)
            yield Dot(
                name, mean.value, mean.low, mean.high, score(mean), self.gates.get(name), _bins(scores), lower,
                scores.extremes(_SAMPLES, lower=lower), about=self._about(name),
            )  # fmt: skip

    def _about(self, name: str) -> str:
        """What a metric measures, in half a line; "" for one that is not installed."""
        try:
            about = installed_entry(name).about
        except UnknownName:
            return ""
        return about if self.language == "en" else in_language(name, self.language)


def _bins(scores: MetricScores) -> tuple[int, ...]:
    counts = [0] * _BINS
    for value in scores.values:
        counts[min(_BINS - 1, int(value * _BINS))] += 1
    return tuple(counts)
