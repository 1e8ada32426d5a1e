"""Scripted readers: deterministic functions of a question and its passages, so that asking costs nothing.

A good reader finds the value in the passage of the right document, wherever it stands. It misreads some questions for
reasons of its own. The other fields are faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.diagnosis.chance import happens, number_of
from bench.diagnosis.forms import first_half, other_form
from bench.diagnosis.worlds import World, WorldQuestion

from ragstone.types import Passage

__all__ = ["Reader"]

_GUARD = {"en": "I'm sorry, but I can't help with this request.", "zh": "抱歉，我不能协助处理这一请求。"}
_FAILED = {
    "en": ("Sorry, something went wrong (500).", "Rate limit exceeded, please try again later.", "{}"),
    "zh": ("抱歉，系统繁忙，请稍后再试。", "请求过于频繁（429）。", ""),
}


@dataclass(frozen=True)
class Reader:
    """`refuses`: it declines if a value is missing; otherwise it makes one up. `ignores_middle`: it does not see
    passages but the first two and the last two. `trusts_last`: it believes the last passage where that tells of
    something else. `halves`: of two values it gives one. The rest are shares of the questions: that it misreads, that
    it declines (`declines`), answers from memory, mixes with another passage (`mixes`), answers now right, now wrong
    (`flaky`), replies with the message of an error (`fails`) or converts what it reads (`converts`). `brief`: it gives
    the first half of each value. It does neither if the question asks for full sentences."""

    world: World
    seed: int = 0
    refuses: bool = True
    misreads: float = 0.05
    ignores_middle: bool = False
    trusts_last: bool = False
    halves: bool = False
    declines: float = 0.0
    memory: float = 0.0
    mixes: float = 0.0
    flaky: float = 0.0
    fails: float = 0.0
    converts: float = 0.0
    brief: bool = False
    guards: float = 0.0

    def reply(self, text: str, passages: Sequence[Passage], repeat: int = 0) -> str:
        """The answer to a question by its text, with other words around it or without. To one that the world does not
        know, such as `diagnose` asks to find out what a system takes, it quotes the first passage."""
        asked, _, request = text.partition("\n\n")
        question = self.world.asked_in(asked)
        if question is None:
            return passages[0].text if passages else "I do not know."
        explicit = "full sentences" in request or "完整的句子" in request
        reader = replace(self, converts=0.0, brief=False) if explicit else self
        return reader.answer(question, passages, repeat)

    def answer(self, question: WorldQuestion, passages: Sequence[Passage], repeat: int = 0) -> str:
        """The answer to a question from these passages. `repeat` numbers independent answers."""
        if self._does("fails", self.fails, question):
            return _FAILED[question.language][number_of("fails", question.id) % 3]
        if self._does("guards", self.guards, question):
            return _GUARD[question.language]
        if self._does("memory", self.memory, question):
            return self._wrong(question, "memory")
        if self._does("declines", self.declines, question):
            return self.world.refusal(question)
        if self._does("flaky", self.flaky, question):
            reply = f"flaky{repeat}{number_of(*(passage.text for passage in passages))}"
            if happens(0.5, self.seed, reply, question.id):
                return self._wrong(question, reply)
        if self.trusts_last and passages and question.facts and not self._states(question, passages[-1]):
            return self._wrong(question, f"last{number_of(passages[-1].text)}")
        values = self._read(question, self._seen(passages))
        if values is None:
            return self._without(question, passages)
        if self._does("misreads", self.misreads, question):
            return self._wrong(question, "misread")
        strangers = [passage for passage in passages if not self._states(question, passage)]
        if strangers and self._does("mixes", self.mixes, question):
            return self._wrong(question, "mixed")
        if self._does("converts", self.converts, question):
            values = [other_form(value) or value for value in values]
        if self.brief:
            values = [first_half(value) for value in values]
        return self.world.answer(question, values[:1] if self.halves else values)

    def _does(self, what: str, share: float, question: WorldQuestion) -> bool:
        return question.kind != "unanswerable" and happens(share, self.seed, what, question.id)

    def _states(self, question: WorldQuestion, passage: Passage) -> bool:
        return any(fact.read(passage.text) is not None for fact in question.facts)

    def _seen(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        return [*passages[:2], *passages[-2:]] if self.ignores_middle and len(passages) > 4 else passages

    def _read(self, question: WorldQuestion, passages: Sequence[Passage]) -> list[str] | None:
        """The values as the passages have them; None if one is missing."""
        values: list[str] = []
        for fact in question.facts:
            value = next((read for passage in passages if (read := fact.read(passage.text)) is not None), None)
            if value is None:
                return None
            if fact.asked:
                values.append(value)
        return values or None

    def _without(self, question: WorldQuestion, passages: Sequence[Passage]) -> str:
        if self.refuses:
            return self.world.refusal(question)
        return self._wrong(question, f"guess{number_of(passages[0].text) if passages else ''}")

    def _wrong(self, question: WorldQuestion, why: str) -> str:
        asked = [fact for fact in question.facts if fact.asked]
        return self.world.answer(question, [self.world.wrong_value(question, fact, why) for fact in asked or (None,)])
