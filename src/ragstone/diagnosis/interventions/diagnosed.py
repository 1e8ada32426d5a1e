"""Reads a run of interventions: for each question its evidence, its cause, and how sure that is."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np
from msgspec.structs import replace

from ragstone.diagnosis.interventions.causes import Cause, cause_of, lost_stage
from ragstone.diagnosis.interventions.conditions import SEARCHES
from ragstone.diagnosis.interventions.evidence import Evidence, facts_of
from ragstone.diagnosis.interventions.labels import labels_of
from ragstone.diagnosis.interventions.question import as_prompted
from ragstone.diagnosis.interventions.shared import Shared, shared_of
from ragstone.diagnosis.interventions.standing import untried
from ragstone.diagnosis.interventions.verification import SHOWN, seen_of, verified_of, withdraw
from ragstone.types import Record, Run

_DRAWS = 100


@dataclass(frozen=True)
class Diagnosed:
    """A question with its cause. `lost`: the stage that lost its gold, also where the answer is right. `confidence`:
    how often the cause stays the same when every answer is replaced by another one as often as answers changed by
    themselves in this run. `size`: the passages of its prompt. `untried`: the changes of a system that could
    be asked of it and were not."""

    evidence: Evidence
    cause: Cause
    lost: str
    labels: tuple[str, ...] = ()
    confidence: float = 1.0
    size: int = 0
    untried: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return self.evidence.id

    @cached_property
    def found(self) -> str:
        """How its gold passages were found."""
        return str(self.evidence.sample.meta.get("gold_found", ""))

    @property
    def missing(self) -> str:
        """The key of the text that says what is missing to know the cause; "" where it is known."""
        name = self.cause.missing
        return "missing_answer" if name and self.evidence.value(name) is None else f"missing_{name}" if name else ""

    def right(self, condition: str) -> float | None:
        """1 for a right answer under a condition, 0 for another one, None if it was not asked or scored. An error is a
        wrong answer as is; under a changed condition it tells nothing."""
        outcome = self.evidence.outcome(condition)
        unknown = (None, "unscored") if condition == "as_is" else (None, "unscored", "error")
        return None if outcome in unknown else float(outcome == "right")


def condition_of(record: Record) -> str:
    """The condition under which a question was asked."""
    return str(record.case.condition.get("intervention", "as_is"))


def by_condition(answers: Iterable[Record]) -> dict[str, Record]:
    """The records of one question by condition, with the passages of their prompts."""
    return {
        condition_of(one): one if one.response is None else replace(one, response=as_prompted(one.response))
        for one in answers
    }


def questions_of(run: Run, system: str, cases: Collection[str] | None = None) -> Iterator[dict[str, Record]]:
    """The records of each question by condition, in the order of the questions, or of these cases; those without a
    first answer are left out."""
    all_records = run.records(system=system, cases=cases)
    for _, group in groupby(all_records, key=lambda record: record.case.id.partition("/")[0]):
        records = by_condition(group)
        if "as_is" in records:
            yield records


@dataclass
class _Changes:
    """Answers that were asked for again, and those whose outcome changed."""

    asked: int = 0
    changed: int = 0

    @property
    def rate(self) -> float:
        return self.changed / self.asked if self.asked else 0.0


def diagnosed(
    run: Run, system: str, *, takes: frozenset[str], gates: Mapping[str, float] | None = None, sure: bool = True
) -> list[Diagnosed]:
    """Every question of a system with its cause. `sure`: compute the confidence, too."""
    return of_questions(questions_of(run, system), takes=takes, gates=gates, sure=sure)


def of_questions(
    questions: Iterable[Mapping[str, Record]],
    *,
    takes: frozenset[str],
    gates: Mapping[str, float] | None,
    sure: bool,
    shared: Shared | None = None,
) -> list[Diagnosed]:
    """The same for questions that are given as their records by condition: all of a system, as some conditions are
    shown to take effect by the answers to other questions. Answers that nobody asked for here are taken as they are.
    `shared`: what all questions of the run tell together, where these are not all."""
    evidences, seen, facts, gates = [], [], [], dict(gates or {})
    for records in questions:
        evidence = Evidence(records, takes, gates)
        seen.append(seen_of(evidence) if takes else None)
        facts.append(facts_of(evidence))
        for name in evidence.records:
            evidence.outcome(name)
        evidence.pack()
        evidences.append(evidence)
    verified = None if shared is None else shared.verified
    if shared is None and takes:
        verified = verified_of([one for one in seen if one is not None], shown=SHOWN in takes)
    for place, (evidence, one) in enumerate(zip(evidences, seen, strict=True)):
        withdraw(evidence, verified, one)
        if shared is None and evidence.withdrawn:
            facts[place] = facts_of(evidence)
            evidence.pack()
    rate, unstable = change_rate(evidences), any(evidence.changes_by_itself for evidence in evidences)
    together = shared_of(facts, verified) if shared is None else shared
    del facts, seen
    found = []
    for evidence in evidences:
        evidence.unstable_system, evidence.shared = unstable, together
        cause = cause_of(evidence)
        share = _confidence(evidence, cause, rate) if sure and rate else 1.0
        size = 0 if evidence.first is None else len(evidence.first.passages)
        lost, labels = lost_stage(evidence), labels_of(evidence, cause)
        item = Diagnosed(evidence, cause, lost, labels, share, size, untried(evidence))
        _read(item)
        found.append(item)
    return found


def _read(item: Diagnosed) -> None:
    """Reads what tables ask of every question from its texts, and packs these."""
    item.found, item.id, item.evidence.value("gold"), item.evidence.value("narrowed")
    item.evidence.pack()


def change_rate(evidences: list[Evidence]) -> float:
    """The share of questions whose answer was right once and wrong once when asked twice under the same condition."""
    pairs = [(evidence.outcome("as_is"), evidence.outcome("again")) for evidence in evidences]
    changes = _Changes()
    for first, second in pairs:
        if first not in (None, "unscored", "error") and second not in (None, "unscored", "error"):
            changes.asked += 1
            changes.changed += (first == "right") != (second == "right")
    return changes.rate


@dataclass
class _Resampled(Evidence):
    """Evidence in which some outcomes are the opposite."""

    flipped: frozenset[str] = field(default_factory=frozenset)

    def outcome(self, condition: str) -> str | None:
        outcome = super().outcome(condition)
        if condition not in self.flipped or outcome in (None, "error", "unscored"):
            return outcome
        return "wrong" if outcome == "right" else "right"


def _confidence(evidence: Evidence, cause: Cause, rate: float) -> float:
    names = sorted(name for name in evidence.records if name not in SEARCHES)
    digest = hashlib.sha256(evidence.sample.id.encode("utf-8", "surrogatepass")).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
    flips = rng.random((_DRAWS, len(names))) < rate
    known: dict[frozenset[str], str] = {frozenset(): cause.name}
    same = 0
    for row in flips:
        flipped = frozenset(name for name, flip in zip(names, row, strict=True) if flip)
        if flipped not in known:
            resampled = _Resampled(
                evidence.records, evidence.takes, evidence.gates, True, evidence.shared, evidence.withdrawn, flipped,
            )  # fmt: skip
            known[flipped] = cause_of(resampled).name
        same += known[flipped] == cause.name
    return same / _DRAWS
