"""Find where a text states an answer: tolerant of how a name or a number is written, strict about what it is.

Compiling a pattern takes far longer than searching with it, and most aliases do not occur in most texts. So the text is
first searched for the letters and digits that every wording of the alias contains; only then is a pattern compiled.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragstone.text.characters import HAN, vocabulary
from ragstone.text.dates import DatePattern, date_pattern, time_pattern
from ragstone.text.equivalents import equal_names
from ragstone.text.folding import Folded, fold, fold_characters
from ragstone.text.numerals import CHINESE_NUMERALS
from ragstone.text.quantities import (
    is_part_of_more,
    number_begins,
    number_ends,
    number_pattern,
    quantity_pattern,
)

__all__ = ["find_answer"]

_PARTS = re.compile(rf"(?P<number>\d+(?:[.,]\d+)*)|(?P<han>[{HAN}])|(?P<word>[^\W\d_{HAN}]+)|(?P<other>[\W_])")
# Prefixes of character sets that `_for_text` shrinks: `re` takes a millisecond to compile the ranges of Han, and a
# tenth of that for any set with a non-Latin character and more than two ranges. No escaped alias contains one of them.
_QUOTES, _PLAIN_QUOTES = r"""[\s"'《》〈〉「」『』【】·""", r"""[\s"'·"""
_CURRENCIES = "$€£¥"
# A letter of a script that separates its words.
_LETTER, _LETTER_OR_HAN, _ASCII_LETTER = rf"[^\W\d_{HAN}", r"[^\W\d_", "[a-zA-Z"
_HAN, _FOREIGN, _BRACKETS = (re.compile(f"[{chars}]") for chars in (HAN, rf"^\W\d_{HAN}\x00-\x7f", "\u3008-\u3011"))
_RANGE = re.compile(r"(?<=\d)\s?[比至到]\s?(?=\d)")
# Numbers below this stand in scores, ranges and codes; longer ones are years and amounts.
_SMALL = 1000
# Acronyms that are ordinary words in lower case: `US` is not `us`.
_ACRONYMS = vocabulary(
    "US IT WHO AM PM AS AT IN IS OR AN SO NO DO GO HE ME WE BE BY IF OF ON TO UP AIDS AID ACT ALL AGE CAN MAY ARE HAS"
    " THE AND FOR NOT BUT ONE OUR OUT PAY SAT SEA SHE SIM TEA TIN VAN WAR CAT EAR EAST HER HIS PIN POP RAM"
)


@dataclass(frozen=True)
class _Wording:
    """One pattern for an alias in a folded text. `needed`: wherever the pattern matches, the text contains every string
    of at least one of these tuples."""

    pattern: str
    needed: tuple[tuple[str, ...], ...]

    def spans(self, folded: Folded) -> Iterator[tuple[int, int]]:
        """The matches, as positions in the original text."""
        text = folded.text
        if any(all(piece in text for piece in pieces) for pieces in self.needed):
            for match in _compiled(_for_text(self.pattern, text)).finditer(text):
                yield folded.span(*match.span())


@dataclass(frozen=True)
class _Finder:
    """Both patterns of one alias. `capitals`: its exact spelling, if only case distinguishes it from a word; `small`:
    it is a number below 1,000, with or without a unit, which may be part of something else."""

    plain: _Wording | None
    numeral: _Wording | None
    capitals: str = ""
    small: bool = False

    def spans(self, text: str, plain: Folded, numeral: Folded) -> list[tuple[int, int]]:
        """Where the alias stands, as positions in `text`, given its folded forms; not in order."""
        spans = list(self.plain.spans(plain)) if self.plain is not None else []
        if self.numeral is not None and (self.numeral is not self.plain or numeral is not plain):
            spans += self.numeral.spans(numeral)
        if self.capitals:
            spans = [span for span in spans if _capital(text, span, self.capitals)]
        return [span for span in spans if not is_part_of_more(text, *span)] if self.small else spans


def find_answer(alias: str, text: str, language: str = "") -> list[tuple[int, int]]:
    """Every place where `text` states `alias`: (start, end) in the original text, in order, without overlap.

    Width, case, accents, quotes, dashes, traditional and simplified characters, numerals and the wording of a date
    do not matter; nor do hyphens, apostrophes, commas and full stops inside a name, or a leading "the"; nor the wording
    of a unit, an amount of money, an ordinal or a well-known short name (`equivalents.txt`). In alphabetic
    scripts an alias is found as whole words only ("art" is not in "party", "US" is not in "bus" or "us"), and a
    number never inside a longer one ("12" is not in "112", "12.5", "2012" or "12万"), in any script. Chinese has no
    spaces, so a Chinese alias is found wherever its characters occur. `language` is passed on to `fold`.
    """
    plain, numeral = fold_characters(text), fold(text, language)
    spans = [span for finder in _finders(alias, language) for span in finder.spans(text, plain, numeral)]
    if len(spans) < 2:
        return spans
    return _without_overlap(sorted(set(spans)))


def _for_text(pattern: str, text: str) -> str:
    """An equivalent pattern for this text, without character sets that cannot match in it."""
    if _LETTER in pattern:
        if text.isascii() or not _FOREIGN.search(text):
            pattern = pattern.replace(_LETTER, _ASCII_LETTER)
        elif not _HAN.search(text):
            pattern = pattern.replace(_LETTER, _LETTER_OR_HAN)
    if _QUOTES in pattern and not _BRACKETS.search(text):
        pattern = pattern.replace(_QUOTES, _PLAIN_QUOTES)
    return pattern


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _without_overlap(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged = spans[:1]
    for start, end in spans[1:]:
        if start >= merged[-1][1]:
            merged.append((start, end))
        elif end > merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
    return merged


def _capital(text: str, span: tuple[int, int], letters: str) -> bool:
    spelled = "".join(char for char in text[slice(*span)] if char.isalpha())
    # The author of a text without any capital letter uses none.
    return spelled == letters or not any(char.isupper() for char in text)


@lru_cache(maxsize=4096)
def _finders(alias: str, language: str) -> tuple[_Finder, ...]:
    return tuple(_finder(name, language) for name in (alias, *equal_names(alias)))


@lru_cache(maxsize=4096)
def _finder(alias: str, language: str) -> _Finder:
    # OpenAI is also Open AI, and Chinese texts write iPhoneSE: a space before a capital is optional.
    parted = re.sub("(?<=[a-z]) ?(?=[A-Z])", "-", alias)
    parted = re.sub(r"(?<=[\d ])([AaPp])\.?([Mm])\b\.?", r"\1.\2.", parted)  # 8 pm is also 8 p.m.
    plain, numeral = fold_characters(parted), fold(parted, language)
    if quantity := quantity_pattern(numeral.text):
        small = float(quantity.digits) < _SMALL and not quantity.signed
        # Numerals are not folded in GDP43亿元; but only the pattern of the quantity tells $100 from 100 euros.
        first = None if quantity.strict else _wording(plain.text, numerals=plain.text != numeral.text)
        return _Finder(first, _Wording(quantity.pattern, ((quantity.digits,),)), small=small)
    # A bare integer is searched for as a number only, so that 三 does not match in 三亚.
    number = re.fullmatch(r"\s*\d+(\.\d+)?\s*", numeral.text)
    bare = number is not None and number[1] is None and not plain.text.strip().isdecimal()
    letters = re.sub(r"[\s.]", "", alias)
    if re.fullmatch("[A-Z]{2,4}", letters):
        plain = numeral = fold_characters(".".join(letters))  # US is also U.S., and U.S. also US
    changed = plain.text != numeral.text
    first = None if bare else _wording(plain.text, numerals=changed)
    date = date_pattern(fold(alias, language).text) or time_pattern(fold(alias, language).text)
    second = _wording(numeral.text, date=date) if changed or date else first
    small = number is not None and float(number[0]) < _SMALL
    return _Finder(first, second, letters if letters in _ACRONYMS else "", small)


def _wording(folded: str, *, numerals: bool = False, date: DatePattern | None = None) -> _Wording | None:
    folded = _RANGE.sub(":", folded)
    parts = [(str(match.lastgroup), match.group()) for match in _PARTS.finditer(folded)]
    while parts and parts[0][0] == "other" and parts[0][1] not in _CURRENCIES:
        del parts[0]
    while parts and parts[-1][0] == "other" and parts[-1][1] not in "%\u2030+#" + _CURRENCIES:
        del parts[-1]
    if len(parts) > 2 and parts[0] == ("word", "the"):
        del parts[:2]
    if not any(kind != "other" for kind, _ in parts):
        signs = folded.strip()
        return _Wording(re.escape(signs), ((signs,),)) if signs else None
    begins, ends = (numerals and parts[end][1] in CHINESE_NUMERALS for end in (0, -1))
    pattern = _opening(parts, begins) + _body(parts) + _closing(parts, ends)
    # The pattern contains every part literally, except the punctuation between parts and what may be another.
    literal = (_literal(parts, place) for place, (kind, _) in enumerate(parts) if kind != "other")
    needed = tuple(dict.fromkeys(literal))
    return _Wording(f"{pattern}|{date.pattern}", (needed, date.digits)) if date else _Wording(pattern, (needed,))


def _body(parts: list[tuple[str, str]]) -> str:
    pieces: list[str] = []
    last = ""  # the kind of the last part that is not punctuation
    gap = ""
    for position, (kind, part) in enumerate(parts):
        if kind == "other":
            if part in _CURRENCIES and position in {0, len(parts) - 1}:
                pieces.append(rf"{re.escape(part)}\s?" if position == 0 else rf"\s?{re.escape(part)}")
            elif position == len(parts) - 1:
                pieces.append(rf"(?:\s?|{re.escape(gap)}){re.escape(part)}")
            else:
                gap += part
            continue
        if last:
            pieces.append(f"(?:{_between(last, gap, kind)}|{re.escape(gap)})" if gap else _between(last, gap, kind))
        pieces.append(_part(parts, position))
        last, gap = kind, ""
    return "".join(pieces)


# After a number these are used for each other: 上午9时 and 上午9点, 12名学生 and 12个学生.
_AFTER_NUMBER = {char: f"[{chars}]" for chars in ("时点", "日号", "名位个") for char in chars}


def _part(parts: list[tuple[str, str]], position: int) -> str:
    kind, part = parts[position]
    if kind == "number":
        return number_pattern(part) if re.fullmatch(r"\d+(?:\.\d+)?", part) else re.escape(part)
    if kind == "han" and position and parts[position - 1][0] == "number":
        return _AFTER_NUMBER.get(part, part)
    return re.escape(part)


def _literal(parts: list[tuple[str, str]], position: int) -> str:
    """What of this part stands in every wording of it."""
    kind, part = parts[position]
    if kind == "number" and "." in part:
        return part.rstrip("0").rstrip(".,")
    return part if kind == "number" or _part(parts, position) == re.escape(part) else ""


def _between(left: str, gap: str, right: str) -> str:
    """The pattern between two parts of an answer that are separated by `gap` in the reference."""
    if "han" in (left, right) and not gap.strip(" ,.:'\"-·"):
        return rf"{_QUOTES}]*" if not gap.strip() else rf"{_QUOTES},.:、。-]{{0,3}}"
    if not gap:
        return r"\s?" if left != right else ""
    signs = set(gap)
    if left == right == "number":
        # A score or a range: 3-2, 3:2, 3比2. Two numbers separated by a space are two numbers.
        return r"\s?(?:[-~:/]|比|至|到|to)\s?" if signs & set("-~:/") else r"[\s,.]{1,3}"
    if signs == {" "}:
        return r"(?:\s{1,3}|-)" if left == right else r"[\s-]?"
    if signs <= {"'"}:
        return "'?"
    if signs <= {"-", " "}:
        return r"\s{0,2}-?\s{0,2}"
    if "&" in signs:
        return r"\s?(?:&|and)\s?"
    if signs <= {".", " "}:
        return r"\.?\s{0,2}"
    if signs <= {",", " "}:
        return r"(?:\s?,\s?|\s?\(|\s|-)"
    if "%" in signs or "+" in signs or "#" in signs or "/" in signs:
        return r"\s?".join(re.escape(sign) for sign in gap if sign != " ")
    return r"[\W_]{0,3}"


def _opening(parts: list[tuple[str, str]], numeral: bool) -> str:
    kind, first = parts[0]
    money = kind == "other" and first in _CURRENCIES and parts[1][0] == "number"
    if kind == "number" or money:
        # 15 is not in A15; but Chinese writes GDP3% without a space, and there the sign marks the end of the number.
        rank = "(?<!第)" if parts[1:] and parts[1][1] in "人名位个" else ""  # 2名 is not in 第2名
        return rank + number_begins(parts[1][1] if money else first, code=len(parts) == 1 and "." not in first)
    if kind == "word":
        idiom = r"(?<!at )(?!first of all)" if parts == [("word", "first")] else ""
        return rf"{idiom}(?<!{_LETTER}])" + (r"(?<!\d)" if len(first) < 3 else "")
    # 十二人 is not in 二十二人.
    return f"(?<![{CHINESE_NUMERALS}])" if numeral else ""


def _closing(parts: list[tuple[str, str]], numeral: bool) -> str:
    kind, last = parts[-1]
    if kind == "number":
        # Data sets omit the unit of decimal amounts: 60.4 for 60.4亿. An integer stands for itself.
        after_name = any(kind in {"word", "han"} for kind, _ in parts)
        return number_ends(scaled="." in last and len(parts) == 1, after_name=after_name)
    if kind == "word":
        return rf"(?!{_LETTER}])" + (r"(?!\d|\+\+|#)" if len(last) < 3 else "")
    if last in "万亿":
        return "(?![万亿])"
    return f"(?![{CHINESE_NUMERALS}])" if numeral else ""
