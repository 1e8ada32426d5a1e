"""What a system can find: the passages of its index, to see which evidence is missing from it, or stands in it with
another value.

An index has the evidence of a gold passage if a passage states it (`gold.holds`), or has its sentence as a chunk of the
true document. A passage about the same subject that does not state it may be another version; only the answers that it
leads to show that (`conditions.rivals`).
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ragstone.analysis.gold_passages import evidence_of, holds, part_of
from ragstone.analysis.statements import (
    UNKNOWN_SLOT,
    Part,
    Statement,
    has_another_value,
    is_another_version,
    letters,
)
from ragstone.text import detect, sentences
from ragstone.text.content_words import content_words
from ragstone.types import Passage, Sample

Listed: TypeAlias = Literal["yes", "part", "cut", "no"]
"""Whether an index has the evidence of a question: all of it; that of each part of the answer, and not of every other
gold passage; some of it only in passages that stand next to each other, cut by their borders; or less."""
_NEAREST = 20  # passages that are compared with a sentence
_AROUND = 2  # passages before and behind one that may have the other columns of its table
_RAREST = 8  # words of it by which they are looked up
_COMMON = 2000  # passages with a word, beyond which the word does not look up any
_SAME_SUBJECT = 0.8  # share of the subject's words, by weight, that another version has
_VERSIONS = 3  # other versions that are given to a system


class SystemIndex:
    """The passages of an index, by their words."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self._places: dict[str, array[int]] = {}
        for place, passage in enumerate(self.passages):
            for word in _words(_whole(passage)):
                self._places.setdefault(word, array("L")).append(place)

    def lists(self, gold: Sequence[Passage], sample: Sample) -> tuple[Listed, list[Passage]]:
        """How much of the evidence of these gold passages the index has, and those of which it lacks a part."""
        wanted = [{one.slot for one in evidence_of(item, sample.references)} for item in gold]
        found = [self._slots(item, sample) for item in gold]
        lacking = [item for item, slots, has in zip(gold, wanted, found, strict=True) if not slots <= has]
        known = set[int]().union(*wanted) - {UNKNOWN_SLOT}
        if not set[int]().union(*found) >= (known or {UNKNOWN_SLOT}):
            joined = [has | self._slots(item, sample, joined=True) for item, has in zip(gold, found, strict=True)]
            whole = set[int]().union(*joined) >= (known or {UNKNOWN_SLOT})
            return "cut" if whole else "no", lacking
        others = [has for slots, has in zip(wanted, found, strict=True) if slots == {UNKNOWN_SLOT}]
        return "yes" if all(others) else "part", lacking

    def versions(
        self, gold: Passage, sample: Sample, truth: "SystemIndex | None" = None, named: Passage | None = None
    ) -> tuple[Passage, ...]:
        """The passages about the same subject that do not state the evidence, the nearest first: what may be the
        document with another value. What the true documents state as well is no other version. `named`: the true
        document that the gold passage names by its id; a label in words of its own need not have the question's."""
        own = _words(_whole(gold))
        asked = _words(sample.question) & (own if named is None else own | _words(_whole(named)))
        sought = evidence_of(gold, sample.references)
        near = self._nearest(asked | {word for one in sought for word in _words(one.text)})
        return tuple(
            passage
            for passage in near
            if (
                self._share(asked, _words(_whole(passage))) >= _SAME_SUBJECT
                or _is_version(passage, sought)
                or any(is_old(passage, one) for one in sought)
            )
            and not holds(passage, gold, sample.references)
            and not (truth is not None and truth.contains(passage))
        )[:_VERSIONS]

    def contains(self, passage: Passage) -> bool:
        """Whether the sentences of a passage all stand here."""
        return all(
            any(letters(sentence) in letters(_whole(near)) for near in self._nearest(_words(sentence)))
            for sentence in sentences(passage.text)
            if letters(sentence)
        )

    def _slots(self, gold: Passage, sample: Sample, *, joined: bool = False) -> set[int]:
        """The parts of the answer whose evidence in a gold passage the index has. `joined`: in passages together with
        those that stand next to them in its list."""
        found: set[int] = set()
        for one in evidence_of(gold, sample.references):
            if one.slot in found:
                continue
            near = self._nearest(
                {*_words(one.alone), *_words(gold.text)} if not one.value else _words(one.alone), joined=joined
            )
            parts: list[tuple[Passage, Part]] = [
                (passage, part_of(passage, gold, sample.references, one.slot)) for passage in near
            ]
            if any(part == "whole" or (part == "value" and _is_chunk(passage, gold)) for passage, part in parts):
                found.add(one.slot)
        return found

    def _nearest(self, words: Iterable[str], *, joined: bool = False) -> list[Passage]:
        """The passages that share most with the rarest of these words, by weight. `joined`: each as one text with the
        one before it, and with the one behind it."""
        rarest = sorted((word for word in words if word in self._places), key=lambda one: (len(self._places[one]), one))
        shares: dict[int, float] = {}
        for word in rarest[:_RAREST]:
            if shares and len(self._places[word]) > _COMMON:
                break
            weight = self._weight(word)
            for place in self._places[word]:
                shares[place] = shares.get(place, 0.0) + weight
        best = sorted(shares, key=lambda place: (-shares[place], place))[:_NEAREST]
        if joined:
            pairs = dict.fromkeys(at for place in best for at in (place - 1, place) if at >= 0)
            return [*(self._joined(at, 2) for at in pairs), *(self._joined(at - _AROUND) for at in best)]
        return [self.passages[place] for place in best]

    def _joined(self, start: int, size: int = 0) -> Passage:
        """So many passages of the list as one text; else those around a place, each on lines of its own, as the columns
        of a table are."""
        some = self.passages[max(0, start) : start + (size or 2 * _AROUND + 1)]
        return replace(some[0], text=("" if size else "\n").join(item.text for item in some))

    def _weight(self, word: str) -> float:
        return math.log1p(len(self.passages) / (1 + len(self._places.get(word, ()))))

    def _share(self, words: Iterable[str], present: frozenset[str]) -> float:
        """How much of these words, by weight, is present; 0 without words."""
        weights = {word: self._weight(word) for word in words}
        total = sum(weights.values())
        return sum(weight for word, weight in weights.items() if word in present) / total if total else 0.0


def _is_version(passage: Passage, evidence: Sequence[Statement]) -> bool:
    """Whether a passage has one of these sentences with another value, and the words for what it is about."""
    text = letters(_whole(passage))
    return any(
        one.value and is_another_version(one, passage.text) and all(letters(word) in text for word in one.about)
        for one in evidence
    )


def is_old(passage: Passage, statement: Statement) -> bool:
    """Whether a passage has the sentence of a statement with another value in its place, and the question's words in
    it and for what it is about: another version, whatever a system makes of it."""
    text = letters(_whole(passage))
    return has_another_value(statement, passage.text) and all(
        letters(word) in text for word in (*statement.about, *statement.needed)
    )


def _is_chunk(passage: Passage, gold: Passage) -> bool:
    """Whether one text is a part of the other."""
    short, long = sorted((letters(passage.text), letters(gold.text)), key=len)
    return short in long


def _whole(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return content_words(text, detect(text))
