"""Where the gold stands in the prompt: among which passages, at which place, behind how much text, and which of its
sentences come first."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragstone.benchmarks.interventions.gold import evidence_of, holds
from ragstone.benchmarks.interventions.prompts import fillers
from ragstone.benchmarks.interventions.question import (
    Build,
    Question,
    apart,
    own_chunks,
    with_passages,
)
from ragstone.responses.stages import passages_at
from ragstone.text.quoting import find_quote
from ragstone.types import Passage, Query, Response


def placed(place: str) -> Build:
    """The gold first, in the middle or last among the system's other passages."""

    def build(question: Question, first: Response) -> Query | None:
        gold, others = apart(question, first)
        if not gold or not others:
            return None
        at = {"first": 0, "middle": (len(others) + 1) // 2, "last": len(others)}[place]
        return with_passages(question, [*others[:at], *gold, *others[at:]])

    return build


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
    """The gold, its evidence first, between two passages that say nothing: each as long as all others, or short."""

    def build(question: Question, first: Response) -> Query | None:
        gold, others = apart(question, first)
        if not gold or not others:
            return None
        length = 0 if short else sum(len(item.text) for item in others)
        before, after = fillers(others[0].text, [length] * 2)
        return with_passages(question, [before, *(_arranged(gold, question, "first") or gold), after])

    return build


def with_evidence_at(place: str) -> Build:
    """The system's own chunks of the gold, or the gold, with the sentences that state the answer moved to the beginning
    or to the end. None where they have no other sentence."""

    def build(question: Question, first: Response) -> Query | None:
        slots = question.sample.references
        chunks = [item for item in own_chunks(question, first) if any(holds(item, one, slots) for one in question.gold)]
        found = _arranged(chunks or question.gold, question, place)
        return with_passages(question, found) if found else None

    return build


def _arranged(passages: Sequence[Passage], question: Question, place: str) -> list[Passage]:
    """These passages with their evidence first or last; of several, that of all before or after the rest of all. []
    where it is not known which sentences it is, or nothing else is there."""
    pairs = [_evidence_and_rest(item, question) for item in passages]
    if not pairs or not all(evidence and rest for evidence, rest in pairs):
        return []
    if len(pairs) == 1:
        (evidence, rest), item = pairs[0], passages[0]
        return [replace(item, text="\n".join((evidence, rest) if place == "first" else (rest, evidence)), title="")]
    both = list(zip(passages, pairs, strict=True))
    stated = [replace(item, text=evidence, title="") for item, (evidence, _) in both]
    others = [replace(item, id=f"{item.id} rest", text=rest, title="") for item, (_, rest) in both]
    return [*stated, *others] if place == "first" else [*others, *stated]


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
