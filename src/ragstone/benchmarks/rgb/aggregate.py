"""One pass over a run's records, into counters: all that the tables and charts are made of.

A record leaves a few bits: for each measure, how often a question was right of how often it was scored. Records are
streamed and not kept, so memory grows with the questions and conditions, not with passages and answers.

Measures are the columns of the paper. "Acc" (right), "Rej" and "ED" (by wording), "CR" (right among ED) exist in two
scorings, ragstone's `default` and the `official` one to the count; "Rej*", "ED*" are the judge's and the same in both.
"CR*" is right among ED* (the paper's CR), "gap" is Rej* - Rej, and "guess" right at noise ratio 1, where no document
holds the answer.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ragstone.benchmarks.source_attribution import misleading
from ragstone.metrics.judge.record import steps_of
from ragstone.stats import Estimate
from ragstone.types import Record, Run, Scalar, Score

__all__ = ["ABILITIES", "SCORINGS", "Cell", "Counts", "Group", "Key", "Marks", "Tally", "count", "generation", "marks"]

ABILITIES = ("noise", "rejection", "integration", "counterfactual")
SCORINGS = ("default", "official")
_JUDGE_REJECTION, _JUDGE_ERROR = "rgb.judge.rejection", "rgb.judge.error_detection"


@dataclass(frozen=True)
class Marks:
    """What the metrics say of one record; None where a metric did not score it.

    `right` and `rejected`, `detected` are ragstone's own; `official` is whether the official program counts the row in
    its `tt`, `label` and `fact` its verdicts a slot and on errors; `judged_*` are the judge's.
    """

    right: bool | None
    rejected: bool | None
    detected: bool | None
    official: bool | None
    label: tuple[int, ...] | None
    fact: bool | None
    judged_rejected: bool | None
    judged_detected: bool | None

    @property
    def all_slots(self) -> bool | None:
        """Official: no slot is missing and one is there (a refusal, [-1], is neither)."""
        return None if self.label is None else 0 not in self.label and 1 in self.label

    @property
    def none_missing(self) -> bool | None:
        """Official, as its `correct_tt` reads a label: no slot is missing; a refusal, [-1], passes too."""
        return None if self.label is None else 0 not in self.label


def marks(record: Record) -> Marks:
    """Read the scores of a record."""
    scores = record.scores
    official = scores.get("rgb.official")
    evidence = official.evidence if official is not None and isinstance(official.evidence, dict) else {}
    label, fact = evidence.get("label"), evidence.get("factlabel")
    return Marks(
        right=_bit(scores.get("answer_match")),
        rejected=_bit(scores.get("refusal")),
        detected=_bit(scores.get("error_detection")),
        official=_bit(official),
        label=tuple(label) if isinstance(label, list | tuple) else None,
        fact=None if fact is None else bool(fact),
        judged_rejected=_bit(scores.get(_JUDGE_REJECTION)),
        judged_detected=_bit(scores.get(_JUDGE_ERROR)),
    )


def _bit(score: Score | None) -> bool | None:
    return None if score is None or score.value is None else score.value >= 1.0


@dataclass
class Tally:
    """For each question, how often it was right of how often it was scored (repeats add up)."""

    samples: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, sample: str, value: int, pool: dict[tuple[int, int], tuple[int, int]]) -> None:
        """Count one scored record; `pool` holds the few different pairs of counts, so that each is kept once."""
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
        """The share of right answers, of `total` that were asked for."""
        return Estimate.of_share(self.samples.values(), total=total)

    def only(self, samples: set[str]) -> "Tally":
        """The counts of these questions alone."""
        return Tally({sample: pair for sample, pair in self.samples.items() if sample in samples})

    def majority(self) -> set[str]:
        """The questions that were right in more than half of their scored answers."""
        return {sample for sample, (won, tried) in self.samples.items() if 2 * won > tried}


@dataclass(frozen=True, order=True)
class Key:
    """A condition of one system: what one cell of a table is about. `closed_book` marks the half of the counterfactual
    testbed that is asked without documents, to see what the model knows."""

    system: str
    ability: str
    language: str
    dataset: str
    closed_book: bool = False
    noise_ratio: float = 0.0
    correct_rate: float = 0.0


@dataclass
class Cell:
    """A condition: how many records there are for each question, failed ones too, and a tally for each measure and
    scoring that has any. `planned`: how many there were to be, where that is known."""

    asked: dict[str, int] = field(default_factory=dict)
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    planned: int = 0

    @property
    def total(self) -> int:
        return max(self.planned, sum(self.asked.values()))

    def tally(self, measure: str, scoring: str) -> Tally | None:
        """The tally of a measure; None where no record was scored on it."""
        return self.tallies.get((measure, scoring))


@dataclass
class Group:
    """Records of one system and language sorted into kinds: `base` counts all scored, `kinds` those of each kind."""

    base: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)


@dataclass
class Counts:
    """The counters of a run.

    `rejections` sorts what happened where no document holds the answer: "rejected", or the kind of the passage that
    the answer came from ("" where the data do not say), or "none". `positions` (1 is the first) and `relevant_kinds`
    have the accuracy of noise cases with exactly one relevant document, by where it stood and what it is.
    Each is by (system, language). `judges` has the names of the models that judged, as their providers gave them.
    """

    scoring: str
    cells: dict[Key, Cell] = field(default_factory=dict)
    rejections: dict[tuple[str, str], Group] = field(default_factory=dict)
    positions: dict[tuple[str, str], dict[int, Tally]] = field(default_factory=dict)
    relevant_kinds: dict[tuple[str, str], dict[str, Tally]] = field(default_factory=dict)
    judges: set[str] = field(default_factory=set)
    repeats: int = 1
    _pool: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def keys(self, ability: str, *, closed_book: bool = False) -> list[Key]:
        """The conditions of an ability, sorted."""
        return sorted(key for key in self.cells if key.ability == ability and key.closed_book == closed_book)

    def has(self, scoring: str) -> bool:
        """Whether any record was scored in this scoring."""
        return any(known == scoring for cell in self.cells.values() for _, known in cell.tallies)

    @property
    def scorings(self) -> list[str]:
        """The scorings that exist in this run, the headline first."""
        order = [self.scoring, *(other for other in SCORINGS if other != self.scoring)]
        return [scoring for scoring in order if self.has(scoring)] or [self.scoring]

    @property
    def judged(self) -> bool:
        """Whether a judge scored any record."""
        return any(measure in ("Rej*", "ED*") for cell in self.cells.values() for measure, _ in cell.tallies)

    def add(self, record: Record, *, kinds: bool) -> None:
        """Count one record. `kinds` False leaves out what must read the passages."""
        key = _key(record.system_id, record.case.condition)
        if key is None:
            return
        cell = self.cells.setdefault(key, Cell())
        sample = record.case.sample.id
        sample = self._names.setdefault(sample, sample)
        cell.asked[sample] = cell.asked.get(sample, 0) + 1
        self.repeats = max(self.repeats, cell.asked[sample])
        if record.response is None:
            return
        found = marks(record)
        for name in (_JUDGE_REJECTION, _JUDGE_ERROR):
            if (score := record.scores.get(name)) is not None:
                self.judges.update(step.model for step in steps_of(score) if step.model)
        for measure, scoring, value in _measured(key, found):
            cell.tallies.setdefault((measure, scoring), Tally()).add(sample, value, self._pool)
        if kinds:
            self._add_kinds(record, key, found, sample)

    def _add_kinds(self, record: Record, key: Key, found: Marks, sample: str) -> None:
        who = (key.system, key.language)
        if key.ability == "rejection":
            rejected = found.rejected if self.scoring == "default" else found.official
            if rejected is not None:
                group = self.rejections.setdefault(who, Group())
                group.base.add(sample, 1, self._pool)
                kind = "rejected" if rejected else _source(record, found)
                group.kinds.setdefault(kind, Tally()).add(sample, 1, self._pool)
        if key.ability == "noise":
            passages = record.case.query.passages or ()
            relevant = [place for place, passage in enumerate(passages) if passage.relevant]
            right = found.right if self.scoring == "default" else found.official
            if len(relevant) == 1 and len(passages) > 1 and right is not None:
                places = self.positions.setdefault(who, {})
                places.setdefault(relevant[0] + 1, Tally()).add(sample, right, self._pool)
                kind = str(passages[relevant[0]].meta.get("kind", ""))
                if kind:
                    known = self.relevant_kinds.setdefault(who, {})
                    known.setdefault(kind, Tally()).add(sample, right, self._pool)


def count(run: Run, *, scoring: str = "default", kinds: bool = True) -> Counts:
    """Read a run once. `scoring` is the headline's; `kinds` False is quicker and leaves out the last three counters."""
    counts = Counts(scoring)
    for record in run.records():
        counts.add(record, kinds=kinds)
    for system, plan in run.plans().items():
        for cell in plan.cells:
            if (key := _key(system, cell.condition)) is not None:
                counts.cells.setdefault(key, Cell()).planned = cell.total
    return counts


def _key(system: str, condition: Mapping[str, Scalar]) -> Key | None:
    ability = condition.get("ability")
    if not isinstance(ability, str):
        return None
    return Key(
        system,
        ability,
        str(condition.get("language", "")),
        str(condition.get("dataset", "")),
        ability == "counterfactual" and bool(condition.get("closed_book", False)),
        float(condition.get("noise_ratio", 0.0)),
        float(condition.get("correct_rate", 0.0)),
    )


def _measured(key: Key, found: Marks) -> Iterator[tuple[str, str, int]]:
    """(measure, scoring, value) of everything that this record was scored on."""
    for measure, scoring, value in _all_measures(key, found):
        if value is not None:
            yield measure, scoring, int(value)


def _all_measures(key: Key, found: Marks) -> Iterator[tuple[str, str, int | bool | None]]:
    if key.ability == "rejection":
        judged = found.judged_rejected
        yield "guess", "default", found.right
        yield "guess", "official", found.all_slots
        for scoring, rejected in (("default", found.rejected), ("official", found.official)):
            yield "Rej", scoring, rejected
            if rejected is not None and judged is not None:
                yield "Rej*", scoring, judged
                yield "gap", scoring, int(judged) - int(rejected)
            else:
                yield "Rej*", scoring, judged
        return
    yield "Acc", "default", found.right
    yield "Acc", "official", found.official
    if key.ability == "counterfactual" and not key.closed_book:
        yield "ED", "default", found.detected
        yield "ED", "official", found.fact
        yield "ED*", "default", found.judged_detected
        yield "ED*", "official", found.judged_detected
        if found.detected:
            yield "CR", "default", found.right
        if found.fact:
            yield "CR", "official", found.none_missing
        if found.judged_detected:
            yield "CR*", "default", found.right
            yield "CR*", "official", found.all_slots


def _source(record: Record, found: Marks) -> str:
    """Where an answer that should have been a refusal came from: a kind of passage, "guess" or "none"."""
    case, response = record.case, record.response
    if found.right:
        return "guess"
    if response is None or not response.answer.strip():
        return "none"
    language = str(case.condition.get("language", ""))
    source = misleading(case.query.question, response.answer, case.query.passages or (), language)
    return "none" if source is None else str(source.passage.meta.get("kind", ""))


def generation(tally: Tally) -> tuple[float, float] | None:
    """The variance of generation, of the questions with at least two scored answers: the standard deviation of the
    figure from one round of answers to the next, and the share of the questions that were right now and wrong then.

    The variance of a round's mean is the sum over the questions of p(1 - p) m / (m - 1), divided by their number
    squared, where p is the share of right answers among m. None where no question was answered twice.
    """
    twice = [(won, tried) for won, tried in tally.samples.values() if tried > 1]
    if not twice:
        return None
    within = math.fsum(won / tried * (1 - won / tried) * tried / (tried - 1) for won, tried in twice)
    return math.sqrt(within) / len(twice), sum(0 < won < tried for won, tried in twice) / len(twice)
