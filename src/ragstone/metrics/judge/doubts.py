"""Why the claims that a judge made of a text are doubted: a sentence without any of them, a claim that no sentence
carries, a number that the text does not have, a claim twice.

Words are compared, so a doubt is no verdict: the judge is asked once more with the doubt named, and what is then still
doubted is recorded and counted (`JudgeStep.doubt`). Dropped claims would otherwise raise faithfulness unseen.
"""

import operator
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from ragstone.metrics.judge.chunks import Excerpt
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.problems import problem
from ragstone.metrics.refusal import refusal_spans
from ragstone.text import sentences
from ragstone.text.content_words import content_words, words_in
from ragstone.text.labels import without_labels
from ragstone.text.notation import missing_numbers

_LEAST_CARRIED = 0.45  # of the content words of a claim, in the text and the question
_LEAST_COVERED = 0.3  # of the content words of a sentence, in the claims
_LEAST_ALIKE = 0.7  # of the content words of two claims with the same numbers, in both
_SHORTEST = 3  # content words of a sentence that must have a claim, and of what two claims share
_SIGN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_PARALLEL = 2  # words or characters in which two claims about different things differ: plan A, plan B
# A sentence that greets, offers, hedges or sends elsewhere, and a heading.
_NO_CLAIM = re.compile(
    r"(?i:let me know|feel free|i hope|hope this|happy to|thank|hello\b|hi\b|sure\b|of course|great question|"
    r"here (?:is|are)|"
    r"please (?:let|feel|note|consult|contact|check|ask|see)|if you (?:have|need|want|would)\b|"
    r".*\b(?:may vary|worth (?:checking|confirming)|(?:medical|legal|financial) advice)\b)"
    r"|(?:您好|你好|好的|当然|祝|希望|感谢|谢谢|欢迎|如需|如果?(?:您|你)?(?:还|有|能|可以|需|想)|请(?:注意|放心|随时|咨询)|建议(?:您|你)|具体(?:还是)?[要以])"
    r"|.*(?:仅供参考|不能代替)"
    r"|#.*|\*\*[^*]*\*\*[:：]?$"
)
_SHOWN = 80  # characters of a claim or a sentence in a doubt


def doubt_of_claims(reply: Mapping[str, Any], shown: Excerpt, texts: Texts) -> str:
    """The first doubt about a reply to `decompose`; "" where there is none."""
    reference = [part.strip() for part in sentences(shown.reference, texts.language) if part.strip()]
    for side, lines in (("answer_claims", shown.answer), ("reference_claims", reference)):
        claims = [claim["text"] for claim in reply[side]]
        for doubt in (_twice, _number, _carried, _covered):
            if found := doubt(side, claims, lines, texts):
                return found
    return ""


def _twice(side: str, claims: Sequence[str], _: Sequence[str], texts: Texts) -> str:
    said = [
        (content_words(claim, texts.language), sorted(missing_numbers(claim, "")), _SIGN.findall(claim.casefold()))
        for claim in claims
    ]
    for (first, (words, numbers, signs)), (second, (others, its, marks)) in combinations(enumerate(said, start=1), 2):
        parallel = len(signs) == len(marks) and 0 < sum(map(operator.ne, signs, marks)) <= _PARALLEL
        alike = len(words & others) >= max(_SHORTEST, _LEAST_ALIKE * len(words | others))
        if alike and numbers == its and not parallel:
            return problem("doubt_twice", at=side, first=first, second=second, text=_part(claims[second - 1]))
    return ""


def _number(side: str, claims: Sequence[str], lines: Sequence[str], texts: Texts) -> str:
    source = "\n".join((*lines, texts.asked))
    for number, claim in enumerate(claims, start=1):
        if found := missing_numbers(claim, source):
            return problem("doubt_number", at=side, id=number, number=found[0].strip(), text=_part(claim))
    return ""


def _carried(side: str, claims: Sequence[str], lines: Sequence[str], texts: Texts) -> str:
    source = "\n".join((*lines, texts.asked))
    for number, claim in enumerate(claims, start=1):
        words = content_words(claim, texts.language)
        if len(words_in(source, words, texts.language)) < _LEAST_CARRIED * len(words):
            return problem("doubt_carried", at=side, id=number, text=_part(claim))
    return ""


def _covered(side: str, claims: Sequence[str], lines: Sequence[str], texts: Texts) -> str:
    stated = "\n".join(claims)
    for number, line in enumerate(lines, start=1):
        said = without_labels(line).strip()
        words = content_words(said, texts.language)
        if (
            len(words) < _SHORTEST
            or said.endswith(("?", "？", ":", "："))
            or _NO_CLAIM.match(said)
            or refusal_spans(said)
        ):
            continue
        if missing_numbers(said, stated) or len(words_in(stated, words, texts.language)) < _LEAST_COVERED * len(words):
            return problem("doubt_covered", at=side, id=number, text=_part(said))
    return ""


def _part(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
