"""The passes that write questions: one for each draft, then what a rule can see in them, then paraphrases."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.construction.builders.passes import ParsedPass, Reason
from ragstone.construction.builders.questions.items import Draft, question_types, same_answer
from ragstone.construction.builders.steps import Step
from ragstone.text import find_answer

_NUMBER = re.compile(r"\d+")
_LONGEST = 1_500  # characters of a question
PARAPHRASES = 2


class _Turn(msgspec.Struct):
    question: str
    answer: str


class _Question(msgspec.Struct):
    question: str
    answers: list[list[str]]
    earlier: list[_Turn]
    difficulty: str


class _Paraphrases(msgspec.Struct):
    paraphrases: list[str]


def _question_problem(shown: Mapping[str, Any], reply: _Question) -> str:
    if not reply.question.strip():
        return "the question is empty"
    if len(reply.question) > _LONGEST:
        return f"the question has {len(reply.question)} characters, more than {_LONGEST}"
    return ""


def _paraphrase_problem(shown: Mapping[str, Any], reply: _Paraphrases) -> str:
    different = {text.strip() for text in reply.paraphrases} - {"", shown["question"]}
    return "" if len(different) >= PARAPHRASES else f"it has not {PARAPHRASES} questions that differ"


WRITE = Step("question", _Question, _question_problem)
PARAPHRASE = Step("paraphrase", _Paraphrases, _paraphrase_problem)


class WriteQuestions(ParsedPass):
    """Asks for the question of each draft, and drops those that a rule can see to be bad: an answer that its evidence
    does not state, a wrong number of parts, or the answer standing in the question."""

    name = "question"
    step = WRITE
    role = "writer"

    def shown(self, item: Draft, /) -> Mapping[str, Any]:
        kind = question_types()[item.type]
        facts = [
            {"subject": fact.subject, "attribute": fact.attribute, "value": fact.value, "time": fact.time,
             "evidence": fact.evidence, "document": fact.chunk.title or fact.document}
            for fact in item.facts
        ]  # fmt: skip
        persona = {"asked_by": item.persona} if item.persona else {}
        return {
            "type": item.type, "wanted": kind.guide.get(item.language, kind.guide["en"]), "style": item.style,
            **persona, "facts": facts, "passages": [passage.text for passage in item.gold],
        }  # fmt: skip

    def judge(self, item: Draft, reply: _Question, /) -> Draft | Reason:
        written = _written(item, reply)
        return _problem(written) or written


def _written(draft: Draft, reply: _Question) -> Draft:
    slots = [tuple(dict.fromkeys(text.strip() for text in slot if text.strip())) for slot in reply.answers]
    earlier = tuple((turn.question.strip(), turn.answer.strip()) for turn in reply.earlier if turn.question.strip())
    return replace(
        draft, question=" ".join(reply.question.split()), references=tuple(slot for slot in slots if slot),
        history=earlier, difficulty=reply.difficulty.strip(),
    )  # fmt: skip


def _problem(draft: Draft) -> Reason | None:
    """The reason to reject a written question."""
    kind = question_types()[draft.type]
    wanted = 0 if not kind.answerable else kind.slots or len(draft.facts)
    if len(draft.references) != wanted:
        return Reason("wrong_number_of_answers", f"{draft.question} ({len(draft.references)}, expected {wanted})")
    first, last = draft.facts[0], draft.facts[-1]
    if kind.conversation and not any(find_answer(first.value, answer) for _, answer in draft.history):
        return Reason("wrong_earlier_turn" if draft.history else "no_earlier_turn", draft.question)
    if kind.conversation and find_answer(last.subject, draft.question):
        return Reason("stands_alone", draft.question)
    if kind.dated and not _names_time(last.time, draft.question):
        return Reason("time_not_named", f"{last.time}: {draft.question}")
    if kind.pairs == "conflict" and any(same_answer(*pair) for pair in product(*draft.references[:2])):
        return Reason("no_contradiction", draft.question)
    return None if kind.computed else _slot_problem(draft)


def _slot_problem(draft: Draft) -> Reason | None:
    """An answer that its own evidence does not state, or that stands in the question or in an earlier turn."""
    asked = "\n".join([draft.question, *(text for turn in draft.history for text in turn)])
    own = draft.facts if len(draft.references) == len(draft.facts) else draft.facts[-1:]
    for slot, fact in zip(draft.references, own, strict=False):
        if not find_answer(slot[0], fact.evidence):
            return Reason("answer_not_in_evidence", slot[0])
        if leak := next((alias for alias in slot if find_answer(alias, asked)), ""):
            return Reason("answer_in_question", f"{leak} in: {draft.question}")
    return None


def _names_time(time: str, question: str) -> bool:
    """Whether a question says this time: its numbers, or its words."""
    numbers = _NUMBER.findall(time)
    return all(map(_NUMBER.findall(question).__contains__, numbers)) if numbers else bool(find_answer(time, question))


class Paraphrase(ParsedPass):
    """Asks for paraphrases of each question, by which `gates.Unambiguous` tells whether it has one reading."""

    name = "paraphrase"
    step = PARAPHRASE
    role = "writer"

    def shown(self, item: Draft, /) -> Mapping[str, Any] | None:
        return {"question": item.question, "wanted": PARAPHRASES} if item.answerable else None

    def judge(self, item: Draft, reply: _Paraphrases, /) -> Draft | Reason:
        texts = [text.strip() for text in reply.paraphrases]
        different = tuple(dict.fromkeys(text for text in texts if text and text != item.question))
        return replace(item, paraphrases=different[:PARAPHRASES])
