"""`local/extractive`: the deterministic floor that every model must beat. It quotes the passage sentence that matches
the question best, without any model, thousands of cases a second, in English and Chinese.

A sentence's score has three parts, each a share: how much of the question its passage covers, how much the sentence
with its neighbours covers (both weighted by how rare a term is among the given sentences, and more for numbers), and
whether the sentence holds what the question asks for (a date for "when", a number for "how many", 元 for 售价).
Rumours and other years cost. Below a threshold, chosen on data, it refuses in the official words.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragstone.errors import UsageError
from ragstone.systems._cues import Cues, cues, rumour
from ragstone.text import detect, sentences
from ragstone.text.characters import HAN
from ragstone.text.folding import fold
from ragstone.types import Passage, Query, Response, Usage

__all__ = ["REFUSALS", "Extractive"]

REFUSALS = {
    "en": "I can not answer the question because of the insufficient information in documents.",
    "zh": "文档信息不足，因此我无法基于提供的文档回答该问题。",
}
# Chosen on the fictional data and on RGB's Chinese set; see tests/systems/test_extractive.py for what they give.
_COVERAGE, _CLOSENESS, _ANSWER_TYPE = 1.0, 0.6, 0.5
_THRESHOLD = {"en": 1.15, "zh": 1.15}
_OTHER_YEAR, _RUMOUR_NEAR, _RUMOUR_FAR = 0.35, 0.35, 0.15

_UNIT = re.compile(rf"\d+(?:\.\d+)?%?|[^\W\d_{HAN}]+|[{HAN}]|[^\w\s'·-]")
_ENGLISH_UNIT = re.compile(r"\d+(?:\.\d+)?%?|[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d\d(?![\d万亿人名元米])")
_LINES = re.compile(r"^.{2,24}?(?:报道|讯|电|消息)[ :：]")


@dataclass(frozen=True)
class _Sentence:
    """`text` as it stands, `folded` for patterns, `terms` for counting."""

    text: str
    folded: str
    terms: frozenset[str]


@dataclass(frozen=True)
class _Read:
    """A passage once read: its sentences, all their terms, and the years it names."""

    sentences: tuple[_Sentence, ...]
    terms: frozenset[str]
    years: frozenset[str]


def _terms(folded: str, language: str) -> list[str]:
    """What is counted: English words cut to six letters without function words; Chinese pairs of neighbours, numbers
    and Latin words."""
    if language == "en":
        return [unit[:6] for unit in _ENGLISH_UNIT.findall(folded) if unit not in cues("en").stop]
    found: list[str] = []
    last = ""
    for unit in _UNIT.findall(folded):
        word = unit[0].isalnum()
        if word and last:
            found.append(last + unit)
        if word and (unit[0] < "\u2e80"):
            found.append(unit)
        last = unit if word else ""
    return found


@lru_cache(maxsize=8192)
def _read(text: str, language: str) -> _Read:
    parts = []
    for part in sentences(text):
        stripped = part.strip()
        if stripped:
            folded = fold(stripped, language).text
            parts.append(_Sentence(stripped, folded, frozenset(_terms(folded, language))))
    years = {year for part in parts for year in _YEAR.findall(part.folded)}
    return _Read(tuple(parts), frozenset().union(*(part.terms for part in parts)), frozenset(years))


@dataclass(frozen=True)
class _Question:
    """A question once read: its terms with their base weights, the years it names, the looks of its answers."""

    terms: Mapping[str, float]
    years: frozenset[str]
    looks: tuple[re.Pattern[str], ...]
    joined: bool


@lru_cache(maxsize=4096)
def _asked(question: str, language: str) -> _Question:
    table: Cues = cues(language)
    folded = fold(question, language).text
    topic = table.drop.sub("。", folded)
    terms = dict.fromkeys(_terms(topic, language), 1.0)
    for term in terms:
        if any(char.isdigit() for char in term):
            terms[term] = 1.5
    looks = tuple(answer for asking, answer in table.asking if asking.search(folded))
    return _Question(terms, frozenset(_YEAR.findall(folded)), looks, table.joined.search(folded) is not None)


def _weights(question: _Question, passages: Sequence[_Read]) -> dict[str, float]:
    """How much each term of the question says, among these sentences; the weights sum to 1."""
    total = sum(len(passage.sentences) for passage in passages) + 1
    counts: Counter[str] = Counter()
    for passage in passages:
        for sentence in passage.sentences:
            counts.update(term for term in question.terms if term in sentence.terms)
    weights = {term: base * math.log(1 + total / (counts[term] + 1)) for term, base in question.terms.items()}
    whole = sum(weights.values()) or 1.0
    return {term: weight / whole for term, weight in weights.items()}


def _ranked(question: _Question, passages: Sequence[_Read], language: str) -> list[tuple[float, int, int]]:
    """(score, passage, sentence) of every sentence, the best first; of equals the earlier."""
    weights = _weights(question, passages)
    guess = rumour(language)
    found = []
    for number, passage in enumerate(passages):
        coverage = sum(weight for term, weight in weights.items() if term in passage.terms)
        shares = [sum(weight for term, weight in weights.items() if term in part.terms) for part in passage.sentences]
        rumoured = [guess.search(part.folded) is not None for part in passage.sentences]
        cost = _RUMOUR_FAR if any(rumoured) else 0.0
        if question.years and passage.years and not question.years & passage.years:
            cost += _OTHER_YEAR
        for place, part in enumerate(passage.sentences):
            near = max(shares[max(0, place - 1) : place], default=0.0)
            closeness = max(shares[place], 0.5 * (shares[place] + near))
            fits = 0.0
            if question.looks:
                new = part.folded
                for year in question.years:
                    new = new.replace(year, "")
                fits = sum(1 for look in question.looks if look.search(new)) / len(question.looks)
            score = _COVERAGE * coverage + _CLOSENESS * closeness + _ANSWER_TYPE * fits - cost
            if rumoured[place]:
                score -= _RUMOUR_NEAR
            found.append((-score, number, place))
    return [(-score, number, place) for score, number, place in sorted(found)]


@dataclass(frozen=True)
class Extractive:
    """Answers with the sentence of the given passages that matches the question best; closed book it refuses.

    Sees only the query. Deterministic; asks nobody. Raises UsageError for a query that leaves the search to the
    system, since this one has no retriever.
    """

    id: str = "local/extractive"

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "extractive", "version": 1}

    async def answer(self, query: Query, /) -> Response:
        if query.passages is None:
            raise UsageError(f"{self.id} has no retriever: give each question its passages.")
        language = "zh" if (query.language or detect(query.question)) == "zh" else "en"
        quoted = _quote(query.question, query.passages, language)
        text = " ".join(quoted) if language == "en" else "".join(quoted)
        return Response(text or REFUSALS[language], usage=Usage(), finish_reason="stop", model=self.id)


def _quote(question: str, given: Sequence[Passage], language: str) -> list[str]:
    asked = _asked(question, language)
    passages = [_read(f"{passage.title}\n{passage.text}" if passage.title else passage.text, language) for passage in given]
    ranked = _ranked(asked, passages, language)
    if not ranked or ranked[0][0] < _THRESHOLD[language]:
        return []
    chosen = [ranked[0]]
    if asked.joined:
        chosen += [entry for entry in ranked[1:] if entry[1] != ranked[0][1]][:1]
    return [passages[number].sentences[place].text for _, number, place in chosen]
