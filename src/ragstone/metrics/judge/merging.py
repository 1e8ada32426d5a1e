"""Replies of one or more requests as one `Judged`: claims numbered in order, verdicts of all passages together."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ragstone.metrics.judge.showing import Excerpt, Part
from ragstone.metrics.judge.words import AnswerClaim, Judged, PassageVerdict, ReferenceClaim
from ragstone.text import Folded, fold
from ragstone.text.folding import fold_characters

__all__ = ["Reply", "Verdicts", "joined"]

C = TypeVar("C", AnswerClaim, ReferenceClaim)

_QUESTIONS = 3  # of those that the answer answers, as many as count
_ANSWER, _REFERENCE = "answer_claims", "reference_claims"
_BLANKS_AND_QUOTES = " \t\r\n\"'“”‘’「」.…"


class Reply(NamedTuple):
    """What a judge replied to one step, and the requests that it took."""

    said: dict[str, Any]
    steps: list[dict[str, Any]]


def joined(replies: Sequence[Reply], shown: Sequence[Excerpt]) -> Judged:
    """The claims of all replies to `decompose`, numbered in order; the last step of each gets what was made of it. An
    answer is noncommittal where each part of it is, and so is an empty one."""
    claims: list[AnswerClaim] = []
    reference: list[ReferenceClaim] = []
    questions: list[str] = []
    sentences: list[str] = []
    committed = False
    for (said, steps), (answer, _) in zip(replies, shown, strict=True):
        found = [
            AnswerClaim(len(claims) + number, one["text"].strip(), len(sentences) + one["sentence"], one["relevant"])
            for number, one in enumerate(said[_ANSWER], start=1)
        ]
        known = [
            ReferenceClaim(len(reference) + number, one["text"].strip())
            for number, one in enumerate(said[_REFERENCE], start=1)
        ]
        answered = [one.strip() for one in said["questions"] if one.strip()] if answer else []
        steps[-1] |= {
            "sentences": list(answer),
            _ANSWER: [
                {"id": one.id, "text": one.text, "sentence": one.sentence, "relevant": one.relevant} for one in found
            ],
            _REFERENCE: [{"id": one.id, "text": one.text} for one in known],
            "questions": answered,
            "noncommittal": said["noncommittal"],
        }
        claims += found
        reference += known
        questions += answered
        sentences += answer
        committed = committed or bool(answer and not said["noncommittal"])
    return Judged(
        answer_claims=tuple(claims),
        reference_claims=tuple(reference),
        questions=tuple(dict.fromkeys(questions))[:_QUESTIONS],
        noncommittal=not committed,
        steps=tuple(step for _, steps in replies for step in steps),
        sentences=tuple(sentences),
    )


class Verdicts:
    """Verdicts on the claims of one sample, as they come from request to request.

    A claim that one piece of a passage supports is supported by the passage, also where another piece contradicts it.
    A passage is relevant, and useful, where one of its pieces is. Whether the reference states a claim and whether the
    answer covers one does not depend on passages: the first that says so is right, and the comparison comes first.
    """

    def __init__(self, judged: Judged) -> None:
        self._judged = judged
        self._support: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._against: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._quotes: dict[tuple[str, int], str] = {}
        self._other: dict[tuple[str, int], bool | None] = {}  # in_reference, in_answer
        self._relevant: dict[int, list[bool]] = defaultdict(list)
        self._useful: dict[int, list[bool | None]] = defaultdict(list)
        self._steps: list[dict[str, Any]] = list(judged.steps)

    def compare(self, reply: Reply) -> None:
        """Takes a reply to `verify_reference`, which showed all claims."""
        for at, other in ((_ANSWER, "in_reference"), (_REFERENCE, "in_answer")):
            for item in reply.said[at]:
                self._other.setdefault((at, item["id"]), item[other])
            reply.steps[-1][at] = reply.said[at]
        self._steps += reply.steps

    def add(self, reply: Reply, shown: Part) -> None:
        """Takes a reply to `verify`."""
        for at, other in ((_ANSWER, "in_reference"), (_REFERENCE, "in_answer")):
            told = []
            for item in sorted(reply.said[at], key=_by_id):
                claim = self._claim(at, item["id"], shown)
                support = sorted({shown.pieces[number - 1].place for number in item["supported_by"]})
                against = sorted({shown.pieces[number - 1].place for number in item["contradicted_by"]})
                texts = [shown.pieces[number - 1].text for number in item["supported_by"]]
                told.append(self._note(at, claim, support, against, item["quote"], texts) | {other: item[other]})
                if item[other] is not None:
                    self._other.setdefault((at, claim), item[other])
            reply.steps[-1][at] = told
        self._note_passages(
            reply, [(shown.pieces[item["id"] - 1].place, item) for item in reply.said["passages"]], shown
        )

    def add_alone(self, reply: Reply, shown: Part) -> None:
        """Takes a reply to `verify_passage`."""
        (piece,) = shown.pieces
        for at in (_ANSWER, _REFERENCE):
            told = []
            for item in sorted(reply.said[at], key=_by_id):
                support = [piece.place] if item["verdict"] == "supported" else []
                against = [piece.place] if item["verdict"] == "contradicted" else []
                claim = self._claim(at, item["id"], shown)
                told.append(self._note(at, claim, support, against, item["quote"], [piece.text] if support else []))
            reply.steps[-1][at] = told
        self._note_passages(reply, [(piece.place, reply.said)], shown)

    def judged(self, *, reference: bool) -> Judged:
        """All of them. What only a reference can decide is None without one, whatever was said, and so is what only
        the answer's claims can decide without any."""
        before = self._judged
        return replace(
            before,
            answer_claims=tuple(
                replace(self._on(_ANSWER, one), in_reference=self._other.get((_ANSWER, one.id)) if reference else None)
                for one in before.answer_claims
            ),
            reference_claims=tuple(
                replace(
                    self._on(_REFERENCE, one),
                    in_answer=self._other.get((_REFERENCE, one.id)) if before.answer_claims else None,
                )
                for one in before.reference_claims
            ),
            passages=tuple(
                PassageVerdict(place, any(relevant), any(self._useful[place]) if reference else None)
                for place, relevant in sorted(self._relevant.items())
            ),
            steps=tuple(self._steps),
        )

    def _claim(self, at: str, number: int, shown: Part) -> int:
        return shown.answer[number - 1].id if at == _ANSWER else shown.reference[number - 1].id

    def _note(
        self, at: str, claim: int, support: list[int], against: list[int], quote: str, texts: Sequence[str]
    ) -> dict[str, Any]:
        """Keeps a verdict, and gives it as a step tells it: whether the quote stands in a text that supports."""
        self._support[at, claim].update(support)
        self._against[at, claim].update(against)
        told: dict[str, Any] = {"id": claim, "supported_by": support, "contradicted_by": against, "quote": quote}
        if not quote.strip():
            return told
        if support:
            self._quotes.setdefault((at, claim), quote.strip())
        return told | {"quote_found": _stands(quote, texts)}

    def _note_passages(self, reply: Reply, items: Iterable[tuple[int, Mapping[str, Any]]], shown: Part) -> None:
        told = []
        for place, item in items:
            told.append({"id": place, "relevant": item["relevant"], "useful": item["useful"]})
            if not shown.repeated:
                self._relevant[place].append(item["relevant"])
                self._useful[place].append(item["useful"])
        reply.steps[-1]["passages"] = told
        self._steps += reply.steps

    def _on(self, at: str, claim: C) -> C:
        support = self._support[at, claim.id]
        return replace(
            claim,
            supported_by=tuple(sorted(support)),
            contradicted_by=tuple(sorted(self._against[at, claim.id] - support)),
            quote=self._quotes.get((at, claim.id), ""),
        )


def _by_id(item: Mapping[str, Any]) -> int:
    number: int = item["id"]
    return number


def _stands(quote: str, texts: Sequence[str]) -> bool:
    """Whether a quote stands in one of the texts, in whichever width, case or script it is written."""
    # A quote may begin within a number, which folds otherwise when it is whole.
    forms: tuple[Callable[[str], Folded], ...] = (fold_characters, fold)
    bare = quote.strip(_BLANKS_AND_QUOTES)
    return any(_plain(bare, form) in _plain(text, form) for form in forms for text in texts if bare)


def _plain(text: str, form: Callable[[str], Folded]) -> str:
    return " ".join(form(text).text.split())
