"""Whether a reference belongs to another question: the documents answer the question with what the system says, in a
sentence that has the words of the question, and state the reference, if at all, in one that has not."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragstone.analysis.gold_passages import evidence_of
from ragstone.metrics.refusal import refusal_spans
from ragstone.text import sentences
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_FEWEST = 2  # words of the question that the sentence with the answer has, and that the other one lacks
_ENOUGH = 1 / 3  # of the words of an answer, which come with others that say nothing
_POINTS_BACK = re.compile(
    r"\W*(?:(?:it|its|he|his|she|her|they|their|this|these|that|those|both|the latter)\b|[它其该这那他她此])", re.I
)
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)


def belongs_elsewhere(evidence: "Evidence") -> str | None:
    """Whether the reference answers another question. The answer must be read from the passages, the same each time:
    the gold alone, or what was given with it, brings it, and no passages at all do not."""
    gold, first, asked = evidence.gold, evidence.first, evidence.sample.question
    if (
        first is None
        or len(gold) != 1
        or evidence.shared.headings
        or refusal_spans(first.answer)
        or not _is_answered(evidence)
    ):
        return "no"
    alone, nothing = evidence.response("gold_only"), evidence.response("closed_book")
    if alone is None or nothing is None:
        return evidence.told_by("in_doubt", otherwise="no")
    claims = _claims(first.answer, asked)
    in_gold = any(_says(sentence, claims) for sentence in _parts(gold))
    given = [first.answer, alone.answer] if in_gold else [first.answer]
    again = evidence.response("again")
    given += [] if again is None else [again.answer]
    same = all(_says(answer, claims) for answer in given)
    return "yes" if same and evidence.told("gold_only") != "right" and not _says(nothing.answer, claims) else "no"


def _is_answered(evidence: "Evidence") -> bool:
    """Whether a sentence of the gold or the prompt has the answer and the words of the question, and the sentences that
    state the reference have at most half as many, with their headings. One that points back to another is not
    compared."""
    first, question = evidence.first, evidence.sample.question
    assert first is not None
    claims, asked = _claims(first.answer, question), content_words(question, "")
    parts = _parts([*evidence.gold, *first.passages])
    best = max((len(words_in(part, asked, "")) for part in parts if _says(part, claims)), default=0)
    stating = [(one.text, gold) for gold in evidence.gold for one in evidence_of(gold, evidence.slots) if one.value]
    if not stating or any(_POINTS_BACK.match(text) for text, _ in stating):
        return False
    headed = ["\n".join((text, gold.title, *_HEADING.findall(gold.text))) for text, gold in stating]
    most = max(len(words_in(text, asked, "")) for text in headed)
    return best >= max(2 * most, most + _FEWEST)


def _parts(passages: Sequence[Passage]) -> list[str]:
    """The sentences and rows of some texts, each once."""
    texts = dict.fromkeys(part.strip() for one in passages for part in sentences(one.text))
    return [text for text in texts if text]


def _claims(answer: str, question: str) -> frozenset[str]:
    return frozenset(content_words(answer, "") - content_words(question, ""))


def _says(text: str, claims: frozenset[str]) -> bool:
    """Whether a text has enough of what an answer says beyond its question, and all of its figures."""
    figures = frozenset(word for word in claims if any(map(str.isdigit, word)))
    found = words_in(text, claims, "")
    return bool(claims) and len(found) >= _ENOUGH * len(claims) and figures <= found
