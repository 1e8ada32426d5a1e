"""Whether an answer that does not state a reference as it stands may say it in other words.

A value has few spellings, and a rule knows them: where none is there, the value is missing. A phrase or a sentence can
be said in any words. It is missing for sure only where the answer has other quantities in its place, or nothing of it.
"""

import re
from functools import lru_cache

from ragstone.metrics._open_questions import stems
from ragstone.metrics.reference_core import core
from ragstone.text.characters import HAN
from ragstone.text.content_words import content_words
from ragstone.text.measures import Measure, spellings
from ragstone.text.notation import clock_times, quantities, same_quantity, spelled_out

_MOST_WORDS = {"en": 10, "zh": 14}  # of a phrase beyond its question; in Chinese, pairs of characters
_PLAIN_WORDS = {"en": 2, "zh": 4}  # that are no name, number or unit, from which on a reference is a phrase
_SENTENCES = re.compile(r"[.!?]\s+(?=\S)|[。！？；;](?=.)")
_YES, _NO = "yes|可以|能|是|会|有|允许", "no|不可以|不能|不是|不会|没有|不允许"
_REASONED = re.compile(rf"(?:{_YES}|{_NO})[.;!。；！]\s*\S", re.IGNORECASE)
_CONDITIONED = re.compile(rf"(?:{_YES}|{_NO})[,，]\s*\S", re.IGNORECASE)
_POLAR = re.compile(
    rf"[\s*_\"“]*(?:(?P<yes>{_YES})|(?P<no>{_NO}))(?:[\s*_\"”]*[.,;:!–—。，；：！-]|\s|$)", re.IGNORECASE
)
_LEAST = 3  # words of several sentences
_PLAIN = re.compile(r"(?<![^\W\d_])[a-z]{2,}(?:-[a-z]+)*(?![^\W\d_])")
_HAN = re.compile(f"[{HAN}]")


def is_long(reference: str, question: str) -> bool:
    """Whether a reference says so much, or in several sentences, or a yes or no with a reason, that an answer can be
    right in words that no rule finds."""
    found = core(reference, question) or reference
    language = _language(found)
    size = len(content_words(found, language))
    if _REASONED.match(reference.strip()):
        return True
    return size > _MOST_WORDS[language] or (size > _LEAST and _SENTENCES.search(found.strip()) is not None)


def may_paraphrase(reference: str, question: str, answer: str) -> bool:
    """Whether an answer may say a reference, which no rule finds in it, in other words."""
    if {_polarity(reference), _polarity(answer)} == {"yes", "no"}:
        return False
    if is_long(reference, question) or _CONDITIONED.match(reference.strip()):
        return True
    if not _is_phrase(reference, question) or _has_other_times(reference, question, answer):
        return False
    if _has_other_quantities(reference, question, answer):
        return False
    return bool((stems(reference) - stems(question)) & stems(answer))


def _polarity(text: str) -> str | None:
    """The "yes" or "no" that a text begins with."""
    found = _POLAR.match(text)
    return None if found is None else found.lastgroup


def _language(text: str) -> str:
    return "zh" if _HAN.search(text) else "en"


@lru_cache(maxsize=1024)
def _is_phrase(reference: str, question: str) -> bool:
    """Whether what a reference says beyond its question is more than a name, a number and its unit."""
    found = core(reference, question) or reference
    if _language(found) == "zh":
        return "·" not in found and len(content_words(found, "zh")) >= _PLAIN_WORDS["zh"]
    said = {word for word in _PLAIN.findall(spelled_out(found)) if word in content_words(word, "en")}
    known = {unit for word in spellings() for unit in (word, f"{word}s")}
    names = {word.lower() for word in re.findall(r"\b[A-Z]\w+", found)}
    return len(said - known - names - content_words(question, "en")) >= _PLAIN_WORDS["en"]


def _has_other_quantities(reference: str, question: str, answer: str) -> bool:
    """Whether an answer has quantities of its own, and none of those that the reference says beyond the question."""
    asked, wanted, given = (_quantities(text) for text in (question, reference, answer))
    wanted, given = ([one for one in some if not _among(one, asked)] for some in (wanted, given))
    return bool(wanted) and bool(given) and not any(_among(one, given) for one in wanted)


def _has_other_times(reference: str, question: str, answer: str) -> bool:
    """Whether an answer has times of day of its own, and none of those that the reference says beyond the question."""
    asked, wanted, given = (clock_times(text) for text in (question, reference, answer))
    wanted, given = ([one for one in some if all(map(one.isdisjoint, asked))] for some in (wanted, given))
    return bool(wanted and given) and all(one.isdisjoint(other) for one in wanted for other in given)


@lru_cache(maxsize=1024)
def _quantities(text: str) -> list[Measure]:
    return [reading for _, readings in quantities(spelled_out(text)) for reading in readings]


def _among(one: Measure, others: list[Measure]) -> bool:
    return any(same_quantity(one, other) or one.value == other.value for other in others)
