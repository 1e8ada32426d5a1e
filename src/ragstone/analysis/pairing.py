"""What a side of a comparison holds: its scores by pair and metric, and what was asked in each pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from ragstone.errors import UsageError
from ragstone.metrics.judge.record import steps_by_metric
from ragstone.types import Case, Passage, Record, Run, Score, to_json

__all__ = ["Held", "One", "Pair", "Side", "read_side"]

Pair = tuple[str, str]  # sample id, condition as text
# Of the condition, what does not make another pair: how many documents came of it, which judgement of an answer it is,
# and what a length in tokens came to, which differs between models by their tokenizers.
_NO_PART = ("documents", "judge_repeat", "length_reached", "depth_reached", "tokenizer")
# Of how a text is to be made ("recipe"), what follows from who counts its tokens.
_COUNTED = ("sentences", "at", "wanted")
_SHOWN = 20


@dataclass(frozen=True)
class Side:
    """One system of one run. `name` is what it is called in tables."""

    run: Run
    system: str
    name: str


@dataclass(frozen=True)
class One:
    """A score of a pair: several judgements of one answer (`--repeat`) are one, their mean."""

    value: float | None
    failed: bool


@dataclass
class Held:
    """A side, read. `asked` has a digest of what was asked in a pair; `groups` the values that it is grouped by;
    `judges` the judge's models as the endpoint called them."""

    scores: dict[Pair, dict[str, One]] = field(default_factory=dict)
    asked: dict[Pair, bytes] = field(default_factory=dict)
    groups: dict[Pair, str] = field(default_factory=dict)
    conditions: dict[Pair, dict[str, str]] = field(default_factory=dict)
    metrics: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)
    judges: tuple[str, ...] = ()

    def varying(self, pairs: Sequence[Pair]) -> dict[Pair, str]:
        """Of the condition of each of these pairs what is not the same in all of them, as text."""
        seen: dict[str, set[str | None]] = {}
        names = {name for pair in pairs for name in self.conditions[pair]}
        for pair in pairs:
            for name in names:
                seen.setdefault(name, set()).add(self.conditions[pair].get(name))
        shown = sorted(name for name, values in seen.items() if len(values) > 1)
        return {
            pair: ", ".join(f"{name}={held[name]}" for name in shown if name in held)
            for pair in pairs
            for held in [self.conditions[pair]]
        }


def read_side(side: Side, where: Mapping[str, str], group_by: Sequence[str]) -> Held:
    """Reads the records of a side, those of `where` alone. A record without an answer counts as a failed score of every
    metric that the side has. UsageError where no record is as `where` says, or `group_by` names what no record has."""
    found, judges = Held(), set[str]()
    several: dict[Pair, dict[str, list[Score]]] = {}
    seen: dict[str, dict[str, None]] = {}
    for record in side.run.records(system=side.system):
        traits = _traits(record)
        for name, value in traits.items():
            seen.setdefault(name, {})[value] = None
        if any(traits.get(name) != value for name, value in where.items()):
            continue
        pair = _pair(record.case)
        digest = _digest(record.case)
        number = 2  # two rows of one id are two samples, in their order
        while found.asked.get(pair, digest) != digest:
            pair = (pair[0], f"{_pair(record.case)[1]} #{number}")
            number += 1
        found.asked[pair] = digest
        found.conditions[pair] = {
            name: str(value) for name, value in record.case.condition.items() if name not in _NO_PART
        }
        found.groups[pair] = ", ".join(f"{name}={traits[name]}" for name in group_by if name in traits)
        scores = several.setdefault(pair, {})
        for name, score in record.scores.items():
            scores.setdefault(name, []).append(score)
        for name, steps in steps_by_metric(record).items():
            found.judged.update([name] if steps else [])
            judges.update(step.model for step in steps if step.model)
    if unknown := [name for name in (*where, *group_by) if name not in seen]:
        raise UsageError(f"No case of {side.name} has {unknown[0]!r}; there are: {', '.join(sorted(seen)[:_SHOWN])}.")
    if not several:
        if not where:
            raise UsageError(f"{side.name} has no answers yet: run its command again.")
        values = "; ".join(f"{name} is {', '.join(list(seen[name])[:_SHOWN])}" for name in where)
        raise UsageError(f"No case of {side.name} is as --where says: {values}.")
    found.metrics = {name for scores in several.values() for name in scores}
    lost = dict.fromkeys(found.metrics, One(None, True))
    for pair, scores in several.items():
        found.scores[pair] = {name: _one(held) for name, held in scores.items()} if scores else lost
    found.judges = tuple(sorted(judges))
    return found


def _traits(record: Record) -> dict[str, str]:
    """What cases are chosen and grouped by: the condition, and the columns of the user's data."""
    columns = record.case.sample.meta.get("columns")
    held = {**(columns if isinstance(columns, Mapping) else {}), **record.case.condition}
    return {name: str(value) for name, value in held.items() if name not in _NO_PART}


def _pair(case: Case) -> Pair:
    condition = case.condition
    told = ", ".join(f"{name}={condition[name]}" for name in sorted(condition) if name not in _NO_PART)
    return case.sample.id, told


def _digest(case: Case) -> bytes:
    """Of all that was asked and is known to be right; not of what the system retrieved or answered."""
    sample, query = case.sample, case.query
    gold = sorted(to_json([one.id, one.relevant, one.meta.get("grade")]) for one in sample.passages)
    asked = [query.question, None if query.passages is None else [_shown(one) for one in query.passages], query.history]
    text = to_json([sample.question, sample.references, gold, asked])
    return blake2b(text.encode(), digest_size=16).digest()


def _shown(passage: Passage) -> list[Any]:
    meta = passage.meta
    if isinstance(recipe := meta.get("recipe"), Mapping):
        kept = {name: value for name, value in recipe.items() if name not in _COUNTED}
        meta = {**meta, "recipe": kept | {"needles": sorted(recipe.get("needles", ()))}}
    return [passage.title, passage.text, passage.relevant, meta]


def _one(scores: Sequence[Score]) -> One:
    values = [score.value for score in scores if score.value is not None]
    return One(
        sum(values) / len(values) if values else None,
        not values and any(score.status == "failed" for score in scores),
    )
