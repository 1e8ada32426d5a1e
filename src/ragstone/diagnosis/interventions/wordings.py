"""Whether an answer says a reference in other words than a comparison of strings knows: in another order, in another
notation, a person by title and surname, or part by part ("16 weeks and 10 weeks")."""

import re
from collections.abc import Sequence
from functools import lru_cache

from ragstone.analysis.gold_passages import states
from ragstone.metrics.answer_match import is_denied
from ragstone.systems._cues import stop_words
from ragstone.text import detect, find_answer, words
from ragstone.text.characters import HAN
from ragstone.text.equivalents import equivalents
from ragstone.text.folding import fold_characters, letters_of
from ragstone.text.measures import measures
from ragstone.text.notation import beside_quantities, find_value, names_unit, unabbreviated
from ragstone.types import Passage

_LONGEST_NAME = 8  # words of a reference whose order does not matter
_SMALL_WORDS = frozenset(("the", "a", "an", "of", "的", "之"))
_AND = frozenset(("and", "as", "well", "和", "与", "及", "以及"))
# Where these stand, the order of the words says who did what, or what comes first.
_ORDERED = re.compile(
    r"\b(?:to|from|than|over|before|after|versus|vs|beat|defeated|not|no|without)\b|\d\s*[-:–/]\s*\d|[比至到从被胜不无未]"
)
_SHORT = 8  # letters and digits of an answer whose language nobody can tell
_NUMBER = re.compile(r"\d")
_PERSON = re.compile(r"[A-Z][\w'’-]+(?: [A-Z][\w'’.-]*){1,3}")
_PERSON_ZH, _WHO = re.compile(rf"[{HAN}]{{2,4}}"), re.compile("谁|哪位|何人|什么人|哪个人|姓名|叫什么")


@lru_cache(maxsize=8192)
def is_said(alias: str, answer: str, question: str = "", known: tuple[str, ...] = ()) -> bool:
    """Whether an answer says this part of a reference. `known`: the texts that tell which person is meant."""
    places = [*find_answer(alias, answer), *_person(alias, answer, question, known)]
    if any(not is_denied(answer, *span) for span in places):
        return True
    short, full = unabbreviated(alias), unabbreviated(answer)
    if (short, full) != (alias, answer) and any(not is_denied(full, *span) for span in find_answer(short, full)):
        return True
    return _has_words(alias, answer) or _has_value(alias, answer, question)


def _has_words(alias: str, answer: str) -> bool:
    """Whether an answer has all words of a name next to each other, in whatever order: Lind, Anna."""
    sought, said = _content(alias), _content(answer)
    if not _AND.isdisjoint(sought):
        sought, said = ([word for word in found if word not in _AND] for found in (sought, said))
    size = len(sought)
    if not 1 < size <= _LONGEST_NAME or _ORDERED.search(fold_characters(alias).text):
        return False
    start = next((at for at in range(len(said) - size + 1) if sorted(said[at : at + size]) == sorted(sought)), None)
    return start is not None and not _ORDERED.search(" ".join(said[max(0, start - 2) : start]))


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word not in _SMALL_WORDS]


def _has_value(alias: str, answer: str, question: str) -> bool:
    """Whether an answer has the value of a reference in another notation; where the question asks for a unit, in that
    one. What else the reference says stands in the question or the answer: 18 animals are not 18 boats."""
    if len(letters_of(answer)) > _SHORT and question and detect(answer) != detect(question):
        return False  # the language is at fault
    units = {one.unit for one in measures(alias)}
    if units and not set(_content(beside_quantities(alias))) <= {*words(question), *words(answer)} | stop_words():
        return False
    text, places = find_value(alias, answer, same_unit=names_unit(question, units))
    return any(not is_denied(text, *span) for span in places)


def _person(alias: str, answer: str, question: str, known: Sequence[str]) -> list[tuple[int, int]]:
    """Where an answer names a person by the surname, with a title before or behind it and no other first name; the
    known texts name nobody else so."""
    name = alias.strip()
    if _PERSON.fullmatch(name) and not _NUMBER.search(name):
        titles = "|".join(equivalents("name.titles")[0])
        first, _, last = name.rpartition(" ")
        pattern = re.compile(rf"(?<![\w.])(?:(?i:{titles})\.? ){re.escape(last)}(?!\w| [A-Z])")
        own = {*first.split(), *(title.title() for title in titles.split("|"))}
        before = {word for text in known for word in re.findall(rf"\b([A-Z][\w'’-]*)\.? {re.escape(last)}\b", text)}
        return [match.span() for match in pattern.finditer(answer)] if before <= own else []
    if _PERSON_ZH.fullmatch(name) and _WHO.search(question):
        titles = "|".join(title for line in equivalents("name.titles.zh") for title in line)
        pattern = re.compile(rf"{name[0]}(?:{titles})")
        others = {text[m.start() : m.start() + len(name)] for text in known for m in re.finditer(name[0], text)}
        return [match.span() for match in pattern.finditer(answer)] if name in others or not known else []
    return []


_BETWEEN = re.compile(r",?\s+and\s+|\s*[;；、]\s*|以及|(?<=\w)[和与及](?=\w)", re.IGNORECASE)
_COMMA = re.compile(r",\s+(?:and\s+)?|，")
_SHORTEST = 2  # characters of a part: 共和国 has none


def parts_of(reference: str, gold: Sequence[Passage] = ()) -> tuple[str, ...]:
    """The parts of a reference that lists several; () if it is one. A comma stands between parts only where the gold
    passages state each of them and nowhere all together: not in a date, or an address."""
    found = tuple(part.strip() for part in _BETWEEN.split(reference))
    if len(found) < 2 and gold and not any(states(item, [[reference]]) for item in gold):
        listed = items_of(reference)
        found = listed if all(any(states(item, [[part]]) for item in gold) for part in listed) else found
    return found if len(found) > 1 and all(len(part) >= _SHORTEST for part in found) else ()


def items_of(reference: str) -> tuple[str, ...]:
    """What stands between the commas of a reference."""
    return tuple(part.strip() for part in _COMMA.split(reference) if part.strip())


def stated_parts(
    slots: Sequence[Sequence[str]], answer: str, question: str = "", gold: Sequence[Passage] = ()
) -> list[bool]:
    """For each part of the answer whether it is stated, in whatever notation; the single slot of a reference that lists
    parts has these."""
    known = tuple(f"{item.title}\n{item.text}" for item in gold)
    if len(slots) == 1 and not any(is_said(alias, answer, question, known) for alias in slots[0] if alias.strip()):
        lists = [found for alias in slots[0] if (found := parts_of(alias, gold))]
        slots = [(part,) for part in lists[0]] if lists else slots
    return [any(alias.strip() and is_said(alias, answer, question, known) for alias in slot) for slot in slots]
