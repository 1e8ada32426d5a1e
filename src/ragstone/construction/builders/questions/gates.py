"""The gates that a question has to pass: each asks a checker and keeps what it can answer, or cannot, as it should."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ragstone.construction.builders.passes import (
    ANSWERING,
    READ,
    AskPass,
    EachPass,
    LocalPass,
    ParsedPass,
    Reason,
    is_right,
    numbered,
    with_title,
)
from ragstone.construction.builders.pipeline import Kept, Replies, Search, rejected
from ragstone.construction.builders.questions.items import Draft, Fact, question_types
from ragstone.construction.builders.steps import Reply, Step, Task
from ragstone.types import Passage

CONTAMINATED = "contaminated"
_NEAR = 20  # passages that are searched for other answers
_TWICE = 2


def _reading(draft: Draft, passages: Sequence[str], question: str = "") -> dict[str, Any]:
    """What a reader is shown."""
    earlier = [{"question": asked, "answer": answer} for asked, answer in draft.history]
    shown = {"question": question or draft.question, "passages": numbered(passages)}
    return {"earlier": earlier, **shown} if earlier else shown


def _texts(passages: Sequence[Passage]) -> list[str]:
    return list(map(with_title, passages))


def _is_right(draft: Draft, reply: Reply | None) -> bool:
    """Whether the reader's answer is the draft's; for an unanswerable question, that nothing was found."""
    if draft.answerable:
        return is_right(reply, draft.references, draft.language)
    return reply is not None and reply.value is not None and not reply.value.found


def _answer(reply: Reply | None) -> str:
    return "" if reply is None or reply.value is None else str(reply.value.answer)


class _Contradiction(msgspec.Struct):
    contradict: bool


CONTRADICTION = Step("contradiction", _Contradiction)


class Contradicts(ParsedPass):
    """Two documents that are said to contradict each other must do so: not both can be true."""

    name = "contradiction"
    step = CONTRADICTION

    def shown(self, item: Draft, /) -> Mapping[str, Any] | None:
        if question_types()[item.type].pairs != "conflict":
            return None
        statements = [{"document": fact.chunk.title or fact.document, "text": fact.evidence} for fact in item.facts]
        return {"question": item.question, "statements": statements}

    def judge(self, item: Draft, reply: _Contradiction, /) -> Draft | Reason:
        return item if reply.contradict else Reason("no_contradiction", item.question)


class FindNear(LocalPass):
    """Finds the passages nearest to question and answer, besides the gold ones."""

    name = "search"

    async def finish(self, items: Sequence[Draft], replies: Replies, search: Search, /) -> Kept:
        texts = [" ".join([draft.question, *(slot[0] for slot in draft.references)]) for draft in items]
        found = await search(texts, k=_NEAR + max((len(draft.gold) for draft in items), default=0))
        near = []
        for draft, passages in zip(items, found, strict=True):
            gold = {passage.id for passage in draft.gold}
            others = [passage for passage in passages if passage.id not in gold]
            near.append(replace(draft, near=tuple(others[:_NEAR])))
        return near, []


class Elsewhere(ParsedPass):
    """Which of the nearest passages answer the question, too: they become gold. An unanswerable question that one of
    them answers is dropped."""

    name = "elsewhere"
    step = ANSWERING

    def shown(self, item: Draft, /) -> Mapping[str, Any] | None:
        answers = [slot[0] for slot in item.references]
        return {**_reading(item, _texts(item.near)), "answer": answers} if item.near else None

    def judge(self, item: Draft, reply: Any, /) -> Draft | Reason:
        answering = [item.near[number - 1] for number in sorted(set(reply.passages))]
        if answering and not item.answerable:
            return Reason("answerable_elsewhere", answering[0].id)
        return replace(item, gold=(*item.gold, *answering))


class AnsweredFromGold(EachPass):
    """The reader must answer rightly from the gold passages alone, twice; an unanswerable question must be declined."""

    each = _TWICE
    name = "gold"
    step = READ

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            for repeat in range(_TWICE):
                yield Task(draft.id, _reading(draft, _texts(draft.gold)), draft.language, repeat)

    def decide(self, item: Draft, replies: Replies, /) -> Draft | Reason:
        answers = [replies.get((item.id, repeat)) for repeat in range(_TWICE)]
        wrong = [reply for reply in answers if not _is_right(item, reply)]
        if not wrong:
            return item
        reason = "not_answerable_from_gold" if item.answerable else "answered_though_unanswerable"
        return Reason(reason, _answer(wrong[0]))


@dataclass(frozen=True)
class ClosedBook(AskPass):
    """What the reader knows without any passage tells nothing of a search: such a question is dropped or marked."""

    name = "closed_book"
    step = READ
    contaminated: Literal["drop", "mark"] = "drop"

    def shown(self, item: Draft, /) -> Mapping[str, Any] | None:
        return _reading(item, ()) if item.answerable else None

    def decide(self, item: Draft, replies: Replies, /) -> Draft | Reason:
        reply = replies.get((item.id, 0))
        if not item.answerable or not _is_right(item, reply):
            return item
        if self.contaminated == "mark":
            return replace(item, marks=(*item.marks, CONTAMINATED))
        return Reason("known_without_documents", _answer(reply))


class EvidenceNeeded(EachPass):
    """Without the evidence of any fact that it needs a question must not be answered: else it asks for something that
    stands elsewhere, can be guessed, or needs fewer facts than it was made of."""

    each = 2  # no type has more facts
    name = "without_evidence"
    step = READ

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            for number, fact in enumerate(_needed(draft)):
                yield Task(f"{draft.id}.{number}", _reading(draft, _without(draft, fact)), draft.language)

    def decide(self, item: Draft, replies: Replies, /) -> Draft | Reason:
        if CONTAMINATED in item.marks:
            return item
        for number, fact in enumerate(_needed(item)):
            reply = replies.get((f"{item.id}.{number}", 0))
            if _is_right(item, reply):
                return Reason("evidence_not_needed", f"{fact.evidence} → {_answer(reply)}")
        return item


def _needed(draft: Draft) -> Sequence[Fact]:
    """The facts without which there is no answer."""
    if not draft.answerable:
        return ()
    return draft.facts if question_types()[draft.type].needs == "all" else draft.facts[-1:]


def _without(draft: Draft, missing: Fact) -> list[str]:
    """The passages of the draft's facts without this evidence; gold found elsewhere is left out."""
    texts = {fact.chunk.id: fact.chunk.text for fact in draft.facts}
    texts[missing.chunk.id] = texts[missing.chunk.id].replace(missing.evidence, " … ")
    return list(texts.values())


class Unambiguous(EachPass):
    """Every paraphrase must get the right answer from the gold passages: else the question has several readings."""

    each = 2
    name = "paraphrased"
    step = READ

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            for number, text in enumerate(draft.paraphrases):
                yield Task(f"{draft.id}.{number}", _reading(draft, _texts(draft.gold), text), draft.language)

    def decide(self, item: Draft, replies: Replies, /) -> Draft | Reason:
        for number, text in enumerate(item.paraphrases):
            reply = replies.get((f"{item.id}.{number}", 0))
            if not _is_right(item, reply):
                return Reason("ambiguous", f"{text} → {_answer(reply)}")
        return item


@dataclass(frozen=True)
class Accept(LocalPass):
    """`size` of the drafts: of each type its share, those of new documents first, then any, where a type or the
    documents yielded too few; the others are surplus."""

    size: int
    shares: Mapping[str, float]
    name: str = "accept"

    def most(self, entered: int, /) -> int:
        """Those that are wanted."""
        return min(self.size, entered)

    async def finish(self, items: Sequence[Draft], replies: Replies, search: Search, /) -> Kept:
        accepted, types, documents = set[str](), Counter[str](), set[str]()

        def take(wanted: Callable[[Draft], bool]) -> None:
            for draft in items:
                if len(accepted) < self.size and draft.id not in accepted and wanted(draft):
                    accepted.add(draft.id)
                    types[draft.type] += 1
                    documents.update(fact.document for fact in draft.facts)

        def lacking(draft: Draft) -> bool:
            return types[draft.type] < round(self.shares[draft.type] * self.size)

        def new(draft: Draft) -> bool:
            return any(fact.document not in documents for fact in draft.facts)

        take(lambda draft: new(draft) and lacking(draft))
        take(new)
        take(lacking)
        take(lambda _: True)
        kept = [draft for draft in items if draft.id in accepted]
        return kept, [rejected(draft, self.name, "surplus") for draft in items if draft.id not in accepted]
