"""The passes from labelled questions to RGB's counterfactual and integration sets."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.construction.builders.passes import (
    READ,
    AskPass,
    EachPass,
    LocalPass,
    ParsedPass,
    Reason,
    is_right,
    numbered,
    numbers_problem,
    states,
)
from ragstone.construction.builders.pipeline import Kept, Replies, Search, rejected
from ragstone.construction.builders.rgb.items import JoinedQuestion, NewsQuestion
from ragstone.construction.builders.steps import Step, content_id
from ragstone.text import find_answer, fold
from ragstone.types import Passage

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d[\d.,]*")
_COUNTED = ("number", "amount")  # kinds of answers that are written as a number with its unit


class _Fake(msgspec.Struct):
    fake: str


class _Replaced(msgspec.Struct):
    same_kind: bool
    passages: list[int]


class _Joined(msgspec.Struct):
    question: str


def _fake_problem(shown: Mapping[str, Any], reply: _Fake) -> str:
    if not reply.fake.strip():
        return "the false answer is empty"
    if any(find_answer(answer, reply.fake) or find_answer(reply.fake, answer) for answer in shown["answers"]):
        return "the false answer is the true one"
    if bool(_DIGIT.search(reply.fake)) != bool(_DIGIT.search(shown["answers"][0])):
        return "the false answer is of another kind: one of the two is a number"
    if shown["kind"] in _COUNTED and all(_around(reply.fake) != _around(answer) for answer in shown["answers"]):
        return "the false answer is of another kind: only its number may differ from the true one"
    return ""


def _around(answer: str) -> str:
    """What is written around the numbers: the unit."""
    return _NUMBER.sub("#", fold(answer.strip()).text)


FAKE = Step("fake", _Fake, _fake_problem)
REPLACED = Step("replaced", _Replaced, numbers_problem)
JOIN = Step("join", _Joined)


class KnownByHeart(AskPass):
    """Keeps the questions that the checker answers without documents: only what a model knows can contradict it."""

    name = "known"
    step = READ

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any]:
        return {"question": item.question, "passages": {}}

    def decide(self, item: NewsQuestion, replies: Replies, /) -> NewsQuestion | Reason:
        right = is_right(replies.get((item.id, 0)), [item.answers])
        return item if right else Reason("not_known_without_documents")


class WriteFake(ParsedPass):
    """Asks for a false answer of the same kind. It must stand in none of the question's chunks."""

    name = "fake"
    step = FAKE
    role = "writer"

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any]:
        return {"question": item.question, "answers": list(item.answers), "kind": item.kind}

    def judge(self, item: NewsQuestion, reply: _Fake, /) -> NewsQuestion | Reason:
        fake = reply.fake.strip()
        if any(find_answer(fake, chunk.text, item.language) for chunk in (*item.positive, *item.negative)):
            return Reason("false_answer_in_passages", fake)
        return replace(item, fake=fake)


class ReplaceAnswer(LocalPass, EachPass):
    """Replaces the answer in the positive chunks, in all its spellings; chunks in which one is left are dropped."""

    name = "replace"

    def decide(self, item: NewsQuestion, replies: Replies, /) -> NewsQuestion | Reason:
        pairs = [(chunk, _replaced(chunk.text, item)) for chunk in item.positive]
        return _with_replaced(item, [(chunk, text) for chunk, text in pairs if text])


def _replaced(text: str, item: NewsQuestion) -> str:
    """The text with the false answer wherever it states the true one; "" if the true one is left or the false one is
    not stated."""
    for answer in sorted(item.answers, key=len, reverse=True):
        for start, end in reversed(find_answer(answer, text, item.language)):
            text = text[:start] + item.fake + text[end:]
    if states(item.answers, text, item.language):
        return ""
    return text if find_answer(item.fake, text, item.language) else ""


class CheckReplaced(ParsedPass):
    """Asks whether the false answer is of the true one's kind, and which chunks state it so that nobody can still tell
    the true one. A question needs both."""

    name = "replaced"
    step = REPLACED

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any]:
        return {
            "question": item.question, "answers": list(item.answers), "kind": item.kind, "fake": item.fake,
            "passages": numbered(item.positive_wrong),
        }  # fmt: skip

    def judge(self, item: NewsQuestion, reply: _Replaced, /) -> NewsQuestion | Reason:
        if not reply.same_kind:
            return Reason("false_answer_of_another_kind", item.fake)
        pairs = list(zip(item.positive, item.positive_wrong, strict=True))
        return _with_replaced(item, [pair for number, pair in enumerate(pairs, 1) if number in reply.passages])


def _with_replaced(item: NewsQuestion, pairs: Sequence[tuple[Passage, str]]) -> NewsQuestion | Reason:
    """The question with these positive chunks, each with its text that states the false answer."""
    if not pairs:
        return Reason("answer_cannot_be_replaced", item.answers[0])
    positive, wrong = zip(*pairs, strict=True)
    return replace(item, positive=positive, positive_wrong=wrong)


class Pair(LocalPass):
    """Pairs questions of one language, those with answers of one kind first. Each answer belongs to its part: neither
    states the other, and the positive chunks of a part are those without the answer of the other one."""

    name = "pair"

    def most(self, entered: int, /) -> int:
        """Half as many pairs as questions."""
        return entered // 2

    async def finish(self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /) -> Kept:
        pairs, waiting = list[JoinedQuestion](), list[NewsQuestion]()
        for item in sorted(items, key=lambda item: (item.language, item.kind, item.id)):
            found = ((place, parts) for place, partner in enumerate(waiting) if (parts := _parts(partner, item)))
            place, parts = next(found, (-1, None))
            if parts is None:
                waiting.append(item)
            else:
                del waiting[place]
                pairs.append(JoinedQuestion(f"j-{content_id(*(part.id for part in parts))}", item.language, parts))
        return pairs, [rejected(item, self.name, "no_partner") for item in waiting]


def _parts(a: NewsQuestion, b: NewsQuestion) -> tuple[NewsQuestion, NewsQuestion] | None:
    """The questions as parts of one, None if their answers cannot be told apart."""
    language, pairs = a.language, ((a, b), (b, a))
    stated = any(states(one.answers, text, language) for one, other in pairs for text in other.answers)
    if language != b.language or stated:
        return None
    own_a, own_b = (
        tuple(chunk for chunk in one.positive if not states(other.answers, chunk.text, language))
        for one, other in pairs
    )
    return (replace(a, positive=own_a), replace(b, positive=own_b)) if own_a and own_b else None


class JoinQuestions(ParsedPass):
    """Asks for one question that asks both, without either answer."""

    name = "join"
    step = JOIN
    role = "writer"

    def shown(self, item: JoinedQuestion, /) -> Mapping[str, Any]:
        return {"questions": [part.question for part in item.parts]}

    def judge(self, item: JoinedQuestion, reply: _Joined, /) -> JoinedQuestion | Reason:
        question = " ".join(reply.question.split())
        if not question:
            return Reason("no_usable_reply")
        if any(states(part.answers, question) for part in item.parts):
            return Reason("answer_in_question", question)
        return replace(item, question=question)


class AnsweredTogether(AskPass):
    """A reader must answer both parts, in their order, from one positive chunk of each."""

    name = "together"
    step = READ

    def shown(self, item: JoinedQuestion, /) -> Mapping[str, Any]:
        return {"question": item.question, "passages": numbered([part.positive[0].text for part in item.parts])}

    def decide(self, item: JoinedQuestion, replies: Replies, /) -> JoinedQuestion | Reason:
        reply = replies.get((item.id, 0))
        if reply is None or not is_right(reply, [part.answers for part in item.parts]):
            return Reason("not_answerable_from_gold")
        first, second = (_begin(part, reply.value.answer) for part in item.parts)
        return item if first < second else Reason("answers_of_other_parts", reply.value.answer)


def _begin(part: NewsQuestion, answer: str) -> int:
    """Where the reader's answer first states that of a part."""
    return min(start for alias in part.answers for start, _ in find_answer(alias, answer))
