"""Whether every part of an answer to a question of RGB's integration testbed stands with what was asked of it.

A question asks for several values, each by its key: the words of the question by which its value is told from the
others (a year, a name, a measure), as in "55.6% in 2012 and 79.4% in 2004". A term of one side of the question is a key
if it stands nearer to the value of its part in the passages than to the other's. Values of different kinds (a name and
an amount) need no key.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from ragstone.metrics.answer_match import AnswerMatch
from ragstone.text import find_answer, fold, words
from ragstone.text.characters import HAN
from ragstone.text.dates import date_pattern
from ragstone.text.equivalents import equivalents
from ragstone.text.labels import without_labels
from ragstone.types import Case, Need, Response, Score

Outcome: TypeAlias = Literal["bound", "misaligned", "unbound", "listed"]
Spans: TypeAlias = Sequence[tuple[int, int]]
_MOST = 50  # places of a value or a key that are looked at
_NEAR = 40  # characters: at this distance a word counts half
_SELDOM = 0.1  # a nearness that says little
_LEAST, _CROSSED = 0.06, 0.1  # the contrast of a key; the sum, of each side, from which the sides are crossed
_TITLE = re.compile(r"“[^”]*”|\"[^\"]*\"|《[^》]*》")
_JOINS = re.compile(r",? and (?:of )?|[，,、；;？?]|[和与](?!呢)|以及|及其?|(?<=[\u4e00-\u9fff])又")
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_NUMBER = re.compile(r"(?:[$€£¥]\s?)?\d+(?:[.,]\d+)*(?:\s?%|\s?per ?cent)?")
_ITEMS = re.compile(r"[,;，；、\n]|\band\b|[和与及]")
_LONGEST_ITEM = {"en": 40, "zh": 14}  # characters of an item of a list
_FUNCTION = (
    frozenset(
        words(
            "a an and both by did do does for from had has have how in is it its many much of on or that the them they"
            " this to two was were what when where which who whom whose with year"
        )
    )
    | frozenset("的和与及是在了各谁哪呢又年月日第次一")
    | {"分别", "多少", "什么", "哪里", "以及", "请问", "两者"}
)


def outcome_of(score: Score | None) -> str:
    """The outcome that a score of `rgb.binding` has as evidence; "" without one."""
    evidence = score.evidence if score is not None and isinstance(score.evidence, dict) else {}
    return str(evidence.get("outcome", ""))


@dataclass(frozen=True)
class RgbBinding:
    """`rgb.binding`: 1.0 if the answer states every part and each stands with its own key, else 0.0.

    Formula: 1 if the outcome is "bound", else 0. "incomplete": `answer_match` finds a part missing. "listed": the
    answer states more other values of a kind than are asked for. Of two values of one kind, each must stand nearer to
    its key than crosswise, or in the order of the keys, in the answer or else in the question: else "misaligned". Where
    neither tells, "unbound". Keys: terms of one side of the question that stand near the part's value in the passages.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference of several parts.
    Evidence: {"outcome": …, "keys": for each part its terms, empty where its kind tells it from the others}.
    Source: the misalignment errors of Chen et al. 2024, section 4.4, by rule.

    | case | result |
    |---|---|
    | the answer declines | not applicable to a question of one part, else 0 |
    | the answer is empty | not applicable to a question of one part, else 0 |
    | no passages | not applicable to a question of one part, else scored by the kinds of values and the order |
    | no reference | not applicable |
    """

    name: str = "rgb.binding"
    version: int = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = case.sample.references
        if sum(map(bool, slots)) < 2:
            return Score.not_applicable("the question has one part")
        response = Response(without_labels(response.answer))
        match = AnswerMatch(strict=True).score(case, response)
        if not match.value:
            return Score.of(0.0, evidence={"outcome": "incomplete"}) if match.value is not None else match
        mentions = [[(span["start"], span["end"]) for span in slot] for slot in match.evidence["slots"]]
        passages = tuple(passage.text for passage in case.query.passages or () if passage.relevant)
        parts = Parts(case.sample.question, slots, passages, case.sample.language)
        outcome, keys = binding(parts, response.answer, mentions)
        evidence = {"outcome": outcome, "keys": [list(terms) for terms in keys]}
        return Score.of(outcome == "bound", evidence=evidence)


PLUGINS = {"rgb.binding": RgbBinding()}


@dataclass(frozen=True)
class Parts:
    """The parts of an answer: their aliases, and the question and the passages that tell their keys."""

    question: str
    slots: Sequence[Sequence[str]]
    passages: Sequence[str] = ()
    language: str = ""


def value_kind(alias: str) -> str:
    """What a value is: "percent", "money", "date", "number" with its unit, or "name"."""
    text = fold(alias.strip()).text.strip()
    if "%" in text or "per cent" in text:
        return "percent"
    if date_pattern(text) is not None:
        return "date"
    number = re.search(r"\d", text)
    if number is None or re.match(r"[^\W\d_]{2,}", text):
        return "name"
    unit = re.sub(r"[\d.,\s]", "", text)
    return "money" if any(sign in unit for sign in "$€£¥元") or unit in _money() else f"number {unit[-1:]}"


@lru_cache(maxsize=1)
def _money() -> frozenset[str]:
    lines = (" | ".join(line).replace(" => ", " | ").split(" | ") for line in equivalents("quantity.money"))
    return frozenset(word for line in lines for word in line)


def binding(parts: Parts, answer: str, mentions: Sequence[Spans]) -> tuple[Outcome, Sequence[Sequence[str]]]:
    """How the values that an answer states (`mentions`: where, for each part) are bound to their parts, and the keys of
    the parts."""
    kinds = [value_kind(slot[0]) for slot in parts.slots]
    keys: list[tuple[str, ...]] = [() for _ in kinds]
    if _is_list(parts, answer, mentions, kinds):
        return "listed", keys
    found: set[Outcome] = set()
    for pair in combinations(range(len(kinds)), 2):
        i, j = pair
        if kinds[i] != kinds[j] or not set(parts.slots[i]).isdisjoint(parts.slots[j]):
            continue
        if (of_two := _keys(parts, pair)) is None:  # two values of one part, such as two directors
            continue
        keys[i], keys[j] = (
            tuple(dict.fromkeys((*keys[one], *new))) for one, new in zip(pair, of_two.terms, strict=True)
        )
        stated = [
            [span for term in terms for span in find_answer(term, answer, parts.language)] for terms in of_two.terms
        ]
        found.add(_of_two((stated[0], stated[1]), (mentions[i], mentions[j]), of_two.straight))
    order: tuple[Outcome, ...] = ("misaligned", "unbound")
    return next((one for one in order if one in found), "bound"), keys


def _of_two(stated: tuple[Spans, Spans], values: tuple[Spans, Spans], straight: bool | None) -> Outcome:
    """Two values of one kind: each must be nearer to its own key than crosswise. Where no key is stated, or both keys
    stand on one side of both values ("in 2012 and 2004: 55.6% and 79.4%"), the order decides: that of the keys in the
    answer, or else in the question (`straight`: it asks for the first part first)."""
    in_order = min(values[0]) < min(values[1])
    if not any(stated):
        return "unbound" if straight is None else "bound" if in_order == straight else "misaligned"
    if all(stated) and _apart(stated, values):
        return "bound" if (min(stated[0]) < min(stated[1])) == in_order else "misaligned"
    # With one key, the other value belongs to the other part.
    own = sum(_distance(values[part], stated[part]) for part in (0, 1) if stated[part])
    crossed = sum(_distance(values[1 - part], stated[part]) for part in (0, 1) if stated[part])
    if own == crossed:
        return "unbound"
    return "bound" if own < crossed else "misaligned"


def _apart(stated: tuple[Spans, Spans], values: tuple[Spans, Spans]) -> bool:
    """Whether all keys stand before all values, or after them."""
    keys = [start for spans in stated for start, _ in spans]
    starts = [start for spans in values for start, _ in spans]
    return max(keys) < min(starts) or max(starts) < min(keys)


def _distance(some: Spans, others: Spans) -> int:
    """Characters between the two nearest of these."""
    return min(max(a[0] - b[1], b[0] - a[1], 0) for a in some[:_MOST] for b in others[:_MOST])


class _PairKeys(NamedTuple):
    """The keys of two parts. `straight`: the question asks for the first of them first; None if nobody knows."""

    terms: tuple[tuple[str, ...], tuple[str, ...]]
    straight: bool | None


def _keys(parts: Parts, pair: tuple[int, int]) -> _PairKeys | None:
    """The keys of two parts: terms that only one side of the question has, and that stand nearer to the value of its
    part; a number, such as a year, unless it stands nearer to the other value. Which side asks for which part, the
    passages tell; else the first for the first. None where neither side tells two of more than two parts apart."""
    best: tuple[bool, float, _PairKeys] | None = None
    for left, right in _sides(parts.question):
        sides = [_only(one, other, parts, pair) for one, other in ((left, right), (right, left))]
        if not any(sides):
            continue
        near = [_means(parts, parts.slots[number], [*sides[0], *sides[1]]) for number in pair]
        tells = {term: _contrast(near[0][term], near[1][term]) for side in sides for term in side}
        votes = sum(tells[term] for term in sides[0]), -sum(tells[term] for term in sides[1])
        straight = max(votes) > -_CROSSED
        vote = sum(votes)
        own = sides if straight else sides[::-1]
        chosen = [
            [term for term in terms if sign * tells[term] > (-_LEAST if term.isdigit() else _LEAST)]
            for terms, sign in zip(own, (1, -1), strict=True)
        ]
        texts = (left, right) if straight else (right, left)
        chosen = [some or [term for term in terms if term.isdigit()] for some, terms in zip(chosen, own, strict=True)]
        found = _PairKeys((_joined(chosen[0], texts[0]), _joined(chosen[1], texts[1])), straight)
        if best is None or (all(sides), abs(vote)) > best[:2]:
            best = (all(sides), abs(vote), found)
    if best is None:
        return _PairKeys(((), ()), None) if len(parts.slots) == 2 else None
    return None if len(parts.slots) > 2 and best[1] < _CROSSED else best[2]


def _contrast(one: float, other: float) -> float:
    """How far a term tells two values apart, from -1 to 1. What stands near both tells next to nothing."""
    share = (one - other) / (one + other + _SELDOM)
    return share * abs(share)


def _sides(question: str) -> Iterator[tuple[str, str]]:
    """The question on both sides of each word that joins, outside of titles."""
    masked = _TITLE.sub(lambda title: "_" * len(title[0]), question)
    for match in _JOINS.finditer(masked):
        yield question[: match.start()], question[match.end() :]


def _only(text: str, other: str, parts: Parts, pair: tuple[int, int]) -> list[str]:
    """The terms that only this side has, and neither value."""
    values = (word for number in pair for word in words(parts.slots[number][0], parts.language))
    there = {*words(other, parts.language), *values, *_FUNCTION}
    return [word for word in dict.fromkeys(words(text, parts.language)) if word not in there]


def _means(parts: Parts, slot: Sequence[str], terms: Sequence[str]) -> dict[str, float]:
    """How near each term stands to the value of a part in the passages that state it, from 0 to 1."""
    sums, count = dict.fromkeys(terms, 0.0), 0
    for text in parts.passages:
        if values := [span for alias in slot for span in find_answer(alias, text, parts.language)]:
            count += 1
            for term in terms:
                if places := find_answer(term, text, parts.language):
                    sums[term] += 1 / (1 + _distance(values, places) / _NEAR)
    return {term: total / max(1, count) for term, total in sums.items()}


def _joined(chosen: Sequence[str], question: str) -> tuple[str, ...]:
    """The terms; Chinese ones that follow each other in the question are one, and a single character is none."""
    if not re.search(f"[{HAN}]", question):
        return tuple(chosen)
    terms: list[str] = []
    for term in chosen:
        if terms and terms[-1] + term in question and not terms[-1].isdigit() and not term.isdigit():
            terms[-1] += term
        else:
            terms.append(term)
    return tuple(term for term in terms if len(term) > 1 or term.isdigit())


def _is_list(parts: Parts, answer: str, mentions: Sequence[Spans], kinds: Sequence[str]) -> bool:
    """Whether an answer lists what the passages hold: it states more other values of a kind than are asked of this
    kind; values that stand with another year do not count."""
    own = [span for spans in mentions for span in spans]
    for kind in dict.fromkeys(kinds):
        asked = kinds.count(kind)
        if kind == "name":
            if len(_short_items(parts, answer)) > len(kinds) + asked:
                return True
        elif kind != "date" and len(_other_values(parts, answer, own, kind)) > asked:
            return True
    return False


def _short_items(parts: Parts, answer: str) -> list[str]:
    """The items of a list of names: short, and without a word of the question."""
    longest, asked = _LONGEST_ITEM.get(parts.language, 40), {*words(parts.question, parts.language)} - _FUNCTION
    items = [item.strip() for item in _ITEMS.split(answer)]
    return [item for item in items if 1 < len(item) <= longest and asked.isdisjoint(words(item, parts.language))]


def _around(spans: Spans, place: int) -> Spans:
    """Those of the sorted spans before and after a place."""
    at = bisect_left(spans, (place, place))
    return spans[max(0, at - 1) : at + 1]


def _other_values(parts: Parts, answer: str, own: Spans, kind: str) -> list[str]:
    """Other numbers of this kind, each once."""
    folded = fold(answer, parts.language)
    asked = {*_YEAR.findall(parts.question)}
    years = [match.span() for match in _YEAR.finditer(folded.text) if match[0] not in asked]
    own = own[:_MOST]
    found = []
    for match in _NUMBER.finditer(folded.text):
        text, span = match[0], folded.span(*match.span())
        percent = "%" in text or "cent" in text
        year = _YEAR.fullmatch(text) is not None
        if percent != (kind == "percent") or year or any(a < span[1] and span[0] < b for a, b in own):
            continue
        if not years or _distance([match.span()], _around(years, match.start())) >= _NEAR // 2:
            found.append(text)
    return list(dict.fromkeys(found))
