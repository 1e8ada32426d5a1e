"""Whether an answer is the reference and nothing else."""

import re
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.text import fold
from ragstone.text.characters import HAN
from ragstone.types import Case, Need, Response, Score

# Signs that change a number are kept: 3.5, -5, 5%, 3-2, 10:30, 1/2.
_SIGNS = re.compile(r"(?<=\d)[.:/-](?=\d)|(?<![\w.])-(?=\d)|(?<=\d)\s?[%‰]")
_OTHERS = re.compile(r"[^\w\s]|_")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_BLANKS = re.compile(rf"\s+(?=[{HAN}])|(?<=[{HAN}])\s+")
_JOINERS = r" ?(?:and|和|与|及|以及)? ?"
_KEPT = {sign: chr(0xE000 + place) for place, sign in enumerate(".:/-%‰")}


def normalised(text: str) -> str:
    """`text` without what makes no difference: width, case, accents, traditional forms and the spelling of numbers
    (`fold`), punctuation but for what belongs to a number, the articles a, an and the, and blanks beside Chinese."""
    folded = fold(text).text
    signs = _SIGNS.sub(lambda sign: _KEPT[sign.group().strip()], folded)
    # An apostrophe and the stops of an abbreviation do not separate words: don't, U.S.
    bare = _OTHERS.sub(lambda sign: sign.group() if sign.group() in _KEPT.values() else " ", re.sub("['.]", "", signs))
    words = _ARTICLES.sub(" ", bare)
    plain = _BLANKS.sub("", " ".join((words if words.strip() else bare).split()))
    for sign, stand_in in _KEPT.items():
        plain = plain.replace(stand_in, sign)
    return plain


@dataclass(frozen=True)
class ExactMatch:
    """`exact_match`: 1.0 if the answer is an alias of the reference and nothing else, else 0.0.

    Formula: 1 if normalised(answer) = normalised(alias) for any alias, else 0. Normalising evens out width, case,
    accents, traditional characters, the spelling of numbers, punctuation and English articles. Of references with
    several slots an alias of each is needed, in their order, with nothing between them but a comma, "and" or 和.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"answer": the answer, normalised; "match": the aliases, one a slot, that it is, or null}.
    Source: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    | case | result |
    |---|---|
    | the answer declines | 0, unless that is the reference |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: ClassVar[str] = "exact_match"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        answer = normalised(response.answer)
        match = _match(slots, answer, response.answer) if response.answer.strip() else None
        return Score.of(match is not None, evidence={"answer": answer, "match": match})


def _match(slots: tuple[tuple[str, ...], ...], answer: str, written: str) -> list[str] | None:
    """The alias of each slot that the answer is made of, in order; None where it is not."""
    spelled = [{_spelled(alias): alias for alias in reversed(slot)} for slot in slots]
    if len(slots) == 1:
        alias = spelled[0].get(answer or written.strip())
        return None if alias is None else [alias]
    # The longest first: an alias may begin with another.
    parts = ["|".join(re.escape(text) for text in sorted(slot, key=len, reverse=True)) for slot in spelled]
    match = re.fullmatch(_JOINERS.join(f"({part})" for part in parts), answer)
    return None if match is None else [slot[text] for slot, text in zip(spelled, match.groups(), strict=True)]


def _spelled(alias: str) -> str:
    # An alias of signs alone ("+") is itself: normalised it would be nothing.
    return normalised(alias) or alias.strip()


PLUGINS = {"exact_match": ExactMatch()}
