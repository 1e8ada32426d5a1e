"""The passes from labelled questions to RGB's counterfactual and integration sets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.builders.pipeline import Rejected, Replies, Search
from ragstone.builders.questions.gates import READ
from ragstone.builders.rgb.base import is_right
from ragstone.builders.rgb.items import JoinedQuestion, NewsQuestion, rejected
from ragstone.builders.steps import Role, Step, Task, content_id
from ragstone.text import find_answer

__all__ = ["AnsweredTogether", "JoinQuestions", "KnownByHeart", "Pair", "ReplaceAnswer", "WriteFake"]

_DIGIT = re.compile(r"\d")


class _Fake(msgspec.Struct):
    fake: str


class _Joined(msgspec.Struct):
    question: str


def _fake_problem(shown: Mapping[str, Any], reply: _Fake) -> str:
    if not reply.fake.strip():
        return "the false answer is empty"
    if any(find_answer(answer, reply.fake) or find_answer(reply.fake, answer) for answer in shown["answers"]):
        return "the false answer is the true one"
    if bool(_DIGIT.search(reply.fake)) != bool(_DIGIT.search(shown["answers"][0])):
        return "the false answer is of another kind: one of the two is a number"
    return ""


FAKE = Step("fake", _Fake, _fake_problem)
JOIN = Step("join", _Joined)


@dataclass(frozen=True)
class KnownByHeart:
    """Keeps the questions that the checker answers without documents: only what a model knows can contradict it."""

    name: str = "known"
    step: Step | None = READ
    role: Role = "checker"

    def tasks(self, items: Sequence[NewsQuestion], /) -> Iterator[Task]:
        return (Task(item.id, {"question": item.question, "passages": {}}, item.language) for item in items)

    async def finish(
        self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[NewsQuestion], Sequence[Rejected]]:
        known = {item.id for item in items if is_right(replies.get((item.id, 0)), item.answers)}
        dropped = [rejected(item, self.name, "not_known_without_documents") for item in items if item.id not in known]
        return [item for item in items if item.id in known], dropped


@dataclass(frozen=True)
class WriteFake:
    """Asks for a false answer of the same kind. It must stand in none of the question's chunks."""

    name: str = "fake"
    step: Step | None = FAKE
    role: Role = "writer"

    def tasks(self, items: Sequence[NewsQuestion], /) -> Iterator[Task]:
        for item in items:
            shown = {"question": item.question, "answers": list(item.answers), "kind": item.kind}
            yield Task(item.id, shown, item.language)

    async def finish(
        self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[NewsQuestion], Sequence[Rejected]]:
        kept: list[NewsQuestion] = []
        dropped: list[Rejected] = []
        for item in items:
            reply = replies[item.id, 0]
            if reply.value is None:
                dropped.append(rejected(item, self.name, "no_usable_reply", reply.problem))
                continue
            fake = reply.value.fake.strip()
            chunks = (*item.positive, *item.negative)
            if any(find_answer(fake, chunk.text, item.language) for chunk in chunks):
                dropped.append(rejected(item, self.name, "false_answer_in_passages", fake))
            else:
                kept.append(replace(item, fake=fake))
        return kept, dropped


@dataclass(frozen=True)
class ReplaceAnswer:
    """Replaces the answer in the positive chunks, in all its spellings; chunks in which one is left are dropped."""

    name: str = "replace"
    step: Step | None = None
    role: Role = "writer"

    def tasks(self, items: Sequence[NewsQuestion], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[NewsQuestion], Sequence[Rejected]]:
        kept: list[NewsQuestion] = []
        dropped: list[Rejected] = []
        for item in items:
            pairs = [(chunk, _replaced(chunk.text, item)) for chunk in item.positive]
            good = [(chunk, text) for chunk, text in pairs if text]
            if not good:
                dropped.append(rejected(item, self.name, "answer_cannot_be_replaced", item.answers[0]))
                continue
            positive, wrong = zip(*good, strict=True)
            kept.append(replace(item, positive=positive, positive_wrong=wrong))
        return kept, dropped


def _replaced(text: str, item: NewsQuestion) -> str:
    """The text with the false answer wherever it states the true one; "" if the true one is left or the false one is
    not stated."""
    for answer in sorted(item.answers, key=len, reverse=True):
        for start, end in reversed(find_answer(answer, text, item.language)):
            text = text[:start] + item.fake + text[end:]
    if any(find_answer(answer, text, item.language) for answer in item.answers):
        return ""
    return text if find_answer(item.fake, text, item.language) else ""


@dataclass(frozen=True)
class Pair:
    """Pairs questions of one language, those with answers of one kind first."""

    name: str = "pair"
    step: Step | None = None
    role: Role = "writer"

    def tasks(self, items: Sequence[NewsQuestion], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[JoinedQuestion], Sequence[Rejected]]:
        ordered = sorted(items, key=lambda item: (item.language, item.kind, item.id))
        pairs = [pair for pair in list(pairwise(ordered))[::2] if pair[0].language == pair[1].language]
        return [JoinedQuestion(f"j-{content_id(a.id, b.id)}", a.language, (a, b)) for a, b in pairs], []


@dataclass(frozen=True)
class JoinQuestions:
    """Asks for one question that asks both, without either answer."""

    name: str = "join"
    step: Step | None = JOIN
    role: Role = "writer"

    def tasks(self, items: Sequence[JoinedQuestion], /) -> Iterator[Task]:
        for item in items:
            yield Task(item.id, {"questions": [part.question for part in item.parts]}, item.language)

    async def finish(
        self, items: Sequence[JoinedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[JoinedQuestion], Sequence[Rejected]]:
        kept: list[JoinedQuestion] = []
        dropped: list[Rejected] = []
        for item in items:
            reply = replies[item.id, 0]
            question = "" if reply.value is None else " ".join(reply.value.question.split())
            joined = replace(item, question=question)
            answers = [answer for part in item.parts for answer in part.answers]
            if not question:
                dropped.append(rejected(joined, self.name, "no_usable_reply", reply.problem))
            elif any(find_answer(answer, question) for answer in answers):
                dropped.append(rejected(joined, self.name, "answer_in_question", question))
            else:
                kept.append(joined)
        return kept, dropped


@dataclass(frozen=True)
class AnsweredTogether:
    """A reader must answer both parts from one positive chunk of each."""

    name: str = "together"
    step: Step | None = READ
    role: Role = "checker"

    def tasks(self, items: Sequence[JoinedQuestion], /) -> Iterator[Task]:
        for item in items:
            passages = {str(number): part.positive[0].text for number, part in enumerate(item.parts, 1)}
            yield Task(item.id, {"question": item.question, "passages": passages}, item.language)

    async def finish(
        self, items: Sequence[JoinedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[JoinedQuestion], Sequence[Rejected]]:
        right = {
            item.id for item in items if is_right(replies.get((item.id, 0)), *(part.answers for part in item.parts))
        }
        dropped = [rejected(item, self.name, "not_answerable_from_gold") for item in items if item.id not in right]
        return [item for item in items if item.id in right], dropped
