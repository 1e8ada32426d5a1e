"""Whether a condition took effect: what was changed is observed in what the system recorded, or in its answer.

A system that takes a parameter may ignore it, lose it on its way to the prompt, or add passages of its own. An outcome
under a condition says something about a cause only if the change was there. What was given is looked for by its text,
because applications number, cut, join and format passages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragstone.analysis.gold_passages import holds, states
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.question import fetched_of
from ragstone.responses.stages import passages_at
from ragstone.text import find_answer
from ragstone.text.folding import letters_of
from ragstone.types import NO_ANSWER, Passage, Record, Response

Took: TypeAlias = Literal["yes", "no", "unknown"]

_PIECE = (6, 20)  # letters and digits of a passage that are looked for together: of a short one, and of a long one
_ENOUGH = 0.5  # share of its pieces by which a passage is there: prompts cut the ends of passages
IN_ORDER = ("gold_middle", "reordered", "best_first")
"""The conditions that are about the order of all passages."""
EVIDENCE_LEADS = ("evidence_first", "padded", "spaced")
"""The conditions whose passages may begin with the evidence."""
AT_END = {"gold_first": True, "only_after": True, "gold_last": False, "only_before": False}
"""Those that are about the place of the gold, with whether that is the first one."""


@dataclass(frozen=True)
class Effect:
    """Whether a condition took effect on an answer, and what was seen: "prompt" or "returned" (the given passages were
    there), "answer" (it says what only they say), "not_in_prompt", "part_in_prompt" (the beginnings of all are),
    "own_passages" (the system's own were there, too),
    "other_order", "no_prompt" (the model was not asked), "more" or "no_more" passages, "searched", "answered" (though
    only a search was asked for), "found_nothing", "repeated", "nothing" (nothing that would tell)."""

    took: Took
    seen: str


@dataclass(frozen=True)
class Alarm:
    """A contradiction between the answers of a run, shown in place of the advice that would be built on them. `name`:
    the key of its text; `n` of `total` questions show it under `condition`."""

    name: str
    condition: str
    n: int
    total: int


@dataclass(frozen=True)
class Verified:
    """What holds for a whole system. `given`, `closed_book`: given passages, and the lack of any, are shown to take
    effect; `tried`: some question was given passages. `prompts`: an answer from given passages without a prompt was not
    made by the model. `unusable`: conditions that are not asked. `discredited`: an alarm speaks against given passages.
    `alarms`: what contradicts itself."""

    given: bool = False
    closed_book: bool = False
    tried: bool = False
    prompts: bool = False
    unusable: frozenset[str] = frozenset()
    discredited: bool = False
    alarms: tuple[Alarm, ...] = field(default=(), compare=False)


def effect_of(condition: str, record: Record, as_is: Response) -> Effect:
    """What one record shows by itself. "unknown": nothing was recorded that would tell."""
    response = record.response
    if response is None:  # an application of a framework that did not ask its retriever
        ignored = (record.error or "").startswith("ignored_passages")
        return Effect("no", "no_prompt") if ignored else Effect("unknown", "nothing")
    known = CONDITIONS.get(condition)  # a run file may have conditions of an earlier version
    return Effect("unknown", "nothing") if known is None else _BY_NEED[known.takes](condition, record, response, as_is)


def _given(condition: str, record: Record, response: Response, as_is: Response) -> Effect:
    place, seen = _seen(response)
    if seen is None:
        return Effect("unknown", "nothing")
    given, slots = record.case.query.passages or (), record.case.sample.references
    text = _Text(seen)
    wanted = _all_texts(given)
    if any(text.has(item.text, 1.0) and not wanted.has(item.text, 1.0) for item in as_is.passages):
        return Effect("no", "own_passages")
    new = [item for item in given if not any(own.text == item.text for own in as_is.passages)]
    needed = given if condition in ("gold_only", "indexed_only", "counterfactual") else new or given
    if not _has_enough(text, needed, slots, leads=condition in EVIDENCE_LEADS):
        return Effect("no", "part_in_prompt" if all(text.begins(item.text) for item in needed) else "not_in_prompt")
    stand_in = str(record.case.sample.meta.get("stand_in", ""))
    if condition == "counterfactual" and not find_answer(stand_in, text.plain):
        return Effect("no", "not_in_prompt")
    if condition in IN_ORDER and not text.in_order([item.text for item in given]):
        return Effect("no", "other_order")
    if condition in AT_END:
        gold = [item for item in given if any(holds(item, one, slots) for one in record.case.sample.passages)]
        parts = [[item.text for item in gold], [item.text for item in given if item not in gold]]
        if not text.before(*(parts if AT_END[condition] else parts[::-1])):
            return Effect("no", "other_order")
    return Effect("yes", place)


def _seen(response: Response) -> tuple[str, Sequence[str] | None]:
    """The texts that the model saw, as far as the system tells: of its prompt, else of the passages that it returned.
    What an adapter hands to a retriever is a stage "fetch", and shows nothing about the rest of the way; a system
    that returns no passages may have had some."""
    step = next((step for step in reversed(response.steps) if step.name == "prompt"), None)
    if step is not None:
        passages = passages_at(response, "prompt") or ()
        return "prompt", [item.text for item in passages] or [str(step.input or "")]
    if response.passages and passages_at(response, "fetch") is None:
        return "returned", [item.text for item in response.passages]
    return "", None


def _has_enough(
    text: "_Text", given: Sequence[Passage], slots: Sequence[Sequence[str]], *, leads: bool = False
) -> bool:
    """Whether all given passages are there, or those that state the parts of the answer; where their ends are cut, with
    these parts. `leads`: they begin with them."""
    there = [item for item in given if text.has(item.text) or (leads and text.begins(item.text))]
    if all(item.text in text.plain for item in given):
        return True
    stated = [slot for slot in slots if any(states(item, [slot]) for item in given)]
    if not stated:
        return len(there) == len(given)
    return all(says(text.plain, slot) and any(states(item, [slot]) for item in there) for slot in stated)


def _more(condition: str, record: Record, response: Response, as_is: Response) -> Effect:
    few, many = ((len(fetched_of(one)), len(one.passages)) for one in (as_is, response))
    if not any(many):
        return Effect("unknown", "nothing")
    return Effect("yes", "more") if many > few or many[1] > few[1] else Effect("no", "no_more")


def _search(condition: str, record: Record, response: Response, as_is: Response) -> Effect:
    if response.answer.strip() and response.finish_reason != NO_ANSWER:
        return Effect("no", "answered")
    if not response.passages and fetched_of(as_is):
        return Effect("no", "found_nothing")
    return Effect("yes", "searched")


def _repeated(condition: str, record: Record, response: Response, as_is: Response) -> Effect:
    return Effect("yes", "repeated")


_BY_NEED: Mapping[str, Callable[[str, Record, Response, Response], Effect]] = {
    "": _repeated, "repeat": _repeated, "history": _repeated, "passages": _given, "k": _more, "retrieve": _search,
}  # fmt: skip


def says(answer: str, aliases: Sequence[str]) -> bool:
    """Whether a text states something in one of these wordings."""
    return any(alias.strip() and find_answer(alias, answer) for alias in aliases)


class _Text:
    """Texts in which passages are looked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.plain = "\n".join(texts)
        self._letters: str | None = None

    @property
    def letters(self) -> str:
        if self._letters is None:
            self._letters = letters_of(self.plain)
        return self._letters

    def has(self, text: str, share: float = _ENOUGH) -> bool:
        """Whether a text is there, or most of its pieces are."""
        if not text.strip() or text in self.plain:
            return bool(text.strip())
        pieces = _pieces(text)
        return bool(pieces) and sum(piece in self.letters for piece in pieces) >= share * len(pieces)

    def begins(self, text: str) -> bool:
        """Whether the beginning of a text is there."""
        return any(piece in self.letters for piece in _pieces(text)[:1])

    def in_order(self, texts: Sequence[str]) -> bool:
        """Whether those texts that are there stand in this order."""
        found = self._places(texts)
        return found == sorted(found)

    def before(self, texts: Sequence[str], others: Sequence[str]) -> bool:
        """Whether those of the first texts that are there stand before all of the others."""
        first, then = self._places(texts), self._places(others)
        return not first or not then or max(first) < min(then)

    def _places(self, texts: Sequence[str]) -> list[int]:
        places = [
            next((self.letters.find(piece) for piece in _pieces(text) if self.letters.count(piece) == 1), -1)
            for text in texts
        ]
        return [place for place in places if place >= 0]


def _all_texts(passages: Sequence[Passage]) -> _Text:
    return _Text([item.text for item in passages])


def _pieces(text: str) -> list[str]:
    letters, (short, long) = letters_of(text), _PIECE
    size = min(long, max(short, len(letters) // 8))
    return (
        [*(letters[at : at + size] for at in range(0, len(letters) - size, size)), letters[-size:]] if letters else []
    )
