"""Replies of one or more requests as steps with what was made of them: claims numbered in order, verdicts by their
numbers and by the places of passages. What all steps come to is `merged` (`record`)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ragstone.metrics.judge.chunks import Excerpt, Part, Piece
from ragstone.metrics.judge.record import Claim, JudgeStep, PassageVerdict
from ragstone.metrics.judge.validation import stands


class Reply(NamedTuple):
    """What a judge replied to one step, and the requests that it took."""

    said: dict[str, Any]
    steps: list[JudgeStep]

    def noted(self, **found: Any) -> list[JudgeStep]:
        """The requests, the last with what was made of its reply."""
        return [*self.steps[:-1], replace(self.steps[-1], **found)]


def decomposed_steps(replies: Sequence[Reply], shown: Sequence[Excerpt]) -> list[JudgeStep]:
    """Of the replies to `decompose`: the claims of all of them, numbered in order."""
    steps: list[JudgeStep] = []
    claims = reference = sentences = 0
    for reply, excerpt in zip(replies, shown, strict=True):
        said, answer = reply.said, excerpt.answer
        steps += reply.noted(
            sentences=tuple(answer),
            answer_claims=tuple(
                Claim(
                    claims + n, claim["text"].strip(), _place(claim["sentence"], sentences, answer), claim["relevant"]
                )
                for n, claim in enumerate(said["answer_claims"], start=1)
            ),
            reference_claims=tuple(
                Claim(reference + n, claim["text"].strip(), alternative=excerpt.alternative)
                for n, claim in enumerate(said["reference_claims"], start=1)
            ),
            questions=tuple(claim.strip() for claim in said["questions"] if claim.strip()) if answer else (),
            noncommittal=said["noncommittal"],
        )
        claims += len(said["answer_claims"])
        reference += len(said["reference_claims"])
        sentences += len(answer)
    return steps


def _place(number: int | None, before: int, shown: Sequence[str]) -> int:
    """The place of a claim's sentence in the whole answer; 0 where the judge names none of those that it was shown."""
    return before + number if number is not None and 1 <= number <= len(shown) else 0


def compared_steps(reply: Reply) -> list[JudgeStep]:
    """Of a reply to `verify_reference`, which showed all claims."""
    return reply.noted(
        answer_claims=tuple(
            Claim(verdict["id"], in_reference=verdict["in_reference"]) for verdict in reply.said["answer_claims"]
        ),
        reference_claims=tuple(
            Claim(verdict["id"], in_answer=verdict["in_answer"]) for verdict in reply.said["reference_claims"]
        ),
    )


def verified_steps(reply: Reply, shown: Part, *, answer: bool, reference: bool) -> list[JudgeStep]:
    """Of a reply to `verify`. What only a reference can decide is None without one, whatever was said, and so is what
    only the answer's claims can decide without any."""

    def verdict(item: Mapping[str, Any], claim: int) -> Claim:
        support = [shown.pieces[number - 1] for number in item["supported_by"]]
        against = [shown.pieces[number - 1] for number in item["contradicted_by"]]
        return _verdict(claim, support, against, item)

    return reply.noted(
        answer_claims=tuple(
            replace(
                verdict(item, shown.answer[item["id"] - 1].id),
                in_reference=item["in_reference"] if reference else None,
            )
            for item in _ordered(reply.said["answer_claims"])
        ),
        reference_claims=tuple(
            replace(verdict(item, shown.reference[item["id"] - 1].id), in_answer=item["in_answer"] if answer else None)
            for item in _ordered(reply.said["reference_claims"])
        ),
        passages=tuple(
            PassageVerdict(
                shown.pieces[item["id"] - 1].place, item["relevant"], item["useful"] if reference else None
            )
            for item in reply.said["passages"]
        ),
        repeated=shown.repeated,
    )  # fmt: skip


def verified_alone_steps(reply: Reply, shown: Part, *, reference: bool) -> list[JudgeStep]:
    """Of a reply to `verify_passage`."""
    (piece,) = shown.pieces
    said = reply.said

    def verdict(item: Mapping[str, Any], claim: int) -> Claim:
        support, against = ([piece] if item["verdict"] == name else [] for name in ("supported", "contradicted"))
        return _verdict(claim, support, against, item)

    return reply.noted(
        answer_claims=tuple(
            verdict(item, shown.answer[item["id"] - 1].id) for item in _ordered(said["answer_claims"])
        ),
        reference_claims=tuple(
            verdict(item, shown.reference[item["id"] - 1].id) for item in _ordered(said["reference_claims"])
        ),
        passages=(PassageVerdict(piece.place, said["relevant"], said["useful"] if reference else None),),
        repeated=shown.repeated,
    )  # fmt: skip


def _verdict(claim: int, support: Sequence[Piece], against: Sequence[Piece], item: Mapping[str, Any]) -> Claim:
    quote, places = item["quote"], {piece.place for piece in support}
    return Claim(
        claim,
        supported_by=tuple(sorted(places)),
        together=bool(item.get("together")) and len(places) > 1,
        contradicted_by=tuple(sorted({piece.place for piece in against})),
        quote=quote,
        quote_found=stands(quote, [piece.text for piece in support]) if support or quote.strip() else None,
        reason=item.get("reason", "").strip(),
    )


def _ordered(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(items, key=lambda item: int(item["id"]))
