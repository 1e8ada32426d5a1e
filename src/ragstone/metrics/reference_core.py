"""What a reference says beyond its question: of "to the bursar" the bursar, of "£34 per month" £34.

People write references as answers, and documents state the value in a table or in other words. Where no document
states a reference as it stands, its core is looked for.
"""

import re
from collections.abc import Iterator, Sequence

from ragstone.text.characters import HAN
from ragstone.text.content_words import content_words
from ragstone.text.folding import fold, fold_characters
from ragstone.text.measures import FACTORS
from ragstone.text.notation import beside_quantities, names_unit, quantities, same_quantity, spelled_out

_TOKEN = re.compile(rf"(?P<han>[{HAN}]+)|[^\W_{HAN}]+(?:[.,:]\d+)*")
_JOINTS = re.compile(rf"\s+(?:and|&|as well as)\s+|[;；、]|,\s(?:and\s)?|(?<=[{HAN}\d%℃°])(?:以及|和|与|及|，)")
_UNIT = re.compile(r"\s*[%‰℃°][CF]?")
_SIGNED = re.compile(r"[$€£¥+−-]\s*$")
_ADVERBS = frozenset(
    ("only", "about", "roughly", "approximately", "exactly", "up", "down", "just", "around", "at", "least", "most")
)
_HAN_BEFORE, _HAN_AFTER = frozenset("的用在由于向给到从为是约每共只须需要"), frozenset("的了着")
_NUMERALS = frozenset("一二三四五六七八九十百千万亿两半零")
_SIDES = (
    re.compile(
        r"\b(?:at most|no more than|not more than|up to|maximum|(?<!no )(?<!not )less than|under|below)\b"
        r"|[至最]多|不超过|以[内下]|之内"
    ),
    re.compile(
        r"\b(?:at least|no less than|not less than|minimum|(?<!no )(?<!not )more than|over|above)\b"
        r"|[至最]少|不少于|不低于|(?<!不)超过|以上"
    ),
    re.compile(r"\b(?:not|no|never|without|except|n't)\b|[不没无未非]"),
)
"""Words that bound a quantity from above, from below, and that deny."""
_BOUND = re.compile(
    r"\b(?:(?:no|not) (?:more|later|earlier|less|fewer|longer|sooner) than|(?:more|less|fewer|later|earlier) than"
    r"|at (?:most|least|the latest|the earliest)|up to|within|until|maximum|minimum|in advance|ahead|over|under"
    r"|about)\b"
    r"|不超过|不少于|不低于|不晚于|不早于|至少|至多|最少|最多|超过|以内|以上|以下|以前|之内|之前|提前"
)
_LEFT_OUT = re.compile(
    rf"{_BOUND.pattern}|不得(?:超过|少于|低于|多于)|不[足到]|[以之]?内|左右|上下|前后|为止|大约|大概|约"
    r"|\b(?:around|approximately|roughly|or so|maximum|each|apiece|per \w+|an? \w+ of)\b"
    r"|每(?:[人个位张次天日周月年辆间只份户])?"
)
"""What an answer that is nothing but a quantity leaves out of a reference: its bound, its rate, what it measures."""
_COUNTED_FROM = re.compile(r"\b(?:before|after|prior to|ahead of|in advance of)\s+(?:(?:the|your|its|an?)\s+)?\w+\s*$")
_PLACES = frozenset(
    (
        "beside",
        "behind",
        "near",
        "under",
        "above",
        "below",
        "between",
        "inside",
        "outside",
        "before",
        "after",
        "at",
        "in",
    )
)
_LIMIT = re.compile(r"\b(?:from|by|since)\b|[从自]|起")  # of a number
_WORD = re.compile(r"[^\W\d_]+")
_LONG = 3  # characters that are left of a run
_FEWEST = 2  # characters of Chinese that are worth looking for


def readings(aliases: Sequence[str], question: str) -> Iterator[list[list[str]]]:
    """The ways to look for one part of an answer, the strictest first: as it stands, by its core, and as several items
    ("16 weeks and 10 weeks"), each with its wordings. All items of a reading have to be stated."""
    yield [list(aliases)]
    if cores := [found for alias in aliases if (found := core(alias, question))]:
        yield [cores]
    for alias in aliases:
        items = [item.strip() for item in _JOINTS.split(alias)]
        if len(items) > 1 and all(items):
            yield [[item] for item in items]
            yield [[core(item, question) or item] for item in items]


def core(reference: str, question: str, *, closely: bool = False) -> str:
    """The reference without words at its beginning and end that are the question's or say nothing; "" where nothing is
    to be left out, or nothing would be left. `closely`: of a long run of Chinese also a single character that the
    question has, as 采 before what is picked."""
    asked = {_stem(word) for word in content_words(question, "")}
    plain = fold_characters(question).text
    spans = [(match.start(), match.end(), bool(match["han"])) for match in _TOKEN.finditer(reference)]
    while spans and (end := _idle(reference, spans[0], asked, plain, begins=True, closely=closely)):
        spans[:1] = [] if end == spans[0][1] else [(end, *spans[0][1:])]
    while spans and (start := _idle(reference, spans[-1], asked, plain, begins=False)):
        spans[-1:] = [] if start == spans[-1][0] else [(spans[-1][0], start, spans[-1][2])]
    if not spans:
        return ""
    start, end = spans[0][0], spans[-1][1]
    unit = _UNIT.match(reference, end)
    end = unit.end() if unit else end
    sign = _SIGNED.search(reference[:start])
    found = reference[sign.start() if sign else start : end].strip()
    short = len(found) < _FEWEST and not found.isdecimal()
    return "" if short or found == reference.strip(" .。") else found


def _idle(
    text: str, span: tuple[int, int, bool], asked: set[str], question: str, *, begins: bool, closely: bool = False
) -> int | None:
    """Where a token goes on, or ended before, without its part that says nothing new; None if all of it does."""
    start, end, han = span
    word = fold_characters(text[start:end]).text
    if not han:
        idle = not word[0].isdecimal() and (
            word in _ADVERBS or {_stem(one) for one in content_words(word, "")} <= asked
        )
        return (end if begins else start) if idle else None
    size = _shared(word, question, begins=begins)
    if closely and not size and len(word) > _LONG and word[0] in question and word[0] not in _NUMERALS:
        size = 1
    return None if not size else start + size if begins else end - size


def _shared(word: str, question: str, *, begins: bool) -> int:
    """How many Chinese characters at the beginning or the end of a word the question has, or say nothing."""
    if begins:
        most = next((size for size in range(len(word), 1, -1) if word[:size] in question), 0)
        return most or int(word[0] in _HAN_BEFORE)
    most = next((size for size in range(len(word), 1, -1) if word[-size:] in question), 0)
    return most or int(word[-1] in _HAN_AFTER)


def _stem(word: str) -> str:
    """The word without the endings that a question and its answer often differ by."""
    return re.sub(r"(?:ies|es|s|ed|ing|e)$", "", word) if word.isascii() and len(word) > len("cups") else word


def beyond_question(reference: str, question: str) -> str:
    """What a reference says beyond its question, if what is left out neither denies it, counts it, nor is a part of its
    name or its role ("World War I", "chair: Luis Ortega"); else ""."""
    found = core(reference, question, closely=True)
    before, _, after = reference.partition(found) if found else ("", "", "")
    before, after = (_without(part, question) for part in (before, after))
    rest = f"{before} {after}"
    if not found or ":" in reference or "：" in reference or re.search(r"\d", fold(rest).text):
        return ""
    if _LIMIT.search(rest) and re.search(r"\d", found):
        return ""
    words = [*_WORD.findall(before)[1:], *_WORD.findall(after)]
    if any(word[0].isupper() for word in words) or _SIDES[2].search(fold_characters(rest).text):
        return ""
    return found


def _without(text: str, question: str) -> str:
    """A text without the words that the question has, spelled alike: they are no part of what is asked for."""
    asked = {match.group() for match in _TOKEN.finditer(question)}
    return _TOKEN.sub(lambda match: " " if match.group() in asked and not match["han"] else match.group(), text)


def opposed(alias: str, answer: str) -> bool:
    """Whether an answer bounds from below what a reference bounds from above, or the reverse."""
    texts = [fold_characters(one).text for one in (alias, answer)]
    sides = [{place for place, side in enumerate(_SIDES[:2]) if side.search(text)} for text in texts]
    return bool(sides[0]) and bool(sides[1]) and sides[0].isdisjoint(sides[1])


def is_bare(alias: str, answer: str, question: str) -> bool:
    """Whether an answer is nothing but what a reference says besides a bound, a preposition and its question: the 47 kg
    of "no more than 47 kg", the café of "beside the café"."""
    bare = answer.strip(" \n.。!！\"'“”")
    whole, part = fold_characters(alias).text, fold_characters(bare).text
    place = whole.find(part) if len(part) > 1 else -1
    if place < 0 or not re.search(rf"(?<![^\W{HAN}]){re.escape(part)}(?![^\W{HAN}])", whole):
        return False
    rest = _BOUND.sub(" ", f"{whole[:place]} {whole[place + len(part) :]}")
    if _SIDES[2].search(rest) or re.search(r"\d", rest) or (re.search(r"\d", part) and _LIMIT.search(rest)):
        return False
    said, asked = ({_stem(word) for word in content_words(text, "")} for text in (rest, question))
    return said <= asked | {_stem(word) for word in _PLACES}


def is_bare_quantity(alias: str, answer: str, question: str) -> bool:
    """Whether an answer is nothing but the one quantity of a reference, in whatever unit if the question asks for none:
    the 3 days of "up to 3 days before sailing", the 38元 of 每人38元. What else the reference says is a bound, a rate,
    what a time is counted from, or the question's."""
    alias = _LEFT_OUT.sub(" ", fold_characters(alias).text)
    sought, given = quantities(spelled_out(alias)), quantities(spelled_out(answer))
    if len(sought) != 1 or len(given) != 1:
        return False
    units = {one.unit for one in sought[0][1]}
    exact = names_unit(question, units)
    same = any(same_quantity(a, b) and (a.unit == b.unit or not exact) for a in sought[0][1] for b in given[0][1])
    rest, counted = (beside_quantities(text).strip(" .。!！") for text in (alias, answer))
    if not same or (counted and not re.search(rf"(?<![^\W{HAN}]){re.escape(counted)}(?![^\W{HAN}])", rest)):
        return False
    rest = rest.replace(counted, " ", 1) if counted else rest
    if any("time" in FACTORS.get(unit, ("", 0))[0] for unit in units):
        rest = _COUNTED_FROM.sub(" ", rest)
    if _SIDES[2].search(rest) or re.search(r"\d", rest) or _LIMIT.search(rest):
        return False
    said, asked = ({_stem(word) for word in content_words(text, "")} for text in (rest, question))
    return said <= asked
