"""Where the gold stands in the prompt: among which passages, at which place, behind how much text, and which of its
sentences come first."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragstone.analysis.gold_passages import evidence_of, holds, lacking, rank_of
from ragstone.diagnosis.interventions.condition_texts import fillers
from ragstone.diagnosis.interventions.question import (
    Build,
    Question,
    apart,
    fetched_of,
    prompt_of,
    with_passages,
)
from ragstone.responses.stages import passages_at
from ragstone.text.quotes import find_quote
from ragstone.types import Passage, Query, Response


def placed(place: str) -> Build:
    """The gold first, in the middle or last among the system's other passages; None where it stood there as is."""

    def build(question: Question, first: Response) -> Query | None:
        found = _placed(question, first, place)
        return None if not found or found == [*first.passages] else with_passages(question, found)

    return build


def stood(question: Question, first: Response, place: str) -> bool:
    """Whether the gold stood at this place of the prompt as is."""
    return _placed(question, first, place) == [*first.passages] != []


def _placed(question: Question, first: Response, place: str) -> list[Passage]:
    """The passages with the gold at this place; [] where there is no gold, or nothing else."""
    gold, others = apart(question, first)
    if not gold or not others:
        return []
    at = {"first": 0, "middle": (len(others) + 1) // 2, "last": len(others)}[place]
    return [*others[:at], *gold, *others[at:]]


def kept(*, before: bool) -> Build:
    """The gold with only those passages that stood before it in the prompt, or with only those after it: wherever the
    system puts what it is given, no other one is on its other side. None where it stood at an end."""

    def build(question: Question, first: Response) -> Query | None:
        shown = passages_at(first, "prompt") or ()
        at = [
            n
            for n, item in enumerate(shown)
            if any(holds(item, one, question.sample.references) for one in question.gold)
        ]
        if not at or at[0] == 0 or at[-1] == len(shown) - 1:
            return None
        ids = {item.id for item in (shown[: at[-1] + 1] if before else shown[at[0] :])}
        return with_passages(question, [item for item in first.passages if item.id in ids])

    return build


def between_fillers(*, short: bool) -> Build:
    """The gold, as the system has it where it does, between two passages that say nothing: each as long as all others
    together, or short. Where the prompt lacks it, its evidence stands first, so that it has to reach the prompt."""

    def build(question: Question, first: Response) -> Query | None:
        gold, others = apart(question, first)
        if not gold or not others:
            return None
        length = 0 if short else sum(len(item.text) for item in others)
        before, after = fillers(others[0].text, [length] * 2)
        slots = question.sample.references
        own = [item for item in fetched_of(first) if any(holds(item, one, slots) for one in question.gold)]
        found = [*own, *lacking(own, question.gold, slots)]
        if rank_of(prompt_of(first), question.gold, slots) is None:
            found = _arranged(gold, question, "first") or found
        return with_passages(question, [before, *found, after])

    return build


def with_evidence_at(place: str) -> Build:
    """The system's own chunks of the gold, or the gold, with the sentences that state the answer moved to the beginning
    or to the end. None where they have no other sentence."""

    def build(question: Question, first: Response) -> Query | None:
        slots = question.sample.references
        chunks = [item for item in fetched_of(first) if any(holds(item, one, slots) for one in question.gold)]
        found = _arranged(chunks[:1] or question.gold, question, place)
        return with_passages(question, found) if found else None

    return build


def _arranged(passages: Sequence[Passage], question: Question, place: str) -> list[Passage]:
    """One passage with the text of all, their evidence first or last. [] where it is not known which sentences it is,
    or nothing else is there."""
    pairs = [_evidence_and_rest(item, question) for item in passages]
    if not pairs or not all(evidence and rest for evidence, rest in pairs):
        return []
    stated, others = ("\n".join(texts) for texts in zip(*pairs, strict=True))
    text = "\n".join((stated, others) if place == "first" else (others, stated))
    return [replace(passages[0], text=text, title="")]


def _evidence_and_rest(passage: Passage, question: Question) -> tuple[str, str]:
    """The sentences of a passage that state the answer, and the rest of its text."""
    slots, found, rest = question.sample.references, list[str](), passage.text
    for gold in question.gold:
        for slot in {one.slot for one in evidence_of(gold, slots)}:
            stated = [one for one in evidence_of(gold, slots) if one.slot == slot and one.value]
            spans = [(one, span) for one in stated if (span := find_quote(one.text, rest)) is not None]
            for number, (one, _) in enumerate(spans):
                if number == 0 and one.text not in found:
                    found.append(one.text)
                if (span := find_quote(one.text, rest)) is not None:
                    rest = f"{rest[: span[0]].rstrip()}\n{rest[span[1] :].lstrip(' .。')}".strip()
    return "\n".join(found), rest if any(map(str.isalnum, rest)) else ""
