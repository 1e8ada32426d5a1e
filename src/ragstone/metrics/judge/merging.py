"""Verdicts of several requests as one: of groups of passages, of pieces of a passage, of each passage by itself."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ragstone.metrics.judge.words import AnswerClaim, Judged, PassageVerdict, ReferenceClaim
from ragstone.text import fold

__all__ = ["Piece", "merge_joint", "merge_separate"]

Reply = tuple[dict[str, Any], list[dict[str, Any]]]
C = TypeVar("C", AnswerClaim, ReferenceClaim)


class Piece(NamedTuple):
    """A passage or a part of one, as it was shown; `place` is the passage's, from 1."""

    place: int
    text: str


class _Verdicts:
    """What was said of each claim of one list. A claim that a piece supports is supported by its passage; a passage of
    which one piece supports and another contradicts a claim supports it."""

    def __init__(self) -> None:
        self.support: dict[int, set[int]] = defaultdict(set)
        self.against: dict[int, set[int]] = defaultdict(set)
        self.quotes: dict[int, str] = {}

    def add(self, claim: int, *, support: Iterable[int], against: Iterable[int], quote: str) -> None:
        self.support[claim].update(support)
        self.against[claim].update(against)
        if quote.strip():
            self.quotes.setdefault(claim, quote.strip())

    def on(self, claim: C) -> C:
        support = self.support[claim.id]
        return replace(
            claim,
            supported_by=tuple(sorted(support)),
            contradicted_by=tuple(sorted(self.against[claim.id] - support)),
            quote=self.quotes.get(claim.id, ""),
        )


def merge_joint(judged: Judged, parts: Sequence[Sequence[Piece]], replies: Sequence[Reply], reference: str) -> Judged:
    """The claims with the verdicts of every group of passages. What does not depend on passages (whether the reference
    supports a claim, whether the answer covers one) is taken from the first."""
    answer, other = _Verdicts(), _Verdicts()
    passages: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    steps: list[dict[str, Any]] = []
    for shown, (reply, asked) in zip(parts, replies, strict=True):
        for verdicts, items in ((answer, reply["answer_claims"]), (other, reply["reference_claims"])):
            for item in items:
                verdicts.add(
                    item["id"],
                    support=[shown[number - 1].place for number in item["supported_by"]],
                    against=[shown[number - 1].place for number in item["contradicted_by"]],
                    quote=item["quote"],
                )
        for item in reply["passages"]:
            passages[shown[item["id"] - 1].place].append(item)
        asked[-1] |= {
            "answer_claims": [_told(item, shown) for item in reply["answer_claims"]],
            "reference_claims": [_told(item, shown) for item in reply["reference_claims"]],
            "passages": [{**item, "id": shown[item["id"] - 1].place} for item in reply["passages"]],
        }
        steps += asked
    first = replies[0][0]
    stated = {item["id"]: item["in_reference"] for item in first["answer_claims"]}
    covered = {item["id"]: item["in_answer"] for item in first["reference_claims"]}
    return _finished(judged, answer, other, stated, covered, passages, steps, reference)


def merge_separate(
    judged: Judged, parts: Sequence[Piece], replies: Sequence[Reply], reference: str, *, compared: bool
) -> Judged:
    """The claims with the verdicts of each passage by itself, and (`compared`) of the two lists against each other."""
    answer, other = _Verdicts(), _Verdicts()
    passages: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    steps: list[dict[str, Any]] = []
    for piece, (reply, asked) in zip(parts, replies, strict=False):
        told: dict[str, list[dict[str, Any]]] = {"answer_claims": [], "reference_claims": []}
        for at, verdicts in (("answer_claims", answer), ("reference_claims", other)):
            for item in reply[at]:
                support = [piece.place] if item["verdict"] == "supported" else []
                against = [piece.place] if item["verdict"] == "contradicted" else []
                verdicts.add(item["id"], support=support, against=against, quote=item["quote"])
                line = {
                    "id": item["id"], "supported_by": support, "contradicted_by": against, "quote": item["quote"]
                }  # fmt: skip
                told[at].append(line | _found(item["quote"], [piece.text]))
        verdict = {"id": piece.place, "relevant": reply["relevant"], "useful": reply["useful"]}
        passages[piece.place].append(verdict)
        asked[-1] |= {**told, "passages": [verdict]}
        steps += asked
    stated: dict[int, bool | None] = {}
    covered: dict[int, bool | None] = {}
    if compared:
        reply, asked = replies[-1]
        stated = {item["id"]: item["in_reference"] for item in reply["answer_claims"]}
        covered = {item["id"]: item["in_answer"] for item in reply["reference_claims"]}
        asked[-1] |= {"answer_claims": reply["answer_claims"], "reference_claims": reply["reference_claims"]}
        steps += asked
    elif reference:  # a reference without a claim states none of the answer's
        stated = {claim.id: False for claim in judged.answer_claims}
    return _finished(judged, answer, other, stated, covered, passages, steps, reference)


def _finished(
    judged: Judged,
    answer: _Verdicts,
    other: _Verdicts,
    stated: Mapping[int, bool | None],
    covered: Mapping[int, bool | None],
    passages: Mapping[int, Sequence[Mapping[str, Any]]],
    steps: Sequence[dict[str, Any]],
    reference: str,
) -> Judged:
    """A passage is relevant, and useful, where one of its pieces is. What only a reference can decide is None without
    one, whatever was said."""
    return replace(
        judged,
        answer_claims=tuple(
            replace(answer.on(claim), in_reference=stated.get(claim.id) if reference else None)
            for claim in judged.answer_claims
        ),
        reference_claims=tuple(
            replace(other.on(claim), in_answer=covered.get(claim.id) if judged.answer_claims else None)
            for claim in judged.reference_claims
        ),
        passages=tuple(
            PassageVerdict(
                place,
                any(item["relevant"] for item in items),
                any(item["useful"] for item in items) if reference else None,
            )
            for place, items in sorted(passages.items())
        ),
        steps=(*judged.steps, *steps),
    )


def _told(item: Mapping[str, Any], shown: Sequence[Piece]) -> dict[str, Any]:
    """A verdict as a step keeps it: passages by their own places, and whether the quote stands in one that supports."""
    supporting = [shown[number - 1].text for number in item["supported_by"]]
    return {
        **item,
        "supported_by": sorted({shown[number - 1].place for number in item["supported_by"]}),
        "contradicted_by": sorted({shown[number - 1].place for number in item["contradicted_by"]}),
        **_found(item["quote"], supporting),
    }


def _found(quote: str, texts: Sequence[str]) -> dict[str, bool]:
    """Whether a quote stands in one of the texts, in whichever width, case or script it is written; {} without one."""
    wanted = " ".join(fold(quote.strip().strip("\"'“”‘’「」.…")).text.split())
    if not wanted:
        return {}
    return {"quote_found": any(wanted in " ".join(fold(text).text.split()) for text in texts)}
