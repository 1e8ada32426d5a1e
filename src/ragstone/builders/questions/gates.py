"""The gates that a question has to pass: each asks a checker and keeps what it can answer, or cannot, as it should."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ragstone.builders.pipeline import Rejected, Replies, Search
from ragstone.builders.questions.items import Draft, rejected
from ragstone.builders.steps import Reply, Role, Step, Task
from ragstone.structs import JSON
from ragstone.text import find_answer
from ragstone.types import Passage

__all__ = ["Accept", "AnsweredFromGold", "ClosedBook", "Elsewhere", "EvidenceNeeded", "FindNear", "Unambiguous"]

CONTAMINATED = "contaminated"
_NEAR = 20  # passages that are searched for other answers
_TWICE = 2


class _Answer(msgspec.Struct):
    answer: str
    found: bool


class _Answering(msgspec.Struct):
    passages: list[int]


def _numbers_problem(shown: Mapping[str, Any], reply: _Answering) -> str:
    strange = [number for number in reply.passages if not 1 <= number <= len(shown["passages"])]
    return f"there is no passage {strange[0]}" if strange else ""


READ = Step("read", _Answer)
ANSWERING = Step("answering", _Answering, _numbers_problem)


def _reading(draft: Draft, passages: Sequence[str], question: str = "") -> dict[str, JSON]:
    earlier: list[Any] = [{"question": asked, "answer": answer} for asked, answer in draft.history]
    return {
        **({"earlier": earlier} if earlier else {}), "question": question or draft.question,
        "passages": {str(number): text for number, text in enumerate(passages, 1)},
    }  # fmt: skip


def _texts(passages: Sequence[Passage]) -> list[str]:
    return [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]


def _is_right(draft: Draft, reply: Reply | None) -> bool:
    """Whether the reader's answer is the draft's: all parts stated; for an unanswerable question, that nothing was
    found."""
    if reply is None or reply.value is None:
        return False
    if not draft.answerable:
        return not reply.value.found
    return reply.value.found and all(
        any(find_answer(alias, reply.value.answer, draft.language) for alias in slot) for slot in draft.references
    )


def _answer(reply: Reply | None) -> str:
    return "" if reply is None or reply.value is None else str(reply.value.answer)


@dataclass(frozen=True)
class FindNear:
    """Finds the passages nearest to question and answer, besides the gold ones."""

    k: int = _NEAR
    name: str = "search"
    step: Step | None = None
    role: Role = "checker"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[Draft], replies: Replies, search: Search, /
    ) -> tuple[Sequence[Draft], Sequence[Rejected]]:
        texts = [" ".join([draft.question, *(slot[0] for slot in draft.references)]) for draft in items]
        found = await search(texts, k=self.k + max((len(draft.gold) for draft in items), default=0))
        near = []
        for draft, passages in zip(items, found, strict=True):
            gold = {passage.id for passage in draft.gold}
            others = [passage for passage in passages if passage.id not in gold]
            near.append(replace(draft, near=tuple(others[: self.k])))
        return near, []


@dataclass(frozen=True)
class Elsewhere:
    """Which of the nearest passages answer the question, too: they become gold. An unanswerable question that one of
    them answers is dropped."""

    name: str = "elsewhere"
    step: Step | None = ANSWERING
    role: Role = "checker"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            if draft.near:
                answer = [slot[0] for slot in draft.references]
                shown = {**_reading(draft, _texts(draft.near)), "answer": list[JSON](answer)}
                yield Task(draft.id, shown, draft.language)

    async def finish(
        self, items: Sequence[Draft], replies: Replies, search: Search, /
    ) -> tuple[Sequence[Draft], Sequence[Rejected]]:
        kept: list[Draft] = []
        dropped: list[Rejected] = []
        for draft in items:
            reply = replies.get((draft.id, 0))
            if reply is not None and reply.value is None:
                dropped.append(rejected(draft, self.name, "no_usable_reply", reply.problem))
                continue
            numbers = [] if reply is None else sorted(set(reply.value.passages))
            answering = [draft.near[number - 1] for number in numbers]
            if answering and not draft.answerable:
                dropped.append(rejected(draft, self.name, "answerable_elsewhere", answering[0].id))
                continue
            kept.append(replace(draft, gold=(*draft.gold, *answering)))
        return kept, dropped


@dataclass(frozen=True)
class _Read:
    """A reader answers; a subclass says from which passages, and what is to come of it."""

    name: str
    step: Step | None = READ
    role: Role = "checker"

    async def finish(
        self, items: Sequence[Draft], replies: Replies, search: Search, /
    ) -> tuple[Sequence[Draft], Sequence[Rejected]]:
        kept: list[Draft] = []
        dropped: list[Rejected] = []
        for draft in items:
            result = self.judge(draft, replies)
            if isinstance(result, Draft):
                kept.append(result)
            else:
                dropped.append(rejected(draft, self.name, *result))
        return kept, dropped

    def judge(self, draft: Draft, replies: Replies) -> Draft | tuple[str, str]:
        """The draft if it stays, else the reason to drop it and what was found."""
        raise NotImplementedError


@dataclass(frozen=True)
class AnsweredFromGold(_Read):
    """The reader must answer rightly from the gold passages alone, twice; an unanswerable question must be declined."""

    name: str = "gold"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            for repeat in range(_TWICE):
                yield Task(draft.id, _reading(draft, _texts(draft.gold)), draft.language, repeat)

    def judge(self, draft: Draft, replies: Replies) -> Draft | tuple[str, str]:
        wrong = [replies.get((draft.id, repeat)) for repeat in range(_TWICE)]
        wrong = [reply for reply in wrong if not _is_right(draft, reply)]
        if not wrong:
            return draft
        return ("not_answerable_from_gold" if draft.answerable else "answered_though_unanswerable"), _answer(wrong[0])


@dataclass(frozen=True)
class ClosedBook(_Read):
    """What the reader knows without any passage tells nothing of a search: such a question is dropped or marked."""

    name: str = "closed_book"
    contaminated: Literal["drop", "mark"] = "drop"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        return (Task(draft.id, _reading(draft, ()), draft.language) for draft in items if draft.answerable)

    def judge(self, draft: Draft, replies: Replies) -> Draft | tuple[str, str]:
        reply = replies.get((draft.id, 0))
        if not draft.answerable or not _is_right(draft, reply):
            return draft
        if self.contaminated == "mark":
            return replace(draft, marks=(*draft.marks, CONTAMINATED))
        return "known_without_documents", _answer(reply)


@dataclass(frozen=True)
class EvidenceNeeded(_Read):
    """Without its evidence a question must not be answered: else it asks for something that stands elsewhere, or that
    can be guessed."""

    name: str = "without_evidence"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            if draft.answerable:
                yield Task(draft.id, _reading(draft, _without_evidence(draft)), draft.language)

    def judge(self, draft: Draft, replies: Replies) -> Draft | tuple[str, str]:
        reply = replies.get((draft.id, 0))
        if draft.answerable and CONTAMINATED not in draft.marks and _is_right(draft, reply):
            return "evidence_not_needed", _answer(reply)
        return draft


def _without_evidence(draft: Draft) -> list[str]:
    """The passages of the draft's facts, each without the evidence in it; gold found elsewhere is left out."""
    texts = {fact.chunk.id: fact.chunk.text for fact in draft.facts}
    for fact in draft.facts:
        texts[fact.chunk.id] = texts[fact.chunk.id].replace(fact.evidence, " … ")
    return list(texts.values())


@dataclass(frozen=True)
class Unambiguous(_Read):
    """Every paraphrase must get the right answer from the gold passages: else the question has several readings."""

    name: str = "paraphrased"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        for draft in items:
            for number, text in enumerate(draft.paraphrases):
                yield Task(f"{draft.id}.{number}", _reading(draft, _texts(draft.gold), text), draft.language)

    def judge(self, draft: Draft, replies: Replies) -> Draft | tuple[str, str]:
        for number, text in enumerate(draft.paraphrases):
            reply = replies.get((f"{draft.id}.{number}", 0))
            if not _is_right(draft, reply):
                return "ambiguous", f"{text} → {_answer(reply)}"
        return draft


@dataclass(frozen=True)
class Accept:
    """The first `size` of the drafts, by type in its share; the others are surplus."""

    size: int
    shares: Mapping[str, float]
    name: str = "accept"
    step: Step | None = None
    role: Role = "checker"

    def tasks(self, items: Sequence[Draft], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[Draft], replies: Replies, search: Search, /
    ) -> tuple[Sequence[Draft], Sequence[Rejected]]:
        accepted: dict[str, Draft] = {}
        for name, share in self.shares.items():
            accepted |= {
                draft.id: draft for draft in [one for one in items if one.type == name][: round(share * self.size)]
            }
        for draft in items:  # types that yielded too few are made up for by the others
            if len(accepted) >= self.size:
                break
            accepted.setdefault(draft.id, draft)
        kept = list(accepted.values())[: self.size]
        left = {draft.id for draft in kept}
        return kept, [rejected(draft, self.name, "surplus") for draft in items if draft.id not in left]
