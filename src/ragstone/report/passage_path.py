"""What became of each passage on its way to the prompt, and how the passages of two answers differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from ragstone.analysis.gold_passages import holds, labelled
from ragstone.responses.stages import STAGES, passages_at
from ragstone.types import Passage, Record

_PROMPT = STAGES[-1]
_GOLD = 20  # gold passages that are looked for


@dataclass(frozen=True)
class PassagePath:
    """A passage with its rank, from 1, at each stage that has it, in the order of the stages. `gold`: it is labelled as
    relevant, in itself or in the data."""

    passage: Passage
    ranks: Mapping[str, int] = field(default_factory=dict)
    gold: bool = False

    @property
    def in_prompt(self) -> bool:
        """Whether the model was given it."""
        return _PROMPT in self.ranks


def prompted(record: Record) -> tuple[Passage, ...]:
    """The passages that the model was given: those the system returned, else those of the query."""
    return (record.response and record.response.passages) or record.case.query.passages or ()


def passage_paths(record: Record) -> list[PassagePath]:
    """Every passage of the answer: first those of the prompt, in its order, then those that were only fetched or
    reranked, and last the gold passages of the data that no stage has."""
    stages: dict[str, Sequence[Passage]] = {name: _at(record, name) for name in STAGES[:-1]}
    stages[_PROMPT] = prompted(record)
    found: dict[tuple[str, str], Passage] = {}
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for stage in (_PROMPT, *reversed(STAGES[:-1])):
        for rank, passage in enumerate(stages[stage], 1):
            key = (passage.id, passage.text)
            found.setdefault(key, passage)
            ranks.setdefault(key, {}).setdefault(stage, rank)
    slots = record.case.sample.references
    for gold in labelled(record.case.sample)[:_GOLD]:
        if not any(holds(passage, gold, slots) for passage in found.values()):
            found[gold.id, gold.text], ranks[gold.id, gold.text] = gold, {}
    return [
        PassagePath(
            passage, {name: ranks[key][name] for name in STAGES if name in ranks[key]}, is_gold(record, passage)
        )
        for key, passage in found.items()
    ]


def is_gold(record: Record, passage: Passage) -> bool:
    """Whether a passage is labelled as relevant, or holds one that the data label so."""
    if passage.relevant is not None:
        return passage.relevant
    return any(holds(passage, gold, record.case.sample.references) for gold in labelled(record.case.sample)[:_GOLD])


def _at(record: Record, stage: str) -> Sequence[Passage]:
    """The passages of a stage; none where a file has something else there."""
    try:
        return (record.response and passages_at(record.response, stage)) or ()
    except msgspec.ValidationError:
        return ()


@dataclass(frozen=True)
class PassageChange:
    """A passage of two prompts with its rank in each, from 1; None where it is missing."""

    passage: Passage
    before: int | None
    after: int | None

    @property
    def kind(self) -> Literal["kept", "moved", "new", "lost"]:
        """What became of it on the way from the first prompt to the second."""
        if self.before is None:
            return "new"
        return "lost" if self.after is None else "kept" if self.before == self.after else "moved"


def changes(before: Record, after: Record) -> list[PassageChange]:
    """The passages of the second prompt in its order, then those of the first that it lacks. Passages are the same if
    they have the same id and text, or else, where chunks were made anew, the same text."""
    first, second = prompted(before), prompted(after)
    ranks: dict[str, int] = {}
    for rank, passage in enumerate(first, 1):
        ranks.setdefault(passage.text, rank)
    found = [PassageChange(passage, ranks.get(passage.text), rank) for rank, passage in enumerate(second, 1)]
    texts = {passage.text for passage in second}
    return [
        *found,
        *(PassageChange(passage, rank, None) for rank, passage in enumerate(first, 1) if passage.text not in texts),
    ]
