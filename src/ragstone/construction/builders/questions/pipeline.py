"""The construction of test questions: its settings and passes.

Here are the passes from documents to facts (duplicates out, then what each chunk states, with its evidence checked) and
those that write questions (one for each draft, then what a rule can see in them, then paraphrases)."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from ragstone.construction.builders.passes import BasePass, Distinct, EachPass, LocalPass, ParsedPass, Reason
from ragstone.construction.builders.pipeline import Kept, Pass, Pipeline, Rejected, Replies, Search, State, rejected
from ragstone.construction.builders.questions.gates import (
    Accept,
    AnsweredFromGold,
    ClosedBook,
    Contradicts,
    Elsewhere,
    EvidenceNeeded,
    FindNear,
    Unambiguous,
)
from ragstone.construction.builders.questions.items import (
    Draft,
    Fact,
    about,
    asked,
    question_types,
    same_answer,
    types_of,
)
from ragstone.construction.builders.questions.places import place_of
from ragstone.construction.builders.questions.sample import OrderChunks, SampleChunks
from ragstone.construction.builders.questions.selection import STYLES, SelectFacts
from ragstone.construction.builders.steps import Step, Task, content_id, prompt_of
from ragstone.errors import UnknownName, UsageError
from ragstone.text import detect, find_answer
from ragstone.text.characters import HAN
from ragstone.text.quotes import find_quote
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.structs import JSON

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


_SHORTEST = 40  # letters of a chunk that can state a fact; a Chinese character counts as three
_FACTS = 10  # of a chunk, at most, in an estimate
_HAN = re.compile(f"[{HAN}]")


class _Stated(msgspec.Struct):
    subject: str
    attribute: str
    value: str
    time: str
    evidence: str


class _Facts(msgspec.Struct):
    facts: list[_Stated]


FACTS = Step("facts", _Facts)


class LongEnough(LocalPass, EachPass):
    """Drops chunks that are too short to state anything."""

    name = "length"

    def decide(self, item: Passage, replies: Replies, /) -> Passage | Reason:
        text = item.text.strip()
        return item if len(text) + 2 * len(_HAN.findall(text)) >= _SHORTEST else Reason("too_short")


class WriteFacts(BasePass):
    """Asks for the facts that each chunk states. A fact stays if its evidence stands in the chunk and states its value,
    and if no earlier fact of the document says the same."""

    name = "facts"
    step = FACTS
    role = "writer"

    def tasks(self, items: Sequence[Passage], /) -> Iterator[Task]:
        for chunk in items:
            yield Task(_key(chunk), {"title": chunk.title, "passage": chunk.text}, detect(chunk.text))

    def most(self, entered: int, /) -> int:
        """Ten facts of each chunk."""
        return _FACTS * entered

    async def finish(self, items: Sequence[Passage], replies: Replies, search: Search, /) -> Kept:
        facts: list[Fact] = []
        dropped: list[Rejected] = []
        seen: set[tuple[str, ...]] = set()
        for chunk in items:
            reply = replies[_key(chunk), 0]
            if reply.value is None:
                dropped.append(rejected(chunk, self.name, "no_usable_reply", reply.problem))
                continue
            for stated in reply.value.facts:
                fact, reason = _checked(chunk, stated)
                same = (fact.document, *(part.casefold() for part in (fact.subject, fact.attribute, fact.time)))
                if not reason and same in seen:
                    reason = "same_fact"
                if reason:
                    dropped.append(rejected(fact, self.name, reason))
                else:
                    seen.add(same)
                    facts.append(fact)
        return facts, dropped


def _key(chunk: Passage) -> str:
    """Of the chunk's content: a chunk that did not change is not asked about again."""
    return content_id(chunk.id, chunk.title, chunk.text)


def _checked(chunk: Passage, stated: _Stated) -> tuple[Fact, str]:
    """The fact with its evidence as it stands in the chunk, and the reason to reject it ("" for none)."""
    parts = [part.strip() for part in (stated.subject, stated.attribute, stated.value, stated.time)]
    place = find_quote(stated.evidence, chunk.text) if stated.evidence.strip() else None
    evidence = stated.evidence if place is None else chunk.text[slice(*place)]
    name = content_id(_key(chunk), *parts)
    subject, attribute, value, time = parts
    found = None if place is None else place_of(chunk, *place)
    fact = Fact(name, chunk, subject, attribute, value, evidence, time, detect(chunk.text), found)
    if place is None:
        return fact, "evidence_not_in_text"
    if not (subject and attribute and value):
        return fact, "incomplete_fact"
    return fact, "" if find_answer(value, evidence) else "value_not_in_evidence"


_DRAFTS = 1.6  # turns for each question that is wanted, in the first round
_MOST_DRAFTS = 8  # for each question that is wanted, in all rounds
_RESERVE = 1.25  # the turns of a further round are so many times those that the measured losses ask for
_ACROSS = ("bridge", "same_attribute", "versions", "conflict")  # pairs of facts that may stand in two documents
VERSION = 2


@dataclass(frozen=True)
class QuestionSettings:
    """What is wanted: `size` questions, the shares of their types, their styles, who asks them, and what becomes of
    questions that the checker answers without any passage. `known`: questions that there are, each with its answer."""

    size: int = 200
    shares: Mapping[str, float] | None = None
    styles: Sequence[str] = ("plain",)
    personas: Sequence[str] = ("",)
    seed: int = 0
    contaminated: Literal["drop", "mark"] = "drop"
    known: Sequence[tuple[str, str | None]] = ()

    def check(self) -> None:
        """Raises UnknownName and UsageError."""
        for style in self.styles:
            if style not in STYLES:
                raise UnknownName("style", style, STYLES)
        if self.size < 1:
            raise UsageError(f"size is {self.size}; expected a number from 1.")
        types_of(self.shares)


def most_drafts(size: int) -> int:
    """How many drafts are tried for so many questions."""
    return _MOST_DRAFTS * size


def questions_pipeline(chunks: Sequence[Passage], settings: QuestionSettings) -> Pipeline:
    """The first round over these chunks. Raises as `QuestionSettings.check`."""
    settings.check()
    turns = math.ceil(_DRAFTS * settings.size)
    begin: list[Pass] = [
        LongEnough(), Distinct(lambda chunk: chunk.text, name="chunks"), OrderChunks(settings.seed),
    ]  # fmt: skip
    return _round(chunks, settings, begin, turns, whole=turns >= len(chunks))


def _round(
    chunks: Sequence[Passage], settings: QuestionSettings, begin: Sequence[Pass], turns: int, *, whole: bool
) -> Pipeline:
    """The passes over the chunks of so many turns, those of earlier rounds among them. `begin`: the passes that are
    the same in every round. `whole`: these are all chunks, and more is drawn from each."""
    shares, limit, seed = types_of(settings.shares), most_drafts(settings.size), settings.seed
    across = any(question_types()[name].pairs in _ACROSS for name in shares)
    passes: list[Pass] = [
        *begin,
        SampleChunks(turns, limit, across),
        WriteFacts(),
        SelectFacts(turns, limit, shares, settings.styles, settings.personas, seed, whole),
        WriteQuestions(),
        Distinct(asked, settings.known, about),
        Contradicts(),
        FindNear(),
        Elsewhere(),
        AnsweredFromGold(),
        ClosedBook(contaminated=settings.contaminated),
        EvidenceNeeded(),
        Paraphrase(),
        Unambiguous(),
        Accept(settings.size, shares),
    ]

    def more(state: State) -> Pipeline | None:
        """A round with the turns that the missing questions take at the losses so far; None: there is nothing more."""
        yields = {one.name: one for one in state.yields}
        sample, got = yields["sample"], len(state.items)
        exhausted = whole and yields["select"].kept < turns
        if got >= settings.size or exhausted or turns >= limit:
            return None
        further = math.ceil(_RESERVE * (settings.size - got) * turns / max(got, 1))
        larger = min(turns + further, 2 * turns, limit)
        return _round(chunks, settings, begin, larger, whole=sample.kept == sample.entered)

    prompts: dict[str, Any] = {
        pass_.step.name: prompt_of(pass_.step.name, "en").version for pass_ in passes if pass_.step is not None
    }
    fixed: dict[str, JSON] = {"version": VERSION, "seed": seed, "prompts": prompts}
    return Pipeline("questions", fixed, passes, tuple(chunks), tuple(chunks), more=more)
