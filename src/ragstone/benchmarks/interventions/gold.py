"""The gold passages of a question: those that hold what its answer needs, and how they were found.

They come from the labels of the data; without labels from the corpus, where a passage states the reference ("corpus"),
or where the judge finds it useful for the reference ("judge"). A passage of a system is matched to a gold one by its
id, as a chunk of its document, or by its text, never by similarity.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ragstone.text import find_answer
from ragstone.text.folding import fold_characters
from ragstone.text.quoting import find_quote
from ragstone.types import Passage, Sample

Found: TypeAlias = Literal["labels", "corpus", "judge", ""]

_MOST = 3  # gold passages that are taken from the corpus for one part of the answer
_SHORTEST = 40  # characters of a text that identify a passage
_BEGINNING = 20  # letters by which passages are looked up


def labelled(sample: Sample) -> tuple[Passage, ...]:
    """The gold passages that the data name."""
    return tuple(passage for passage in sample.passages if passage.relevant)


def states(passage: Passage, slots: Iterable[Sequence[str]]) -> bool:
    """Whether a passage states one of these parts of the answer, in any of its wordings."""
    text = f"{passage.title}\n{passage.text}"
    return any(alias.strip() and _found(alias, text) for slot in slots for alias in slot)


@lru_cache(maxsize=20_000)
def _found(alias: str, text: str) -> bool:
    return bool(find_answer(alias, text))


def holds(passage: Passage, gold: Passage, slots: Sequence[Sequence[str]] = ()) -> bool:
    """Whether a passage is this gold passage, a chunk of it that holds the answer, or a longer text around it."""
    if passage.id == gold.id:
        return True
    if not gold.text.strip() or not passage.text.strip():
        return document_of(passage.id) == gold.id and not gold.text.strip()
    if passage.id.startswith((f"{gold.id}#", f"{gold.id}:")):
        return states(passage, slots) or not states(gold, slots)
    return _same_text(passage.text, gold.text) and (states(passage, slots) or not states(gold, slots))


def document_of(name: str) -> str:
    """The id of the document that a chunk is of."""
    return name.rpartition("#")[0] or name


@lru_cache(maxsize=20_000)
def _same_text(text: str, gold: str) -> bool:
    """Whether one of two texts contains the other, whatever their punctuation, spacing and case."""
    if text == gold:
        return True
    short, long = sorted((text, gold), key=len)
    return len(short) >= min(_SHORTEST, len(long)) and (short in long or find_quote(short, long) is not None)


def covered(
    passages: Sequence[Passage], gold: Sequence[Passage], slots: Sequence[Sequence[str]], *, every: bool
) -> bool:
    """Whether these passages hold the gold: each gold passage (`every`), else one of them, or one for each part of the
    answer where the gold passages state the parts."""
    found = [item for item in gold if any(holds(passage, item, slots) for passage in passages)]
    if every or not found:
        return len(found) == len(gold)
    parts = [slot for slot in slots if any(states(item, [slot]) for item in gold)]
    return len(parts) < 2 or all(any(states(item, [slot]) for item in found) for slot in parts)


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

    def indexed(self, gold: Passage, slots: Sequence[Sequence[str]]) -> Passage | None:
        """The passage of the corpus that this gold one is, as it stands there; None if there is none."""
        for name in (gold.id, document_of(gold.id)):
            if name in self.documents:
                return self.documents[name]
        return next((self.chunks[n] for n in self._similar.to(gold) if holds(self.chunks[n], gold, slots)), None)

    def complete(self, gold: Passage, slots: Sequence[Sequence[str]]) -> tuple[Passage, ...]:
        """A label that names a document only: the chunks of it that state the answer, else the whole document."""
        known = self.documents.get(gold.id) or self.documents.get(document_of(gold.id))
        if gold.text.strip() or known is None:
            return (gold,)
        chunks = [chunk for chunk in self._chunks_of.get(known.id, ()) if states(chunk, slots)][:_MOST]
        return tuple(replace(chunk, relevant=True) for chunk in chunks) or (
            replace(gold, text=known.text, title=known.title),
        )

    @cached_property
    def _similar(self) -> "_Similar":
        return _Similar(self.chunks)

    @cached_property
    def _chunks_of(self) -> dict[str, list[Passage]]:
        found: dict[str, list[Passage]] = {}
        for chunk in self.chunks:
            found.setdefault(document_of(chunk.id), []).append(chunk)
        return found

    def stating(self, sample: Sample, ranked: Sequence[Passage]) -> tuple[Passage, ...]:
        """The passages that state the reference: of those ranked for question and reference, the first of each part of
        the answer. () if a part is stated nowhere."""
        found: dict[str, Passage] = {}
        for slot in sample.references:
            matching = [passage for passage in ranked if states(passage, [slot])][:_MOST]
            if not matching:
                return ()
            found |= {passage.id: replace(passage, relevant=True, score=None) for passage in matching}
        return tuple(found.values())


class _Similar:
    """Finds the few of many passages that `holds` has to look at: those that share an id, or the beginning of a text.
    To compare each gold passage with each chunk of a corpus takes hours where both are thousands."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._ids: dict[str, list[int]] = {}
        self._beginnings: dict[str, list[int]] = {}
        texts = [_letters(passage.text) for passage in passages]
        for number, (passage, text) in enumerate(zip(passages, texts, strict=True)):
            for name in {passage.id, *(passage.id[: sign.start()] for sign in re.finditer("[#:]", passage.id))}:
                self._ids.setdefault(name, []).append(number)
            self._beginnings.setdefault(text[:_BEGINNING] if len(text) >= _BEGINNING else "", []).append(number)
        self._all = "\n".join(texts)
        self._starts = [0, *accumulate(len(text) + 1 for text in texts)]

    def to(self, gold: Passage) -> list[int]:
        """Their numbers, in order."""
        text, first = _letters(gold.text), next((part for part in map(_letters, gold.text.split("…")) if part), "")
        windows = {text[at : at + _BEGINNING] for at in range(len(text) - _BEGINNING + 1)}
        within = (number for window in {"", *windows} for number in self._beginnings.get(window, ()))
        return sorted({*self._ids.get(gold.id, ()), *within, *self._around(first)})

    def _around(self, letters: str) -> Iterator[int]:
        at = self._all.find(letters) if letters else -1
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self._all.find(letters, self._starts[number + 1])


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, fold_characters(text).text))
