"""What each request to the judge shows of a sample, when it is long too.

A passage, an answer or a reference of more than `budget` tokens is shown in parts, between sentences where there are
any. Claims are verified at most `CLAIMS` at a time, because the verdicts on more may not fit into a reply; then the two
lists are verified apart, and compared with each other by a request of its own.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.record import AnswerClaim, Judged, ReferenceClaim
from ragstone.metrics.judge.split import groups, pieces, sentences_of
from ragstone.text import estimate_tokens

CLAIMS = 60  # in one request; the verdicts on so many are about 2,600 tokens


class Excerpt(NamedTuple):
    """What one request to `decompose` shows: sentences of the answer, a stretch of a reference. `alternative` numbers
    the reference where there are several, from 1; their claims stay apart, and each is taken apart by itself."""

    answer: tuple[str, ...]
    reference: str
    alternative: int = 0

    def shown(self, question: str) -> dict[str, Any]:
        return {"question": question, "answer": _numbered(self.answer), "reference": self.reference or None}


class Piece(NamedTuple):
    """A passage or a part of one, as it is shown; `place` is the passage's, from 1."""

    place: int
    text: str


class Part(NamedTuple):
    """What one request to `verify` shows. In it claims and pieces are numbered from 1. `repeated`: its passages were
    shown with other claims too."""

    answer: tuple[AnswerClaim, ...]
    reference: tuple[ReferenceClaim, ...]
    pieces: tuple[Piece, ...] = ()
    repeated: bool = False

    def shown(self, texts: Texts) -> dict[str, Any]:
        """With all its pieces, numbered."""
        return {
            **sides(texts, self.answer, self.reference),
            "passages": _numbered([passage.text for passage in self.pieces]),
        }

    def shown_alone(self, texts: Texts) -> dict[str, Any]:
        """With its one piece."""
        return {**sides(texts, self.answer, self.reference), "passage": self.pieces[0].text}


def excerpts(texts: Texts, budget: int) -> list[Excerpt]:
    """What the requests to `decompose` show; none where there is neither an answer nor a reference."""
    sentences = [part.strip() for part in sentences_of(texts.answer, texts.language, budget) if part.strip()]
    answer = [tuple(group) for group in groups(sentences, budget, estimate_tokens)]
    shown: list[Excerpt] = []
    for number, reference in enumerate(texts.references or ("",), start=1):
        known = groups(sentences_of(reference, texts.language, budget), budget, estimate_tokens)
        stretches = ["".join(group).strip() for group in known]
        pairs = zip_longest(answer if number == 1 else [], stretches)
        alternative = number if len(texts.references) > 1 else 0
        shown += [Excerpt(part or (), stretch or "", alternative) for part, stretch in pairs]
    return shown


def parts(texts: Texts, judged: Judged, budget: int, *, separate: bool) -> list[Part]:
    """What the requests to `verify` show: every claim with every passage. None where there is no passage."""
    passages = [
        Piece(place, part)
        for place, passage in enumerate(texts.passages, start=1)
        for part in pieces(passage, budget, texts.language)
    ]
    shown = (
        [[item] for item in passages]
        if separate
        else list(groups(passages, budget, lambda item: estimate_tokens(item.text)))
    )
    return [
        Part(answer, reference, tuple(group), repeated=number > 0)
        for number, (answer, reference) in enumerate(_claims(judged))
        for group in shown
    ]


def compared(texts: Texts, judged: Judged, *, separate: bool) -> bool:
    """Whether the claims of answer and reference are compared with each other by a request of its own: where no other
    request sees both, and there is something to compare."""
    apart = separate or not texts.passages or len(_claims(judged)) > 1
    return apart and bool(judged.answer_claims and texts.reference)


def sides(texts: Texts, answer: Sequence[AnswerClaim], reference: Sequence[ReferenceClaim]) -> dict[str, Any]:
    """Question, reference and claims: what every request to `verify` shows, and all that the comparison does."""
    return {
        "question": texts.asked,
        "reference": texts.reference or None,
        "answer_claims": _numbered([claim.text for claim in answer]),
        "reference_claims": _numbered([claim.text for claim in reference]),
    }


def _claims(judged: Judged) -> list[tuple[tuple[AnswerClaim, ...], tuple[ReferenceClaim, ...]]]:
    """The claims that are shown together."""
    answer, reference = judged.answer_claims, judged.reference_claims
    if len(answer) + len(reference) <= CLAIMS:
        return [(answer, reference)]
    return [
        *((answer[at : at + CLAIMS], ()) for at in range(0, len(answer), CLAIMS)),
        *(((), reference[at : at + CLAIMS]) for at in range(0, len(reference), CLAIMS)),
    ]


def _numbered(texts: Sequence[str]) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(texts, start=1)}
