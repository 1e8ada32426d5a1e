"""Reads one side of a comparison: its scores by pair and metric, and a digest of each pair's input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import FOUND, NOT_IDENTIFYING, check_selection, matches
from ragstone.errors import UsageError
from ragstone.metrics.judge.record import steps_by_metric
from ragstone.structs import to_json
from ragstone.types import Case, Passage, Run, Score

__all__ = ["Pair", "PairScore", "Side", "SideScores", "case_digest", "pair_of", "read_side", "retrieved_values"]

Pair = tuple[str, str]  # sample id, condition as text
# Parts of a generated text's recipe that depend on the tokenizer.
_TOKENIZER_DEPENDENT = ("sentences", "at", "wanted")


@dataclass(frozen=True)
class Side:
    """One system of one run. `name`: its name in tables. `axis` and `value` select the cases retrieved with this value
    of a condition (`retriever`, `bm25`); the axis then does not identify a pair."""

    run: Run
    system: str
    name: str
    axis: str = ""
    value: str = ""


@dataclass(frozen=True)
class PairScore:
    """The score of a pair; the mean of several judgements of the same answer (`--repeat`)."""

    value: float | None
    failed: bool


@dataclass
class SideScores:
    """The scores of one side. `digests`: a hash of each pair's input. `groups`: the group of each pair. `judged`:
    metrics that used a judge. `judges`: the judge's models as named by its endpoint."""

    scores: dict[Pair, dict[str, PairScore]] = field(default_factory=dict)
    digests: dict[Pair, bytes] = field(default_factory=dict)
    groups: dict[Pair, str] = field(default_factory=dict)
    conditions: dict[Pair, dict[str, str]] = field(default_factory=dict)
    metrics: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)
    judges: tuple[str, ...] = ()

    def varying(self, pairs: Sequence[Pair]) -> dict[Pair, str]:
        """The parts of each pair's condition that differ among these pairs, as text."""
        conditions = {pair: self.conditions[pair] for pair in pairs}
        names = {name for condition in conditions.values() for name in condition}
        varying = sorted(name for name in names if len({condition.get(name) for condition in conditions.values()}) > 1)
        return {
            pair: ", ".join(f"{name}={condition[name]}" for name in varying if name in condition)
            for pair, condition in conditions.items()
        }


def read_side(side: Side, where: Mapping[str, str], group_by: Sequence[str]) -> SideScores:
    """Reads the records of a side that match `where`. A record without an answer counts as a failed score of every
    metric of this side. Raises UsageError if no record matches, or none has a name of `group_by`."""
    result, judges = SideScores(), set[str]()
    scores_by_pair: dict[Pair, dict[str, list[Score]]] = {}
    values_by_name: dict[str, dict[str, None]] = {}
    fields = fields_of(side.run, (*where, *group_by))
    for record in side.run.records(system=side.system, texts=False):
        values = fields(record.case)
        for name, value in values.items():
            values_by_name.setdefault(name, {})[value] = None
        if not matches(values, where) or (side.axis and retrieved_values(record.case, side.axis) != side.value):
            continue
        identity = _identity(record.case, side.axis)
        pair = _pair(record.case, identity)
        digest = case_digest(record.case)
        number = 2  # rows with the same id are different samples, numbered in order
        while result.digests.get(pair, digest) != digest:
            pair = (pair[0], f"{_pair(record.case, identity)[1]} #{number}")
            number += 1
        result.digests[pair] = digest
        result.conditions[pair] = {name: str(record.case.condition[name]) for name in identity}
        result.groups[pair] = ", ".join(f"{name}={values[name]}" for name in group_by if name in values)
        scores = scores_by_pair.setdefault(pair, {})
        for name, score in record.scores.items():
            scores.setdefault(name, []).append(score)
        for name, steps in steps_by_metric(record).items():
            result.judged.update([name] if steps else [])
            judges.update(step.model for step in steps if step.model)
    check_selection(side.name, where, group_by, values_by_name, empty=not scores_by_pair)
    if not scores_by_pair:
        raise UsageError(f"{side.name} has no answers yet: run its command again.")
    result.metrics = {name for scores in scores_by_pair.values() for name in scores}
    all_failed = dict.fromkeys(result.metrics, PairScore(None, True))
    for pair, scores in scores_by_pair.items():
        result.scores[pair] = {name: _pair_score(repeats) for name, repeats in scores.items()} if scores else all_failed
    result.judges = tuple(sorted(judges))
    return result


def retrieved_values(case: Case, axis: str) -> str | None:
    """The value of a retrieval axis ("retriever", "k", "chunk"); None for a case without retrieval."""
    return str(case.condition[axis]) if case.condition.get("retriever") and axis in case.condition else None


def _identity(case: Case, axis: str) -> list[str]:
    """The parts of a condition that identify a pair; parts that describe retrieval results do not."""
    others = {axis, *(FOUND if case.condition.get("retriever") else ()), *NOT_IDENTIFYING}
    return sorted(name for name in case.condition if name not in others)


def pair_of(case: Case) -> Pair:
    """The pair that a case belongs to: its sample under one condition."""
    return _pair(case, _identity(case, ""))


def _pair(case: Case, identity: Sequence[str]) -> Pair:
    return case.sample.id, ", ".join(f"{name}={case.condition[name]}" for name in identity)


def case_digest(case: Case) -> bytes:
    """A digest of question, references and given passages. It excludes retrieved passages, the answer, and labels,
    which may belong to chunks of another size."""
    sample, query = case.sample, case.query
    given = None if case.condition.get("retriever") else query.passages
    passages = None if given is None else [_digested(passage) for passage in given]
    text = to_json([sample.question, sample.references, [query.question, passages, query.history]])
    return blake2b(text.encode(), digest_size=16).digest()


def _digested(passage: Passage) -> list[Any]:
    meta = passage.meta
    if isinstance(recipe := meta.get("recipe"), Mapping):
        fixed = {name: value for name, value in recipe.items() if name not in _TOKENIZER_DEPENDENT}
        meta = {**meta, "recipe": fixed | {"needles": sorted(recipe.get("needles", ()))}}
    return [passage.title, passage.text, passage.relevant, meta]


def _pair_score(repeats: Sequence[Score]) -> PairScore:
    values = [score.value for score in repeats if score.value is not None]
    return PairScore(
        sum(values) / len(values) if values else None,
        not values and any(score.status == "failed" for score in repeats),
    )
