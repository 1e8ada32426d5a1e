"""What judging a sample is likely to take, before anything is asked: for `--dry-run`.

Prompts are counted as they would be sent. What the judge will write is not known: claims are taken to be about as many
as sentences and a half more, and to repeat their text. `test_predicting` holds the sum within a fifth of the truth.
"""

from typing import TYPE_CHECKING

from ragstone.metrics.judge.asking import turns_of
from ragstone.metrics.judge.prompts import Prompt
from ragstone.metrics.judge.words import AnswerClaim, Judged, ReferenceClaim
from ragstone.text import estimate_tokens
from ragstone.types import Usage

if TYPE_CHECKING:
    from ragstone.metrics.judge.matrix import MatrixJudge, Texts

__all__ = ["predicted"]

_CLAIM_WRITTEN = 14  # tokens around a claim's text: {"sentence": 1, "text": "…", "relevant": true},
_DECOMPOSED = 30  # of a reply to `decompose` beside the claims and the questions
_QUESTION = 14  # of a question that the answer answers
_CLAIM_JUDGED = 44  # {"id": 1, "supported_by": [2], …, "quote": "…"},
_CLAIM_JUDGED_ALONE = 24
_CLAIM_COMPARED = 12
_PASSAGE_JUDGED = 18
_REWRITTEN = 1.15  # a claim says who and what where the sentence had a pronoun


def predicted(judge: "MatrixJudge", texts: "Texts", steps: frozenset[str]) -> Usage:
    """Requests, prompt and completion tokens of these steps for one sample; embedding is not counted."""
    total = Usage()
    if not steps & {"decompose", "verify", "similarities"}:
        return total
    prompt = judge.prompts.get("decompose", texts.language)
    for answer, reference in judge.decompositions(texts):
        shown = judge.shown_to_decompose(texts, answer, reference)
        spoken = sum(map(estimate_tokens, (*answer, *reference)))
        written = _REWRITTEN * spoken + _CLAIM_WRITTEN * 1.5 * (len(answer) + len(reference)) + _DECOMPOSED
        total += _request(prompt, shown, written + 2 * _QUESTION)
    return total + _verified(judge, texts) if "verify" in steps else total


def _verified(judge: "MatrixJudge", texts: "Texts") -> Usage:
    """`verify`, with the sentences in the place of claims that nobody has made yet."""
    answer = [sentence for part, _ in judge.decompositions(texts) for sentence in part]
    reference = [sentence for _, part in judge.decompositions(texts) for sentence in part]
    judged = Judged(
        tuple(AnswerClaim(number, text) for number, text in enumerate(answer, start=1)),
        tuple(ReferenceClaim(number, text) for number, text in enumerate(reference, start=1)),
    )
    claims = 1.4 * (len(answer) + len(reference))
    total = Usage()
    if judge.mode == "joint" and texts.passages:
        prompt = judge.prompts.get("verify", texts.language)
        for shown in judge.verifications(texts):
            written = _CLAIM_JUDGED * claims + _PASSAGE_JUDGED * len(shown)
            total += _request(prompt, judge.shown_to_verify(texts, judged, shown), written)
        return total
    for piece in judge.pieces_of(texts):
        shown_alone = {**judge.shown_to_verify(texts, judged, []), "passages": {}, "passage": piece.text}
        written = _CLAIM_JUDGED_ALONE * claims + _PASSAGE_JUDGED
        total += _request(judge.prompts.get("verify_passage", texts.language), shown_alone, written)
    if answer and reference:
        prompt = judge.prompts.get("verify_reference", texts.language)
        total += _request(prompt, judge.shown_to_verify(texts, judged, []), _CLAIM_COMPARED * claims)
    return total


def _request(prompt: Prompt, shown: dict[str, object], written: float) -> Usage:
    asked = sum(estimate_tokens(turn.content) for turn in turns_of(prompt, shown))
    return Usage(prompt_tokens=asked, completion_tokens=round(written), requests=1)
