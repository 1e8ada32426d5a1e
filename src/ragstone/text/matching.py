"""Finds where a text states an answer: tolerant of spelling and notation, strict about the name or number itself.

Compiling a pattern takes far longer than searching with it, and most aliases do not occur in most texts. The text is
therefore first searched for the letters and digits that every spelling of the alias contains. If they occur, a name
without numbers is searched word by word, and only for other aliases a pattern is compiled.
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

_PARTS = re.compile(rf"(?P<number>\d+(?:[.,]\d+)*)|(?P<han>[{HAN}])|(?P<word>[^\W\d_{HAN}]+)|(?P<other>[\W_])")
# Prefixes of character sets that `_for_text` simplifies: `re` takes a millisecond to compile the ranges of Han, and a
# tenth of that for any set with a non-Latin character and more than two ranges. No escaped alias contains such a
# prefix.
_QUOTES, _PLAIN_QUOTES = r"""[\s"'《》〈〉「」『』【】·""", r"""[\s"'·"""
_CURRENCIES = "$€£¥"
# A letter of a script that separates words by spaces.
_LETTER, _LETTER_OR_HAN, _ASCII_LETTER = rf"[^\W\d_{HAN}", r"[^\W\d_", "[a-zA-Z"
_HAN, _FOREIGN, _BRACKETS = (re.compile(f"[{chars}]") for chars in (HAN, rf"^\W\d_{HAN}\x00-\x7f", "\u3008-\u3011"))
_SIGNS = re.compile(r"[\W_]*")
_RANGE = re.compile(r"(?<=\d)\s?[比至到]\s?(?=\d)")
_KNOWN = 2048  # names whose patterns are kept, of 8 kB each
# Numbers below this occur in scores, ranges and codes; larger ones are years and amounts.
_SMALL = 1000
# Acronyms that are ordinary words in lower case: `US` is not `us`.
_ACRONYMS = vocabulary(
    "US IT WHO AM PM AS AT IN IS OR AN SO NO DO GO HE ME WE BE BY IF OF ON TO UP AIDS AID ACT ALL AGE CAN MAY ARE HAS"
    " THE AND FOR NOT BUT ONE OUR OUT PAY SAT SEA SHE SIM TEA TIN VAN WAR CAT EAR EAST HER HIS PIN POP RAM"
)


@dataclass(frozen=True)
class _Pattern:
    """A pattern for an alias in folded text. `needed`: if the pattern matches, the text contains all strings of at
    least one of these tuples."""

    pattern: str
    needed: tuple[tuple[str, ...], ...]

    def spans(self, folded: Folded) -> Iterator[tuple[int, int]]:
        """The matches, as positions in the original text."""
        text = folded.text
        if any(all(piece in text for piece in pieces) for pieces in self.needed):
            for match in _compiled(_for_text(self.pattern, text)).finditer(text):
                yield folded.span(*match.span())


@dataclass(frozen=True)
class _Words:
    """What `_Pattern` finds, for an alias whose parts are all words or Han characters: no pattern of its own is
    compiled. A part begins with a letter and what separates two parts has none, so a match can end at one place only.
    `gaps` are the patterns between the parts, `opening` and `closing` what must not stand around them."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    opening: str
    closing: str

    def spans(self, folded: Folded) -> Iterator[tuple[int, int]]:
        """The matches, as positions in the original text."""
        text = folded.text
        if all(word in text for word in self.words):
            for start, end in self.matches(text):
                yield folded.span(start, end)

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
        """The matches in folded text, from left to right, without overlap."""
        start = text.find(self.words[0])
        while start >= 0:
            if end := self._end(text, start):
                yield start, end
            start = text.find(self.words[0], end or start + 1)

    def _end(self, text: str, start: int) -> int:
        """The end of the match that begins with the first word at `start`; 0 if there is none."""
        if self.opening and not _compiled(self.opening).match(text, start):
            return 0
        end = start + len(self.words[0])
        for gap, word in zip(self.gaps, self.words[1:], strict=True):
            after = _SIGNS.match(text, end).end()  # type: ignore[union-attr]
            if not text.startswith(word, after) or not _compiled(gap).fullmatch(text, end, after):
                return 0
            end = after + len(word)
        return 0 if self.closing and not _compiled(self.closing).match(text, end) else end


@dataclass(frozen=True)
class _Finder:
    """The patterns of an alias, for text with folded characters (`plain`) and with folded numerals too (`numeral`).
    `capitals`: its exact spelling, if only case distinguishes it from an ordinary word. `small`: it is a number below
    1,000, with or without a unit, which may be part of a larger expression."""

    plain: _Pattern | _Words | None
    numeral: _Pattern | _Words | None
    capitals: str = ""
    small: bool = False

    def spans(self, text: str, plain: Folded, numeral: Folded) -> list[tuple[int, int]]:
        """The matches as positions in `text`, unordered; `plain` and `numeral` are its folded forms."""
        spans = list(self.plain.spans(plain)) if self.plain is not None else []
        if self.numeral is not None and (self.numeral is not self.plain or numeral is not plain):
            spans += self.numeral.spans(numeral)
        if self.capitals:
            spans = [span for span in spans if _capital(text, span, self.capitals)]
        return [span for span in spans if not is_part_of_more(text, *span)] if self.small else spans


def find_answer(alias: str, text: str, language: str = "") -> list[tuple[int, int]]:
    """Every place where `text` states `alias`: (start, end) in the original text, in order, without overlap.

    Ignores width, case, accents, quotes, dashes, traditional or simplified characters, and the notation of numerals and
    dates; hyphens, apostrophes, commas and full stops inside a name, and a leading "the"; and different spellings of
    units, amounts of money, ordinals and well-known short names (`equivalents.txt`). In alphabetic scripts only whole
    words match ("art" is not in "party", "US" is not in "bus" or "us"). A number never matches inside a longer one
    ("12" is not in "112", "12.5", "2012" or "12万"). Chinese has no spaces, so a Chinese alias matches wherever its
    characters occur. `language` is passed to `fold`.
    """
    plain, numeral = fold_characters(text), fold(text, language)
    spans = [span for finder in _finders(alias, language) for span in finder.spans(text, plain, numeral)]
    if len(spans) < 2:
        return spans
    return _without_overlap(sorted(set(spans)))


def _for_text(pattern: str, text: str) -> str:
    """The pattern without character sets that cannot match in this text; equivalent for it."""
    if _LETTER in pattern:
        if text.isascii() or not _FOREIGN.search(text):
            pattern = pattern.replace(_LETTER, _ASCII_LETTER)
        elif not _HAN.search(text):
            pattern = pattern.replace(_LETTER, _LETTER_OR_HAN)
    if _QUOTES in pattern and not _BRACKETS.search(text):
        pattern = pattern.replace(_QUOTES, _PLAIN_QUOTES)
    return pattern


@lru_cache(maxsize=_KNOWN)
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
    # If the text has no capital letter at all, case says nothing.
    return spelled == letters or not any(char.isupper() for char in text)


@lru_cache(maxsize=_KNOWN)
def _finders(alias: str, language: str) -> tuple[_Finder, ...]:
    return tuple(_finder(name, language) for name in (alias, *equal_names(alias)))


@lru_cache(maxsize=_KNOWN)
def _finder(alias: str, language: str) -> _Finder:
    # OpenAI is also Open AI, and Chinese texts write iPhoneSE: a space before a capital is optional.
    spaced = re.sub("(?<=[a-z]) ?(?=[A-Z])", "-", alias)
    spaced = re.sub(r"(?<=[\d ])([AaPp])\.?([Mm])\b\.?", r"\1.\2.", spaced)  # 8 pm is also 8 p.m.
    plain, numeral = fold_characters(spaced), fold(spaced, language)
    if quantity := quantity_pattern(numeral.text):
        small = float(quantity.digits) < _SMALL and not quantity.signed
        # GDP43亿元 is matched without folding numerals; only the quantity's pattern tells $100 from 100 euros.
        first = None if quantity.strict else _pattern(plain.text, numerals=plain.text != numeral.text)
        return _Finder(first, _Pattern(quantity.pattern, ((quantity.digits,),)), small=small)
    # A bare integer is searched only as a number, so that 三 does not match in 三亚.
    number = re.fullmatch(r"\s*\d+(\.\d+)?\s*", numeral.text)
    bare = number is not None and number[1] is None and not plain.text.strip().isdecimal()
    letters = re.sub(r"[\s.]", "", alias)
    if re.fullmatch("[A-Z]{2,4}", letters):
        plain = numeral = fold_characters(".".join(letters))  # US is also U.S., and U.S. also US
    changed = plain.text != numeral.text
    first = None if bare else _pattern(plain.text, numerals=changed)
    date = date_pattern(fold(alias, language).text) or time_pattern(fold(alias, language).text)
    second = _pattern(numeral.text, date=date) if changed or date else first
    small = number is not None and float(number[0]) < _SMALL
    return _Finder(first, second, letters if letters in _ACRONYMS else "", small)


def _pattern(folded: str, *, numerals: bool = False, date: DatePattern | None = None) -> _Pattern | _Words | None:
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
        return _Pattern(re.escape(signs), ((signs,),)) if signs else None
    begins, ends = (numerals and parts[end][1] in CHINESE_NUMERALS for end in (0, -1))
    opening, closing = _opening(parts, begins), _closing(parts, ends)
    if date is None and (words := _words(parts, opening, closing)):
        return words
    pattern = opening + _body(parts) + closing
    # The pattern contains every part literally, except punctuation between parts and parts with alternatives.
    literal = (_literal(parts, place) for place, (kind, _) in enumerate(parts) if kind != "other")
    needed = tuple(dict.fromkeys(literal))
    return _Pattern(f"{pattern}|{date.pattern}", (needed, date.digits)) if date else _Pattern(pattern, (needed,))


def _words(parts: list[tuple[str, str]], opening: str, closing: str) -> _Words | None:
    """The alias as words; None if it has numbers, signs at an end, an "&", which may be spelled with letters, or a
    Han character that this Python does not know, which would count as a sign."""
    if parts[0][0] == "other" or parts[-1][0] == "other":
        return None
    words, gaps, last, gap = [parts[0][1]], list[str](), parts[0][0], ""
    for kind, part in parts[1:]:
        if kind == "other":
            gap += part
            continue
        gaps.append(_gap(last, gap, kind))
        words.append(part)
        last, gap = kind, ""
    if any(kind == "number" or part == "&" for kind, part in parts) or not "".join(words).isalnum():
        return None
    return _Words(tuple(words), tuple(gaps), opening, closing)


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
            pieces.append(_gap(last, gap, kind))
        pieces.append(_part(parts, position))
        last, gap = kind, ""
    return "".join(pieces)


# Interchangeable after a number: 上午9时 and 上午9点, 12名学生 and 12个学生.
_AFTER_NUMBER = {char: f"[{chars}]" for chars in ("时点", "日号", "名位个") for char in chars}


def _part(parts: list[tuple[str, str]], position: int) -> str:
    kind, part = parts[position]
    if kind == "number":
        return number_pattern(part) if re.fullmatch(r"\d+(?:\.\d+)?", part) else re.escape(part)
    if kind == "han" and position and parts[position - 1][0] == "number":
        return _AFTER_NUMBER.get(part, part)
    return re.escape(part)


def _literal(parts: list[tuple[str, str]], position: int) -> str:
    """The string that every spelling of this part contains."""
    kind, part = parts[position]
    if kind == "number" and "." in part:
        return part.rstrip("0").rstrip(".,")
    return part if kind == "number" or _part(parts, position) == re.escape(part) else ""


@lru_cache(maxsize=512)
def _gap(left: str, gap: str, right: str) -> str:
    """The pattern between two parts, which also takes what separates them in the reference as it is."""
    between = _between(left, gap, right)
    return f"(?:{between}|{re.escape(gap)})" if gap else between


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
        # 15 does not match in A15; but Chinese writes GDP3% without a space, and the sign marks the number's end.
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
        # Data sets omit the scale of decimal amounts (60.4 for 60.4亿), but not of integers.
        after_name = any(kind in {"word", "han"} for kind, _ in parts)
        return number_ends(scaled="." in last and len(parts) == 1, after_name=after_name)
    if kind == "word":
        return rf"(?!{_LETTER}])" + (r"(?!\d|\+\+|#)" if len(last) < 3 else "")
    if last in "万亿":
        return "(?![万亿])"
    return f"(?![{CHINESE_NUMERALS}])" if numeral else ""
