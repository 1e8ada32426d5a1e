"""One pass over a run's records into the counters behind the tables and charts.

For each measure a record only adds to two counts: how often a question was right, of how often it was scored. Records
are streamed, so memory grows with the questions and conditions, not with passages and answers.

Measures are the columns of the paper. "Acc" (right), "Rej" and "ED" (by wording), "CR" (right among ED) exist in two
scorings, ragstone's `default` and the exact `official` one; "Rej*", "ED*" are the judge's and equal in both.
"CR*" is right among ED* (the paper's CR), "gap" is Rej* - Rej, and "guess" is right at noise ratio 1, where no document
contains the answer.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ragstone.benchmarks.rgb.passage_kinds import kind_of
from ragstone.benchmarks.source_attribution import misleading
from ragstone.metrics.judge.record import steps_of
from ragstone.metrics.rgb_binding import outcome_of
from ragstone.stats import Estimate
from ragstone.structs import Scalar
from ragstone.types import Record, Run, Score

ABILITIES = ("noise", "rejection", "integration", "counterfactual")
SCORINGS = ("default", "official")
_JUDGE_REJECTION, _JUDGE_ERROR = "rgb.judge.rejection", "rgb.judge.error_detection"
_JUDGE_BINDING, _JUDGE_CONFUSION = "rgb.judge.binding", "rgb.judge.confusion"


@dataclass(frozen=True)
class RecordScores:
    """The scores of one record; None where a metric did not score it.

    `right`, `rejected` and `detected` are ragstone's; `binding`: whether the parts of an answer stand with what was
    asked of them, by the judge where the rule cannot tell, "" for other abilities than integration, where `right`
    follows it. `official`: whether the official program counts the row in its `tt`; `label` and `fact`: its verdicts
    per slot and on errors; `judged_*` are the judge's; `confused`: it finds that a wrong answer takes something similar
    for what was asked.
    """

    right: bool | None
    rejected: bool | None
    detected: bool | None
    official: bool | None
    label: tuple[int, ...] | None
    fact: bool | None
    judged_rejected: bool | None
    judged_detected: bool | None
    binding: str = ""
    confused: bool | None = None

    @property
    def all_slots(self) -> bool | None:
        """Official: no slot is missing and at least one is found (which a refusal, [-1], does not meet)."""
        return None if self.label is None else 0 not in self.label and 1 in self.label

    @property
    def none_missing(self) -> bool | None:
        """Official, as its `correct_tt` reads a label: no slot is missing; a refusal, [-1], also passes."""
        return None if self.label is None else 0 not in self.label


def read_scores(record: Record) -> RecordScores:
    """The scores of a record."""
    scores = record.scores
    official = scores.get("rgb.official")
    evidence = official.evidence if official is not None and isinstance(official.evidence, dict) else {}
    label, fact = evidence.get("label"), evidence.get("factlabel")
    bound = _binding(scores)
    return RecordScores(
        right=bound == "bound" if bound else _bit(scores.get("answer_match")),
        rejected=_bit(scores.get("refusal")),
        detected=_bit(scores.get("error_detection")),
        official=_bit(official),
        label=tuple(label) if isinstance(label, list | tuple) else None,
        fact=None if fact is None else bool(fact),
        judged_rejected=_bit(scores.get(_JUDGE_REJECTION)),
        judged_detected=_bit(scores.get(_JUDGE_ERROR)),
        binding=bound,
        confused=_bit(scores.get(_JUDGE_CONFUSION)),
    )


def _binding(scores: Mapping[str, Score]) -> str:
    """The outcome of the rule, by the judge where it cannot tell."""
    outcome, judged = outcome_of(scores.get("rgb.binding")), _bit(scores.get(_JUDGE_BINDING))
    if outcome != "unbound" or judged is None:
        return outcome
    return "bound" if judged else "misaligned"


def _bit(score: Score | None) -> bool | None:
    return None if score is None or score.value is None else score.value >= 1.0


@dataclass
class SampleTally:
    """For each question: how often it was right, and how often it was scored (repeats add up)."""

    samples: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, sample: str, value: int, pool: dict[tuple[int, int], tuple[int, int]]) -> None:
        """Count one scored record; `pool` interns the few distinct pairs of counts."""
        won, tried = self.samples.get(sample, (0, 0))
        pair = (won + value, tried + 1)
        self.samples[sample] = pool.setdefault(pair, pair)

    @property
    def won(self) -> int:
        return sum(won for won, _ in self.samples.values())

    @property
    def scored(self) -> int:
        return sum(tried for _, tried in self.samples.values())

    def share(self, total: int | None = None) -> Estimate:
        """The share of right answers; `total`: the number of requested answers."""
        return Estimate.of_share(self.samples.values(), total=total)

    def only(self, samples: set[str]) -> "SampleTally":
        """The counts of only these questions."""
        return SampleTally({sample: pair for sample, pair in self.samples.items() if sample in samples})

    def majority(self) -> set[str]:
        """The questions that were right in more than half of their scored answers."""
        return {sample for sample, (won, tried) in self.samples.items() if 2 * won > tried}


@dataclass(frozen=True, order=True)
class RgbKey:
    """A condition of one system, as in one cell of a table. `closed_book` marks the part of the counterfactual testbed
    that is asked without documents, to test what the model knows."""

    system: str
    ability: str
    language: str
    dataset: str
    closed_book: bool = False
    noise_ratio: float = 0.0
    correct_rate: float = 0.0


@dataclass
class ConditionTally:
    """The counts of a condition: records per question, including failed ones, and a tally per measure and scoring.
    `planned`: the planned number of records, if known."""

    requested: dict[str, int] = field(default_factory=dict)
    tallies: dict[tuple[str, str], SampleTally] = field(default_factory=dict)
    planned: int = 0

    @property
    def total(self) -> int:
        return max(self.planned, sum(self.requested.values()))

    def tally(self, measure: str, scoring: str) -> SampleTally | None:
        """The tally of a measure; None if no record was scored on it."""
        return self.tallies.get((measure, scoring))


@dataclass
class KindTally:
    """Records of one system and language by kind: `base` counts all scored ones, `kinds` those of each kind."""

    base: SampleTally = field(default_factory=SampleTally)
    kinds: dict[str, SampleTally] = field(default_factory=dict)


@dataclass
class RgbCounts:
    """The counters of a run.

    `rejections`: outcomes where no document contains the answer: "rejected", or the kind of the passage that the answer
    came from ("" if the data do not have it), or "none". `bindings`: outcomes of the parts of integration's answers in
    ragstone's scoring. `positions` (1 is the first) and `relevant_kinds`: the
    accuracy of noise cases with exactly one relevant document, by its position and kind. Each is by (system, language).
    `judges`: the names of the judges as their providers returned them.
    """

    scoring: str
    cells: dict[RgbKey, ConditionTally] = field(default_factory=dict)
    rejections: dict[tuple[str, str], KindTally] = field(default_factory=dict)
    bindings: dict[tuple[str, str], KindTally] = field(default_factory=dict)
    positions: dict[tuple[str, str], dict[int, SampleTally]] = field(default_factory=dict)
    relevant_kinds: dict[tuple[str, str], dict[str, SampleTally]] = field(default_factory=dict)
    judges: set[str] = field(default_factory=set)
    repeats: int = 1
    _pool: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def keys(self, ability: str, *, closed_book: bool = False) -> list[RgbKey]:
        """The conditions of an ability, sorted."""
        return sorted(key for key in self.cells if key.ability == ability and key.closed_book == closed_book)

    def has(self, scoring: str) -> bool:
        """Whether any record has a score in this scoring."""
        return any(known == scoring for cell in self.cells.values() for _, known in cell.tallies)

    @property
    def scorings(self) -> list[str]:
        """The scorings that exist in this run, the headline first."""
        order = [self.scoring, *(name for name in SCORINGS if name != self.scoring)]
        return [scoring for scoring in order if self.has(scoring)] or [self.scoring]

    @property
    def judged(self) -> bool:
        """Whether a judge scored any record."""
        return any(measure in ("Rej*", "ED*") for cell in self.cells.values() for measure, _ in cell.tallies)

    def add(self, record: Record, *, kinds: bool) -> None:
        """Count one record. `kinds` False skips the counters that must read the passages."""
        key = _key(record.system_id, record.case.condition)
        if key is None:
            return
        cell = self.cells.setdefault(key, ConditionTally())
        sample = record.case.sample.id
        sample = self._names.setdefault(sample, sample)
        cell.requested[sample] = cell.requested.get(sample, 0) + 1
        self.repeats = max(self.repeats, cell.requested[sample])
        if record.response is None:
            return
        scores = read_scores(record)
        for name in (_JUDGE_REJECTION, _JUDGE_ERROR, _JUDGE_BINDING):
            if (score := record.scores.get(name)) is not None:
                self.judges.update(step.model for step in steps_of(score) if step.model)
        for measure, scoring, value in _measured(key, scores):
            cell.tallies.setdefault((measure, scoring), SampleTally()).add(sample, value, self._pool)
        if scores.binding:
            group = self.bindings.setdefault((key.system, key.language), KindTally())
            group.base.add(sample, 1, self._pool)
            group.kinds.setdefault(scores.binding, SampleTally()).add(sample, 1, self._pool)
        if kinds:
            self._add_kinds(record, key, scores, sample)

    def _add_kinds(self, record: Record, key: RgbKey, scores: RecordScores, sample: str) -> None:
        pair = (key.system, key.language)
        if key.ability == "rejection":
            rejected = scores.rejected if self.scoring == "default" else scores.official
            if rejected is not None:
                group = self.rejections.setdefault(pair, KindTally())
                group.base.add(sample, 1, self._pool)
                kind = "rejected" if rejected else _source(record, scores)
                group.kinds.setdefault(kind, SampleTally()).add(sample, 1, self._pool)
        if key.ability == "noise":
            passages = record.case.query.passages or ()
            relevant = [place for place, passage in enumerate(passages) if passage.relevant]
            right = scores.right if self.scoring == "default" else scores.official
            if len(relevant) == 1 and len(passages) > 1 and right is not None:
                places = self.positions.setdefault(pair, {})
                places.setdefault(relevant[0] + 1, SampleTally()).add(sample, right, self._pool)
                kind = str(passages[relevant[0]].meta.get("kind", ""))
                if kind:
                    by_kind = self.relevant_kinds.setdefault(pair, {})
                    by_kind.setdefault(kind, SampleTally()).add(sample, right, self._pool)


def count_run(run: Run, *, scoring: str = "default", kinds: bool = True) -> RgbCounts:
    """Read a run once. `scoring` is the headline's; `kinds` False is faster and skips the counters by kind."""
    counts = RgbCounts(scoring)
    for record in run.records():
        counts.add(record, kinds=kinds)
    for system, plan in run.plans().items():
        for cell in plan.cells:
            if (key := _key(system, cell.condition)) is not None:
                counts.cells.setdefault(key, ConditionTally()).planned = cell.total
    return counts


def _key(system: str, condition: Mapping[str, Scalar]) -> RgbKey | None:
    ability = condition.get("ability")
    if not isinstance(ability, str):
        return None
    return RgbKey(
        system,
        ability,
        str(condition.get("language", "")),
        str(condition.get("dataset", "")),
        ability == "counterfactual" and bool(condition.get("closed_book", False)),
        float(condition.get("noise_ratio", 0.0)),
        float(condition.get("correct_rate", 0.0)),
    )


def _measured(key: RgbKey, scores: RecordScores) -> Iterator[tuple[str, str, int]]:
    """(measure, scoring, value) for every measure of this record."""
    for measure, scoring, value in _all_measures(key, scores):
        if value is not None:
            yield measure, scoring, int(value)


def _all_measures(key: RgbKey, scores: RecordScores) -> Iterator[tuple[str, str, int | bool | None]]:
    if key.ability == "rejection":
        judged = scores.judged_rejected
        yield "guess", "default", scores.right
        yield "guess", "official", scores.all_slots
        for scoring, rejected in (("default", scores.rejected), ("official", scores.official)):
            yield "Rej", scoring, rejected
            if rejected is not None and judged is not None:
                yield "Rej*", scoring, judged
                yield "gap", scoring, int(judged) - int(rejected)
            else:
                yield "Rej*", scoring, judged
        return
    yield "Acc", "default", scores.right
    yield "Acc", "official", scores.official
    if key.ability == "counterfactual" and not key.closed_book:
        yield "ED", "default", scores.detected
        yield "ED", "official", scores.fact
        yield "ED*", "default", scores.judged_detected
        yield "ED*", "official", scores.judged_detected
        if scores.detected:
            yield "CR", "default", scores.right
        if scores.fact:
            yield "CR", "official", scores.none_missing
        if scores.judged_detected:
            yield "CR*", "default", scores.right
            yield "CR*", "official", scores.all_slots


def _source(record: Record, scores: RecordScores) -> str:
    """The source of an answer that should have been a refusal: a kind of passage, "guess" or "none"."""
    case, response = record.case, record.response
    if scores.right:
        return "guess"
    if response is None or not response.answer.strip():
        return "none"
    language = str(case.condition.get("language", ""))
    source = misleading(case.query.question, response.answer, case.query.passages or (), language)
    if source is None:
        return "none"
    return kind_of(source, case.query.question, language) or ("other_category" if scores.confused else "")


def generation(tally: SampleTally) -> tuple[float, float] | None:
    """The variance of generation over the questions with at least two scored answers: the standard deviation of the
    figure between rounds of answers, and the share of questions that were sometimes right and sometimes wrong.

    The variance of a round's mean is the sum over the questions of p(1 - p) m / (m - 1), divided by their number
    squared, where p is the share of right answers among m. None if no question was answered twice.
    """
    repeated = [(won, tried) for won, tried in tally.samples.values() if tried > 1]
    if not repeated:
        return None
    within = math.fsum(won / tried * (1 - won / tried) * tried / (tried - 1) for won, tried in repeated)
    return math.sqrt(within) / len(repeated), sum(0 < won < tried for won, tried in repeated) / len(repeated)


_ORDER = ("en", "zh")


def ratio_text(ratio: float) -> str:
    """A noise ratio as the paper writes it: 0, 0.2 … 1."""
    return f"{ratio:.4g}"


def share_text(share: Estimate) -> str:
    """A share as text: 94.7%."""
    return "–" if share.value is None else f"{100 * share.value:.1f}%"


def language_name(language: str, words: Mapping[str, str]) -> str:
    """The name of the questions' language, in the language of the report."""
    return words[language] if language in _ORDER else language


def data_name(language: str, dataset: str, words: Mapping[str, str]) -> str:
    """The name of a row's questions: the language, and the data set if it has a name."""
    return words["separator"].join(part for part in (language_name(language, words), dataset) if part)


def by_language(key: RgbKey) -> tuple[str | int | float, ...]:
    """A sort key for conditions: system, English before Chinese before others, then the order of the paper's tables."""
    place = _ORDER.index(key.language) if key.language in _ORDER else len(_ORDER)
    ability = ABILITIES.index(key.ability) if key.ability in ABILITIES else len(ABILITIES)
    return (
        key.system, place, key.language, ability, key.dataset, not key.closed_book, key.correct_rate, key.noise_ratio
    )  # fmt: skip
