"""What judging a sample is likely to take, before anything is asked: for `--dry-run`.

Prompts are counted as they would be sent. What the judge will write is not known: a sentence is taken to make a claim
and a half, and claims to repeat its text. The schema of a reply, which some endpoints count as a part of the prompt and
others do not, is counted by half. Second requests are left out. What all requests of a step begin with is taken to come
from the provider's cache, where it is long enough.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ragstone.metrics.judge.chunks import Excerpt, compared, excerpts, parts, sides
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.prompts import Prompt, Prompts
from ragstone.metrics.judge.record import AnswerClaim, Judged, ReferenceClaim
from ragstone.metrics.judge.request import turns_of
from ragstone.metrics.judge.schemas import OUTPUTS, with_reasons
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Usage

_CLAIMS = 1.5  # of a sentence
_REPEATED = 1.15  # a claim says who and what where the sentence had a pronoun
# Tokens of a reply, beside the texts that it repeats.
_ANSWER_CLAIM, _REFERENCE_CLAIM, _QUESTION, _DECOMPOSED = 18, 9, 18, 30
_REASON = 14  # of every claim: most are supported and get ""
_CLAIM_VERIFIED, _CLAIM_ALONE, _CLAIM_COMPARED, _PASSAGE, _PASSAGE_ALONE = 52, 29, 17, 22, 30


def predicted(
    texts: Texts, prompts: Prompts, steps: frozenset[str], *, budget: int, separate: bool, kept_from: int
) -> Usage:
    """Requests, prompt and completion tokens of these steps for one sample; embedding is not counted. `kept_from`: the
    tokens from which the judge's provider keeps what prompts begin with."""
    total = Usage()
    if not steps & {"decompose", "verify", "similarities"}:
        return total
    shown = excerpts(texts, budget)
    prompt = prompts.get("decompose", texts.language)
    for excerpt in shown:
        total += _request(prompt, excerpt.shown(texts.asked), _decomposed(excerpt, texts.language), kept_from)
    if "verify" not in steps:
        return total
    judged = _likely(shown, texts.language)
    claims = len(judged.answer_claims) + len(judged.reference_claims)
    if compared(texts, judged, separate=separate):
        content = sides(texts, judged.answer_claims, judged.reference_claims)
        total += _request(prompts.get("verify_reference", texts.language), content, _CLAIM_COMPARED * claims, kept_from)
    for part in parts(texts, judged, budget, separate=separate):
        sentence_count = len(part.answer) + len(part.reference)
        if separate:
            prompt, written = (
                prompts.get("verify_passage", texts.language),
                _CLAIM_ALONE * sentence_count + _PASSAGE_ALONE,
            )
            written += _REASON * sentence_count * prompt.reasoned
            total += _request(prompt, part.shown_alone(texts), written, kept_from)
        else:
            prompt, written = (
                prompts.get("verify", texts.language),
                _CLAIM_VERIFIED * sentence_count + _PASSAGE * len(part.pieces),
            )
            written += _REASON * sentence_count * prompt.reasoned
            total += _request(prompt, part.shown(texts), written, kept_from)
    return total


def _decomposed(excerpt: Excerpt, language: str) -> float:
    """Tokens of the reply to `decompose`."""
    answer, reference = len(excerpt.answer), len(_sentences(excerpt.reference, language))
    repeated = sum(map(estimate_tokens, (*excerpt.answer, excerpt.reference)))
    structure = _CLAIMS * (_ANSWER_CLAIM * answer + _REFERENCE_CLAIM * reference)
    return _REPEATED * repeated + structure + _QUESTION * min(answer, 2) + _DECOMPOSED


def _likely(shown: Iterable[Excerpt], language: str) -> Judged:
    """Claims as there may be: of every second sentence two."""
    answer = [sentence for excerpt in shown for sentence in excerpt.answer]
    reference = [sentence for excerpt in shown for sentence in _sentences(excerpt.reference, language)]
    return Judged(
        tuple(AnswerClaim(number, text) for number, text in enumerate(_halved(answer), start=1)),
        tuple(ReferenceClaim(number, text) for number, text in enumerate(_halved(reference), start=1)),
    )


def _halved(texts: list[str]) -> list[str]:
    claims = []
    for number, text in enumerate(texts):
        half = len(text) // 2 if number % 2 else len(text)
        claims += [part for part in (text[:half], text[half:]) if part]
    return claims


def _sentences(text: str, language: str) -> list[str]:
    return [part for part in sentences(text, language) if part.strip()]


def _request(prompt: Prompt, shown: Mapping[str, Any], written: float, kept_from: int) -> Usage:
    opening = prompt.opening_tokens
    tokens = opening + estimate_tokens(turns_of(prompt, shown)[-1].content)
    tokens += _schema(prompt.name, prompt.reasoned) // 2
    cached = opening if opening >= kept_from else 0
    return Usage(prompt_tokens=tokens, completion_tokens=round(written), cached_tokens=cached, requests=1)


@cache
def _schema(name: str, reasoned: bool) -> int:
    schema = with_reasons(OUTPUTS[name]) if reasoned else OUTPUTS[name]
    return estimate_tokens(json.dumps(schema, separators=(",", ":")))
