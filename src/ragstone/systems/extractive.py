"""`local/extractive`: the deterministic baseline that every model must beat. It quotes the passage sentence that best
matches the question, without a model, at a thousand cases per second, in English and Chinese.

A sentence's score is a weighted sum of: the share of the question's terms in its passage, in itself and in its
neighbours, with rarer terms weighing more; whether it contains the kind of answer requested (a date for "when", a
number for "how many", 元 for 售价); and the number of other passages with the same new name or number. Rumours and
other years lower the score. Below a threshold the answer is the official refusal, unless refusing is turned off.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ragstone.errors import UsageError
from ragstone.systems._answer_parsing import ParsedPassage, Question, Sentence, read_passage, read_question
from ragstone.text import detect
from ragstone.types import Passage, Query, Response, Usage

REFUSALS = {
    "en": "I can not answer the question because of the insufficient information in documents.",
    "zh": "文档信息不足，因此我无法基于提供的文档回答该问题。",
}


@dataclass(frozen=True)
class _Weights:
    """Weights of the parts of a score. Fitted by listwise logistic regression to fictional news (seed 1) together with
    RGB's published sets zh_refine and en_fact, and rounded; the threshold was chosen by hand."""

    coverage: float
    own: float
    before: float
    after: float
    number: float
    name: float
    new: float
    agreed: float
    rumour: float
    near_rumour: float
    other_year: float
    own_other_year: float
    best: float
    threshold: float
    trust: float = 3.0  # weight of the passages' agreement when compared with the threshold
    part: float = 0.8  # factor on the threshold for each part of a two-part question


_WEIGHTS = {
    "en": _Weights(-0.2, 3.7, 0.7, -1.4, 2.0, 1.8, 1.5, 1.5, -1.3, -0.7, -2.1, -1.2, 0.0, 5.0),
    "zh": _Weights(2.0, 3.7, 0.2, -0.3, 3.8, 1.2, 0.4, 1.4, -1.5, -0.5, -1.3, -0.4, 2.6, 6.6),
}


@dataclass(frozen=True)
class _ScoredSentence:
    score: float
    trust: float
    passage: int
    sentence: Sentence


def _score_sentences(question: Question, passages: Sequence[ParsedPassage], by: _Weights) -> list[_ScoredSentence]:
    """Every sentence with its score, in order."""
    shared = [[part.terms & question.terms.keys() for part in passage.sentences] for passage in passages]
    counts = Counter(term for passage in shared for terms in passage for term in terms)
    total = sum(map(len, shared)) + 1
    weights = {term: base * math.log(1 + total / (counts[term] + 1)) for term, base in question.terms.items()}
    whole = sum(weights.values()) or 1.0
    sentences = []
    for number, passage in enumerate(passages):
        if not passage.sentences:
            continue
        # `fsum`: the sum must not depend on the order of a set, which differs between processes.
        shares = [math.fsum(map(weights.__getitem__, terms)) / whole for terms in shared[number]]
        common = by.coverage * math.fsum(map(weights.__getitem__, passage.terms & weights.keys())) / whole
        common += by.best * max(shares) + by.near_rumour * passage.rumour
        if question.years and passage.years and not question.years & passage.years:
            common += by.other_year
        for place, part in enumerate(passage.sentences):
            score = common + by.own * shares[place] + by.rumour * part.rumour
            score += by.before * shares[place - 1] if place else 0.0
            score += by.after * shares[place + 1] if place + 1 < len(shares) else 0.0
            if question.years and part.years and not question.years & part.years:
                score += by.own_other_year
            fits, agreed = _fits(question, part, number, passages, by)
            sentences.append(_ScoredSentence(score + fits, score + fits + by.trust * agreed, number, part))
    return sentences


def _fits(
    question: Question, part: Sentence, number: int, passages: Sequence[ParsedPassage], by: _Weights
) -> tuple[float, float]:
    """How well a sentence fits the kind of answer, and the share of other passages with the same new name or number."""
    text = part.folded
    for year in sorted(question.years & part.years):
        text = text.replace(year, "")
    score = 0.0
    for looks, weight in ((question.numbers, by.number), (question.names, by.name)):
        if looks:
            score += weight * sum([look.search(text) is not None for look in looks]) / len(looks)
    new = (part.numbers if question.numbers else part.names) - question.terms.keys() - question.years
    if not new:
        return score, 0.0
    others = [passage.terms for place, passage in enumerate(passages) if place != number]
    agreed = max([sum([term in terms for terms in others]) for term in new]) / len(others) if others else 0.0
    return score + by.new + by.agreed * agreed, agreed


def _quote(question: str, provided: Sequence[Passage], language: str, *, refuses: bool) -> list[str]:
    """The sentences to answer with: one, two for a two-part question, none for a refusal."""
    by = _WEIGHTS[language]
    if not refuses:
        by = replace(by, threshold=-math.inf)
    parsed = read_question(question, language)
    texts = (f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in provided)
    passages = [read_passage(text, language) for text in texts]
    if not parsed.parts:
        best = _best(parsed, passages, by)
        return [] if best is None or best.trust < by.threshold else [best.sentence.text]
    answers = [_best(part, passages, by) for part in parsed.parts]
    quoted = [best for best in answers if best is not None and best.trust >= by.threshold * by.part]
    # Both parts need an answer, but one sentence may answer both.
    return list(dict.fromkeys(best.sentence.text for best in quoted)) if len(quoted) == len(answers) else []


def _best(question: Question, passages: Sequence[ParsedPassage], by: _Weights) -> _ScoredSentence | None:
    return max(_score_sentences(question, passages, by), key=lambda entry: entry.score, default=None)


@dataclass(frozen=True)
class Extractive:
    """Answers with the given passages' best sentence for the question; without passages it refuses.

    `refuses`: also refuse if no sentence matches well, as prompts about insufficient information require.
    Deterministic, sees only the query, calls no model. Raises UsageError for a query that expects the system to
    retrieve.
    """

    accepts: ClassVar[frozenset[str]] = frozenset({"passages", "language"})
    repeatable: ClassVar[bool] = True
    id: str = "local/extractive"
    refuses: bool = True

    @property
    def spec(self) -> Mapping[str, Any]:
        spec = {"kind": "extractive", "version": 1}
        return spec if self.refuses else {**spec, "refuses": False}

    async def answer(self, query: Query, /) -> Response:
        if query.passages is None:
            raise UsageError(f"{self.id} has no retriever: provide passages with each question.")
        language = "zh" if (query.language or detect(query.question)) == "zh" else "en"
        text = (" " if language == "en" else "").join(
            _quote(query.question, query.passages, language, refuses=self.refuses)
        )
        return Response(text or REFUSALS[language], usage=Usage(), finish_reason="stop", model=self.id)
