"""One pass over the judged scores of a run: how many were scored, why others were not, and the worst samples.

Memory does not grow with the run: bins instead of values, bounded lists of names, heaps of ids.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragstone.metrics import GROUPS, better, installed_metric
from ragstone.metrics.judge.record import judged_scores, requests_of
from ragstone.metrics.traits import traits_of
from ragstone.report.digest import OTHER, CaseKey, WorstCases, in_turn
from ragstone.report.sanitize import one_line
from ragstone.types import Record, Score

BINS = 10
JUDGED_CASES = 30  # the limit of samples that are shown claim by claim
_MOST_NAMES = 40  # different reasons of one metric, models and prompts; the rest are counted together
_MOST_METRICS = 120
_REASON = 160  # characters
_FLAGGED = 0.001  # how bad a sample is whose scores are the best, but rest on a quote that is in no passage


@dataclass
class MetricDigest:
    """One metric of one system: the number of scores in each tenth from 0 to 1, and why others are missing."""

    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    total: float = 0.0
    scored: int = 0
    failed: int = 0
    not_applicable: int = 0
    better: str = "higher"
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        return self.total / self.scored if self.scored else None

    def add(self, score: Score) -> None:
        if score.value is not None and math.isfinite(score.value):
            self.scored += 1
            self.total += score.value
            self.bins[min(BINS - 1, max(0, int(score.value * BINS)))] += 1
            return
        if score.status in ("not_applicable", "unsure"):
            self.not_applicable += 1
        else:
            self.failed += 1
        _count(self.reasons, one_line(score.reason, _REASON))


@dataclass
class JudgedDigest:
    """All judged metrics of a run, by metric and system; the judge's `models` as the endpoint named them, and its
    `prompts`; and the `worst` samples, taken in turn from every system."""

    metrics: dict[str, dict[str, MetricDigest]] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    prompts: Counter[str] = field(default_factory=Counter)
    worst: list[CaseKey] = field(default_factory=list)
    below: int = 0  # samples with a judged score below the best


@dataclass
class JudgedReader:
    """Summarises what was judged in the records that somebody reads, with at most `shown` of the worst samples."""

    shown: int
    _found: JudgedDigest = field(default_factory=JudgedDigest)
    _worst: dict[str, WorstCases] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """The next record."""
        found, judged = self._found, judged_scores(record)
        for name, score in record.scores.items():
            if name in judged or _is_judged(name, self._known):
                _add(found, record.system_id, name, score)
        if not judged:
            return
        for step in requests_of(record):
            _count(found.models, one_line(step.model, _REASON))
            _count(found.prompts, one_line(step.prompt, _REASON))
        badness = _badness(judged) or _FLAGGED * any(map(_is_flagged, judged.values()))
        # Repeats of the judge concern the same answer; only the first is shown.
        if badness > 0 and not record.case.condition.get("judge_repeat"):
            found.below += 1
            self._worst.setdefault(record.system_id, WorstCases(self.shown)).add(record, badness)

    def digest(self) -> JudgedDigest:
        """What was judged in the records so far."""
        self._found.metrics = dict(sorted(self._found.metrics.items(), key=lambda item: _order(item[0])))
        self._found.worst = in_turn(sorted(self._worst.items()), self.shown)
        return self._found


def goodness(name: str, score: Score) -> float | None:
    """The score in [0, 1] with 1 as the best; None where neither direction is better or there is no score."""
    direction = better_of(name, score)
    if score.value is None or not math.isfinite(score.value) or direction == "neither":
        return None
    value = min(1.0, max(0.0, score.value))
    return 1.0 - value if direction == "lower" else value


def better_of(name: str, score: Score) -> str:
    """Which direction is better; a rubric of the user's own records it in its evidence."""
    if isinstance(score.evidence, Mapping) and isinstance(rubric := score.evidence.get("rubric"), Mapping):
        return str(rubric.get("better", "higher"))
    return better(name)


def _add(result: JudgedDigest, system: str, name: str, score: Score) -> None:
    if name not in result.metrics and len(result.metrics) >= _MOST_METRICS:
        return
    by_system = result.metrics.setdefault(name, {})
    if system not in by_system:
        by_system[system] = MetricDigest()
    if by_system[system].better == "higher":  # not every score has the evidence
        by_system[system].better = better_of(name, score)
    by_system[system].add(score)


def _is_judged(name: str, known: dict[str, bool]) -> bool:
    """Whether a metric uses a judge, even if no request succeeded: its coverage is reported too."""
    if name not in known:
        if len(known) >= 10 * _MOST_METRICS:
            return False
        try:
            uses = {*traits_of(installed_metric(name)).uses}
        except Exception:  # run files may hold any name
            uses = set()
        known[name] = bool(uses & {"judge", "model"}) or name.startswith("rubric.")
    return known[name]


def _badness(judged: Mapping[str, Score]) -> float:
    values = [value for name, score in judged.items() if (value := goodness(name, score)) is not None]
    return 1.0 - sum(values) / len(values) if values else 0.0


def _is_flagged(score: Score) -> bool:
    return isinstance(score.evidence, Mapping) and bool(score.evidence.get("unsupported_quotes"))


def _count(counter: Counter[str], name: str) -> None:
    if name:
        counter[name if name in counter or len(counter) < _MOST_NAMES else OTHER] += 1


_ORDER = list(dict.fromkeys(name for group in ("five", "triad", "citations") for name in GROUPS[group]))


def _order(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
