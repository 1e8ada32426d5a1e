"""Worlds whose truth is known: documents, and questions with the place of each value that answers them.

`fictional` is the generated world: each question has its chunk with the answer (two chunks where one tells which event
is meant), and chunks about other editions, other categories and rumours. `handbook` is examples/handbook among
documents of the fictional world, so that a random order does not find its documents by chance. In both, some questions
ask for two values of two documents, and some cannot be answered.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.diagnosis.chance import drawn, number_of
from bench.diagnosis.paraphrase import evidence, reworded

from ragstone.datasets.fictional.pools import make_pool
from ragstone.retrieval.bm25 import Bm25, terms_of
from ragstone.text import words
from ragstone.types import Passage

__all__ = ["Fact", "World", "WorldQuestion", "fictional", "handbook"]

HANDBOOK = Path(__file__).resolve().parents[2] / "examples" / "handbook"
_DEEPEST = 120  # passages of a ranking that are kept
_BEFORE, _AFTER, _MARK = 16, 10, 24  # characters by which a value is found
_NUMERIC = re.compile("[0-9]|one|two|three|four|five|six|seven|eight|nine|ten|[一二三四五六七八九十两]")
_GIVEN_UP = {"en": "The documents do not contain the answer.", "zh": "文档中没有答案。"}


@dataclass(frozen=True)
class Fact:
    """A value that a question needs, in the document that states it. `asked`: it is part of the answer; otherwise it
    only tells which event is meant. `aliases`: all spellings of the value, the document's first. `before`, `after`: the
    text around the value; `mark`: a stretch of the document elsewhere, since several may have the same sentence."""

    document: str
    title: str
    aliases: tuple[str, ...]
    before: str
    after: str
    mark: str
    language: str
    asked: bool = True

    @property
    def value(self) -> str:
        return self.aliases[0]

    @cached_property
    def evidence(self) -> str:
        """The paraphrased evidence."""
        return evidence(self.title, self.value, self.language)

    @cached_property
    def _place(self) -> re.Pattern[str]:
        before = re.escape(self.before) or r"\A"
        return re.compile(f"{before}(.{{1,60}}?){re.escape(self.after) or chr(92) + 'Z'}", re.DOTALL)

    def read(self, text: str) -> str | None:
        """What a text has in the place of the value; None if it does not tell of it."""
        if self.evidence in text:
            return self.value
        found = self._place.search(text) if self.mark in text else None
        return found[1] if found else None


@dataclass(frozen=True)
class WorldQuestion:
    """A question. `kind`: "single", "two_hop" (one document tells which event is meant, another has the value),
    "two_part" (two values of two documents) or "unanswerable"."""

    id: str
    text: str
    language: str
    kind: str
    facts: tuple[Fact, ...] = ()

    @property
    def values(self) -> list[str]:
        return [fact.value for fact in self.facts if fact.asked]

    @property
    def gold(self) -> frozenset[str]:
        return frozenset(fact.document for fact in self.facts)

    def row(self, documents: Mapping[str, Passage], *, paraphrased: bool) -> dict[str, Any]:
        """The question as `diagnose` gets it: its labels are ids with the text of the evidence."""
        row: dict[str, Any] = {"id": self.id, "question": self.text, "language": self.language}
        row["answerable"] = self.kind != "unanswerable"
        if not self.facts:
            return row
        row["reference"] = [
            [reworded(fact.value, self.language)] if paraphrased else list(fact.aliases)
            for fact in self.facts
            if fact.asked
        ]
        row["reference_context_ids"] = [fact.document for fact in self.facts]
        row["reference_contexts"] = [
            fact.evidence if paraphrased else documents[fact.document].text for fact in self.facts
        ]
        return row


class Search:
    """BM25 over documents. Rankings are kept: every system with these documents asks the same queries."""

    def __init__(self, documents: Mapping[str, Passage]) -> None:
        self._index = Bm25("bm25", list(documents.values()), terms_of())
        self._rankings: dict[str, tuple[str, ...]] = {}
        texts = (f"{passage.title} {passage.text}" for passage in documents.values())
        self.frequencies = Counter(word for text in texts for word in set(words(text)))

    async def ranking(self, query: str) -> tuple[str, ...]:
        """Ids of the documents that are found for a query, best first."""
        if query not in self._rankings:
            (found,) = await self._index.retrieve([query], k=_DEEPEST)
            self._rankings[query] = tuple(passage.id for passage in found)
        return self._rankings[query]


@dataclass(eq=False)
class World:
    """Documents by id, and the questions about them. `all_questions`: also those that are not asked in a sample."""

    name: str
    documents: Mapping[str, Passage]
    questions: tuple[WorldQuestion, ...]
    search: Search
    all_questions: tuple[WorldQuestion, ...]

    @cached_property
    def by_text(self) -> dict[str, WorldQuestion]:
        return {question.text: question for question in self.questions}

    def asked_in(self, text: str) -> WorldQuestion | None:
        """The question that a text is, or has in it; None for another question."""
        known = self.by_text.get(text)
        return known or max(
            (one for one in self.questions if one.text in text), key=lambda one: len(one.text), default=None
        )

    @cached_property
    def by_id(self) -> dict[str, WorldQuestion]:
        return {question.id: question for question in self.questions}

    @cached_property
    def _values(self) -> dict[tuple[str, bool], list[str]]:
        """The values of the world by language and by whether they are numbers."""
        values: dict[tuple[str, bool], dict[str, None]] = {}
        for question in self.all_questions:
            for fact in [own for own in question.facts if own.asked]:
                values.setdefault((fact.language, bool(_NUMERIC.search(fact.value))), {})[fact.value] = None
        return {key: list(found) for key, found in values.items()}

    def without_entity(self, question: str) -> str:
        """The question with only the more frequent half of its words: what names its subject is rare."""
        found = list(dict.fromkeys(words(question)))
        found.sort(key=lambda word: -self.search.frequencies[word])
        return " ".join(found[: len(found) // 2])

    def wrong_value(self, question: WorldQuestion, fact: Fact | None, why: str) -> str:
        """A value of the same kind that is not the answer: always the same for the same reason, and seldom the same for
        another one."""
        values = self._values[question.language, fact is None or bool(_NUMERIC.search(fact.value))]
        right = [alias for own in question.facts for alias in own.aliases]
        for attempt in range(100):
            key = (question.id, fact.value if fact else "", why, attempt)
            value = _changed(drawn(values, *key), drawn(values, "other", *key), *key)
            if not any(value in alias or alias in value for alias in right):
                return value
        raise ValueError(f"{question.id}: every value is right.")

    def outdated(self, document: str) -> Passage:
        """A document with older values in the places of those that questions ask for."""
        passage = self.documents[document]
        text = passage.text
        for question in self.all_questions:
            for fact in question.facts:
                if fact.document == document and fact.asked:
                    text = text.replace(fact.value, self.wrong_value(question, fact, "outdated"))
        return Passage(passage.id, text, passage.title)

    def answer(self, question: WorldQuestion, values: Iterable[str]) -> str:
        """A sentence for each of these values."""
        if question.language == "zh":
            return "".join(f"{lead}{value}。" for lead, value in zip(("答案是", "另一个是"), values, strict=False))
        return " ".join(f"{lead} {value}." for lead, value in zip(("It is", "The other is"), values, strict=False))

    def refusal(self, question: WorldQuestion) -> str:
        return _GIVEN_UP[question.language]

    def refuses(self, answer: str) -> bool:
        return answer in _GIVEN_UP.values()

    def right(self, question: WorldQuestion, answer: str) -> bool:
        """Whether an answer of a scripted reader is right: it speaks in the documents' own spellings."""
        if question.kind == "unanswerable":
            return self.refuses(answer)
        return all(value in answer for value in question.values)

    def sample(self, size: int, seed: int = 0) -> "World":
        """The world with some of its questions, drawn by a seed; all documents stay."""
        chosen = sorted(self.questions, key=lambda question: number_of(seed, "sample", question.id))[:size]
        return replace(self, questions=tuple(chosen))


def _changed(value: str, other: str, *key: str | int) -> str:
    """A number with other digits; of other values, the beginning of one and the end of the other."""
    digits = iter(str(number_of("digits", *key)).replace("0", "7"))
    if re.search("[0-9]", value):
        return re.sub("[0-9]", lambda _: next(digits), value)
    begin, blank, _ = value.rpartition(" ") if " " in value else (value[: len(value) // 2], "", "")
    return begin + blank + (other.rpartition(" ")[2] if blank else other[len(other) // 2 :])


def _fact(document: Passage, aliases: Iterable[str], language: str, *, asked: bool = True) -> Fact | None:
    """The place of a value in a document; None if no spelling of it stands there."""
    known = list(aliases)
    value = next((alias for alias in known if alias in document.text), None)
    if value is None:
        return None
    text = document.text
    start = text.index(value)
    end = start + len(value)
    mark = text[-_MARK:] if end <= len(text) - _MARK else text[:_MARK]
    return Fact(
        document.id, document.title, (value, *(alias for alias in known if alias != value)),
        text[max(0, start - _BEFORE) : start], text[end : end + _AFTER], mark, language, asked,
    )  # fmt: skip


def _joined(name: str, first: WorldQuestion, second: WorldQuestion) -> WorldQuestion:
    """One question that asks for the values of two."""
    if first.language == "zh":
        text = f"{first.text.rstrip('？')}？另外，{second.text}"
    else:
        text = f"{first.text} And {second.text[0].lower()}{second.text[1:]}"
    return WorldQuestion(name, text, first.language, "two_part", (*first.facts, *second.facts))


def _generated(size: int, seed: int, language: str) -> tuple[dict[str, Passage], list[WorldQuestion]]:
    """About `size` questions of the fictional world: in a cycle of ten one needs two documents, two are joined to one
    question, and the document with the answer of one is left out."""
    pool = make_pool(size, seed=seed, language=language, chunks_per_query=5, multi_hop=0.1)
    documents: dict[str, Passage] = {}
    questions: list[WorldQuestion] = []
    waiting: WorldQuestion | None = None
    for number, item in enumerate(pool.questions):
        chunks = [chunk for chunk in pool.pool if chunk.mapped_id == item.query_id]
        needed = [(chunk.doc_name, chunk.doc_chunk) for chunk in pool.oracle[item.query_id]]
        facts: list[Fact] = []
        role = (
            "two_hop" if len(needed) > 1 else {1: "joined", 2: "joined", 3: "unanswerable"}.get(number % 10, "single")
        )
        for place, chunk in enumerate(chunks):
            passage = Passage(f"{language}-{seed}-{number:04d}-{place}", chunk.doc_chunk, chunk.doc_name)
            gold = (chunk.doc_name, chunk.doc_chunk) in needed
            if chunk.support and (role == "unanswerable" or not gold):
                continue  # every other chunk with the answer is left out: what a label names is all that is needed
            documents[passage.id] = passage
            if gold:
                fact = _fact(passage, item.answer, language) or _bridge(passage, item.query, language)
                facts.append(fact)
        question = WorldQuestion(f"{language}-{seed}-{number:04d}", item.query, language, role, tuple(facts))
        if role != "joined":
            questions.append(question)
        elif waiting is None:
            waiting = question
        else:
            questions.append(_joined(question.id, waiting, question))
            waiting = None
    return documents, questions


def _bridge(document: Passage, question: str, language: str) -> Fact:
    """The fact that tells which event is meant: what the document shares with the question. Its place is the longest
    such stretch."""
    best = ""
    for start in range(len(question)):
        end = start + len(best) + 1
        while end <= len(question) and question[start:end] in document.text:
            best, end = question[start:end], end + 1
    fact = _fact(document, [best], language, asked=False)
    assert fact is not None
    return fact


def fictional(size: int = 80, seed: int = 0) -> World:
    """About `size` questions, half of them Chinese, with their documents."""
    documents, questions = _generated(size * 10 // 18, seed, "en")
    chinese, more = _generated(size * 10 // 18, seed, "zh")
    documents |= chinese
    return World("fictional", documents, (asked := (*questions, *more)), Search(documents), asked)


def handbook(filler: int = 40) -> World:
    """The handbook's questions and documents among those of `filler` fictional questions."""
    rows = list(csv.DictReader((HANDBOOK / "questions.csv").read_text("utf-8").splitlines()))
    documents: dict[str, Passage] = {}
    for path in sorted((HANDBOOK / "docs").rglob("*.md")):
        name, text = path.relative_to(HANDBOOK / "docs").as_posix(), path.read_text("utf-8")
        documents[name] = Passage(name, text, text.partition("\n")[0].lstrip("# "))
    questions: list[WorldQuestion] = []
    for language in ("en", "zh"):
        own = [row for row in rows if row["language"] == language]
        singles: list[WorldQuestion] = []
        for row in own:
            facts: tuple[Fact, ...] = ()
            if row["answerable"] == "yes":
                spellings = [row["reference"], row["reference"][:1].upper() + row["reference"][1:]]
                fact = _fact(documents[row["document"]], spellings, language)
                assert fact is not None, row
                facts = (fact,)
            kind = "single" if facts else "unanswerable"
            singles.append(WorldQuestion(row["id"], row["question"], language, kind, facts))
        # Pairs of questions about different documents become one: every ninth with the one five places on.
        for first in range(0, 30, 7):
            one, other = singles[first], singles[first + 3]
            questions.append(_joined(f"{one.id}+{other.id[-2:]}", one, other))
        used = {place for first in range(0, 30, 7) for place in (first, first + 3)}
        questions += [question for place, question in enumerate(singles) if place not in used]
    for language in ("en", "zh"):
        documents |= _generated(filler // 2, 99, language)[0]
    return World("handbook", documents, tuple(questions), Search(documents), tuple(questions))
