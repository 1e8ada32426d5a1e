"""Equivalent spellings of names and numbers, from `equivalents.txt`."""

import re
from functools import lru_cache
from itertools import product

from ragstone.text.characters import HAN
from ragstone.text.numerals import ONES, TENS
from ragstone.text.patterns import pattern_lines

_ORDINALS_IN_ORDER = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
)
_ROMAN_IN_ORDER = "II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX"
_ORDINALS = _ORDINALS_IN_ORDER.split()
_DENOMINATORS = {2: "half", 4: "quarter"} | {number: _ORDINALS[number - 1] for number in (3, *range(5, 11))}


@lru_cache(maxsize=32)
def equivalents(section: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section, each split into its spellings."""
    lines = pattern_lines("ragstone.text", "equivalents.txt")[section]
    return tuple(tuple(line.split(" | ")) for line in lines)


@lru_cache(maxsize=1)
def ordinal_words() -> dict[str, str]:
    """1st → first, …, 99th → ninety-ninth, and vice versa."""
    tens = [f"{ten[:-1]}ieth" for ten in TENS]
    words = dict(enumerate(_ORDINALS, 1)) | {10 * place: word for place, word in enumerate(tens, 2)}
    for (place, ten), (unit, word) in product(enumerate(TENS, 2), enumerate(_ORDINALS[:9], 1)):
        words[10 * place + unit] = f"{ten}-{word}"
    digits = {f"{number}{_ending(number)}": word for number, word in words.items()}
    return digits | {word: number for number, word in digits.items()}


def _ending(number: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 % 10 != 1 else 0, "th")


@lru_cache(maxsize=1)
def _fractions() -> dict[str, str]:
    """1/3 → one third, and vice versa."""
    fractions = {}
    for above, below in product(range(1, 10), range(2, 11)):
        if above < below:
            fractions[f"{above}/{below}"] = f"{ONES[above]} {_DENOMINATORS[below]}{'s' if above > 1 else ''}"
    return fractions | {words: digits for digits, words in fractions.items()}


@lru_cache(maxsize=1)
def _numbers() -> dict[str, tuple[str, ...]]:
    """Each of 2, two and ii → the other two; up to 20."""
    sets = [
        (str(place), word, roman)
        for place, (word, roman) in enumerate(zip([*ONES[2:], TENS[0]], _ROMAN_IN_ORDER.split(), strict=True), 2)
    ]
    return {name.lower(): tuple(other for other in names if other != name) for names in sets for name in names}


@lru_cache(maxsize=1)
def _words() -> dict[str, tuple[str, ...]]:
    """A word of a name, in lower case → its other spellings."""
    spellings: dict[str, list[str]] = {}
    for word, other in ordinal_words().items():
        spellings.setdefault(word, []).append(other)
    for long, short in equivalents("name.abbreviations"):
        spellings.setdefault(long, []).append(short)
        spellings.setdefault(short.removesuffix("."), []).append(long)
    return {word: tuple(others) for word, others in spellings.items()}


_WORD = re.compile(r"[A-Za-z0-9]+(?:-[a-z]+)?")
_NUMBERED = re.compile(r"(?<=[A-Za-z] )(?:[IVX]+|\d{1,2}|[A-Z][a-z]+)$")
_THOUSANDS = re.compile(r"(\d{1,3}),?000")
_RANK = re.compile(r"(第.{1,4})[名位]")
_SIGNS = {"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾"}


@lru_cache(maxsize=1)
def _affixes() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    titles, suffixes = ("|".join(equivalents(f"name.{part}")[0]) for part in ("titles", "suffixes"))
    chinese = "|".join("|".join(line) for line in equivalents("name.suffixes.zh"))
    return (
        re.compile(rf"(?:{titles})\.? (?=[^\W\d_]+\.? [^\W\d_])", re.IGNORECASE),
        re.compile(rf"(?<=\w),? (?:{suffixes})\.?", re.IGNORECASE),
        re.compile(rf"([{HAN}]{{2,}})(?:{chinese})"),
    )


def equal_names(alias: str) -> tuple[str, ...]:
    """Other spellings of an alias: World War II, World War 2; the U.S., United States; Dr. Ada Holm, Ada Holm."""
    name = alias.strip()
    plain = name.removeprefix("the ").removeprefix("The ").replace(".", "")
    others = [other for names in equivalents("name.same") if plain in names for other in names if other != plain]
    others += [table[name.lower()] for table in (_fractions(), _SIGNS) if name.lower() in table]
    title, suffix, chinese = _affixes()
    if at := title.match(name):
        others.append(name[at.end() :])
    if (at := suffix.search(name)) and at.end() == len(name):
        others.append(name[: at.start()])
    if at := chinese.fullmatch(name):
        others.append(at[1])
    if (at := _NUMBERED.search(name)) and (numbers := _numbers().get(at[0].lower())):
        others += [name[: at.start()] + number for number in numbers]
    if at := _THOUSANDS.fullmatch(name):
        others.append(f"{at[1]}k")
    if at := _RANK.fullmatch(name):
        others.append(at[1])
    for word in _WORD.finditer(name):
        for other in _words().get(word[0].lower(), ()):
            others.append(f"{name[: word.start()]}{other}{name[word.end() :].removeprefix('.')}")
    return tuple(dict.fromkeys(other for other in others if other != name))
