"""The gold passages of a question: those that hold what its answer needs, and how they were found.

They come from the labels of the data; without labels from the corpus, where a passage states the reference ("corpus"),
or where the judge finds it useful for the reference ("judge"). A passage of a system holds a gold one if it states its
evidence (`statements`), however the system cuts and names its passages. Ids decide only where a label has no text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ragstone.analysis.statements import (
    UNKNOWN_SLOT,
    Part,
    Rarity,
    Statement,
    Subject,
    complete_each_other,
    is_another_version,
    no_subject,
    stated,
    statements_of,
)
from ragstone.metrics.rank import document_of
from ragstone.metrics.reference_core import readings
from ragstone.structs import Itself
from ragstone.text import find_answer
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage, Sample

Found: TypeAlias = Literal["labels", "corpus", "judge", ""]

EVIDENCE = "evidence"
"""What `Passage.meta` of a gold passage has: its statements."""
_MOST = 3  # gold passages that are taken from the corpus for one part of the answer
_PARTS: Sequence[Part] = ("", "rest", "value", "whole")
_WHOLE: Sequence[Part] = ("whole",)


def labelled(sample: Sample) -> tuple[Passage, ...]:
    """The gold passages that the data name."""
    return tuple(passage for passage in sample.passages if passage.relevant)


def states(passage: Passage, slots: Iterable[Sequence[str]]) -> bool:
    """Whether a passage states one of these parts of the answer, in any of its wordings."""
    text = f"{passage.title}\n{passage.text}"
    return any(alias.strip() and _found(alias, text) for slot in slots for alias in slot)


@lru_cache(maxsize=1024)
def _found(alias: str, text: str) -> bool:
    return bool(find_answer(alias, text))


def with_evidence(
    gold: Passage, question: str, slots: Sequence[Sequence[str]], *, subject: Subject = no_subject,
    wordings: Iterable[str] = (),
) -> Passage:  # fmt: skip
    """The gold passage with its statements. `wordings`: other texts of the passage that its label words differently,
    such as the document that its id names."""
    if not gold.text.strip():
        return gold
    found = statements_of(gold.text, gold.title, question, slots, subject)
    others = [text for text in wordings if text.strip() and not any(_is_about(one, text) for one in found)]
    stated_slots = dict.fromkeys(one.slot for one in found) or {UNKNOWN_SLOT: None}
    reworded = [*([] if found else [gold.text]), *others]
    found += tuple(Statement(slot, text, "") for slot in stated_slots for text in dict.fromkeys(reworded))
    return replace(gold, meta={**gold.meta, EVIDENCE: msgspec.to_builtins(found)})


def _is_about(statement: Statement, text: str) -> bool:
    """Whether a text states this, or is another version of the text that does."""
    return bool(stated(statement, text)) or is_another_version(statement, text)


def evidence_of(gold: Passage, slots: Sequence[Sequence[str]] = ()) -> tuple[Statement, ...]:
    """The statements of a gold passage: those found with it, else the sentences of its text that state the answer."""
    noted: Any = gold.meta.get(EVIDENCE)
    if noted is None:
        return _evidence(gold.text, gold.title, tuple(map(tuple, slots)))
    return _noted(Itself(noted))


@lru_cache(maxsize=256)
def _noted(noted: Itself) -> tuple[Statement, ...]:
    return msgspec.convert(noted.value, tuple[Statement, ...])


@lru_cache(maxsize=512)
def _evidence(text: str, title: str, slots: tuple[tuple[str, ...], ...]) -> tuple[Statement, ...]:
    return statements_of(text, title, "", slots) or (Statement(UNKNOWN_SLOT, text, ""),)


def part_of(passage: Passage, gold: Passage, slots: Sequence[Sequence[str]] = (), slot: int | None = None) -> Part:
    """How much a passage states of the evidence of this gold passage, for one part of the answer or for any."""
    return _reading(gold, slots, slot)(passage)


def _reading(gold: Passage, slots: Sequence[Sequence[str]], slot: int | None = None) -> Callable[[Passage], Part]:
    """`part_of` for many passages and the same evidence."""
    if not gold.text.strip():
        return lambda passage: "whole" if document_of(passage.id, (gold.id,)) == gold.id else ""
    found = [one for one in evidence_of(gold, slots) if slot is None or one.slot == slot]

    def part(passage: Passage) -> Part:
        most: Part = ""
        for one in found:
            known = stated(one, passage.text, passage.title)
            if known == "whole":
                return known
            most = max(most, known, key=_PARTS.index)
        return most

    return part


def pieces(passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]]) -> list[Passage]:
    """The passages that hold the gold; where none does, those that have the value or the rest of it."""
    readings = [_reading(one, slots) for one in gold]
    found = [(item, max((part(item) for part in readings), key=_PARTS.index, default="")) for item in passages]
    held = [item for item, part in found if part == "whole"]
    return held or [item for item, part in found if part]


def is_split(passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]]) -> bool:
    """Whether these passages state some of the gold only in parts: none has all that the answer needs, one has the
    value without what it is the value of, or several have the sentence together."""
    texts = [passage.text for passage in passages]
    for one in lacking(passages, gold, slots):
        parts = {part_of(item, one, slots) for item in passages}
        if "value" in parts or any(complete_each_other(statement, texts) for statement in evidence_of(one, slots)):
            return True
    return False


def holds(passage: Passage, gold: Passage, slots: Sequence[Sequence[str]] = ()) -> bool:
    """Whether a passage states the evidence of this gold passage, or of one part of the answer in it."""
    return part_of(passage, gold, slots) == "whole"


def _slots_of(gold: Passage, slots: Sequence[Sequence[str]]) -> list[int | None]:
    """The parts of the answer that a gold passage states; [None] where that is not known."""
    found = {one.slot for one in evidence_of(gold, slots)} if gold.text.strip() else set()
    return [*sorted(found)] if found - {UNKNOWN_SLOT} else [None]


def lacking(
    passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]],
    *, enough: Sequence[Part] = _WHOLE,
) -> list[Passage]:  # fmt: skip
    """The gold passages of which these passages do not hold every part of the answer. `enough`: what of a statement a
    passage needs."""

    def has(one: Passage, slot: int | None) -> bool:
        part = _reading(one, slots, slot)
        return any(part(item) in enough for item in passages)

    return [one for one in gold if not all(has(one, slot) for slot in _slots_of(one, slots))]


def covered(
    passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]],
    *, every: bool, enough: Sequence[Part] = _WHOLE,
) -> bool:  # fmt: skip
    """Whether these passages hold the gold: each gold passage (`every`), else one of them, or one for each part of the
    answer where the gold passages state the parts."""
    if every:
        return not lacking(passages, gold, slots, enough=enough)
    every_slot = dict.fromkeys(slot for item in gold for slot in _slots_of(item, slots))
    known = [slot for slot in every_slot if len(every_slot) == 1 or slot is not None]
    readings = ([_reading(item, slots, slot) for item in gold] for slot in known)
    return all(any(part(passage) in enough for passage in passages for part in some) for some in readings)


def rank_of(passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]] = ()) -> int | None:
    """The rank, from 1, of the first gold passage; None if none is there."""
    ranks = (n for n, item in enumerate(passages, 1) if any(holds(item, one, slots) for one in gold))
    return next(ranks, None)


@dataclass(frozen=True)
class CorpusIndex:
    """The documents of a system, to look up gold passages. `chunks` are what a retriever would index."""

    documents: Mapping[str, Passage]
    chunks: tuple[Passage, ...]

    @classmethod
    def of(cls, documents: Iterable[Passage], chunks: Iterable[Passage]) -> "CorpusIndex":
        return cls({passage.id: passage for passage in documents}, tuple(chunks))

    def named(self, gold: Passage) -> Passage | None:
        """The document that the label's id names."""
        return self.documents.get(document_of(gold.id, self.documents))

    def subject(self, questions: Iterable[str]) -> Subject:
        """Which words of these questions tell what a sentence of the documents is about."""
        return Rarity((f"{one.title}\n{one.text}" for one in self.documents.values()), questions)

    def complete(self, gold: Passage, sample: Sample) -> tuple[Passage, ...]:
        """A label that names a document only: the chunks of it that state the answer, else the whole document."""
        known = self.named(gold)
        if gold.text.strip() or known is None:
            return (gold,)
        own = self._chunks_of.get(known.id, ())
        chunks = {chunk.id: chunk for slot in sample.references for chunk in _stating(slot, own, sample.question)}
        return tuple(replace(chunk, relevant=True) for chunk in [*chunks.values()][:_MOST]) or (
            replace(gold, text=known.text, title=known.title),
        )

    @cached_property
    def _chunks_of(self) -> dict[str, list[Passage]]:
        found: dict[str, list[Passage]] = {}
        for chunk in self.chunks:
            found.setdefault(document_of(chunk.id, self.documents), []).append(chunk)
        return found

    def stating(self, sample: Sample, ranked: Sequence[Passage]) -> tuple[Passage, ...]:
        """The passages that state the reference: of those ranked for question and reference, the first of each part of
        the answer. () if a part is stated nowhere."""
        found: dict[str, Passage] = {}
        for slot in sample.references:
            matching = _stating(slot, ranked, sample.question)
            if not matching:
                return ()
            found |= {passage.id: replace(passage, relevant=True, score=None) for passage in matching}
        return tuple(found.values())


def _stating(aliases: Sequence[str], ranked: Sequence[Passage], question: str) -> list[Passage]:
    """The passages that state a part of the answer, in one reading of it: the first ones of those with the wording
    itself; of those with what it says beyond the question, or with an item of it, the one with most of the question."""
    for items in readings(aliases, question):
        stating = [[passage for passage in ranked if states(passage, [item])] for item in items]
        if all(stating):
            if items == [list(aliases)]:
                return stating[0][:_MOST]
            asked = content_words(question, "")
            return [max(some, key=lambda one: len(words_in(f"{one.title}\n{one.text}", asked, ""))) for some in stating]
    return []
