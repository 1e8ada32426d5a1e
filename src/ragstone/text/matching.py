"""Find where a text states an answer: tolerant of how a name or a number is written, strict about what it is.

Compiling a pattern takes far longer than searching with it, and most aliases do not occur in most texts. So the text is
first searched for the letters and digits that every wording of the alias contains; only then is a pattern compiled.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragstone.text.characters import HAN, vocabulary
from ragstone.text.dates import DatePattern, date_pattern
from ragstone.text.folding import Folded, fold, fold_characters
from ragstone.text.numerals import CHINESE_NUMERALS

__all__ = ["find_answer"]

_PARTS = re.compile(rf"(?P<number>\d+(?:[.,]\d+)*)|(?P<han>[{HAN}])|(?P<word>[^\W\d_{HAN}]+)|(?P<other>[\W_])")
# Prefixes of character sets that `_for_text` shrinks: `re` takes a millisecond to compile the ranges of Han, and a
# tenth of that for any set with a non-Latin character and more than two ranges. No escaped alias contains one of them.
_QUOTES, _PLAIN_QUOTES = r"""[\s"'《》〈〉「」『』【】·""", r"""[\s"'·"""
_CURRENCIES = "$€£¥"
# Units that may follow a number without a space; the number is still complete.
_UNITS = r"(?:[kcm]?m|km/h|[km]?g|[kmgt]b|[kmg]?wh?|[kmg]hz|fps|nm|ml|l|x|h|min|s)"
# A letter of a script that separates its words.
_LETTER, _LETTER_OR_HAN, _ASCII_LETTER = rf"[^\W\d_{HAN}", r"[^\W\d_", "[a-zA-Z"
_HAN, _FOREIGN, _BRACKETS = (re.compile(f"[{chars}]") for chars in (HAN, rf"^\W\d_{HAN}\x00-\x7f", "\u3008-\u3011"))
_SCALED = (
    r"(?!\s?[十百])(?!\s?[万亿])(?!\s?千(?![米克])(?![瓦卡])(?!赫))"
    r"(?![\s-]?(?:hundred|thousand|[mbtr]+illion|[mbt]n\b))"
)
_SCORE = re.compile(r"(?<=\d)\s?比\s?(?=\d)")
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
    """Both patterns of one alias. `capitals`: its exact spelling, if only case distinguishes it from a word."""

    plain: _Wording | None
    numeral: _Wording | None
    capitals: str = ""


def find_answer(alias: str, text: str, language: str = "") -> list[tuple[int, int]]:
    """Every place where `text` states `alias`: (start, end) in the original text, in order, without overlap.

    Width, case, accents, quotes, dashes, traditional and simplified characters, numerals and the wording of a date
    do not matter; nor do hyphens, apostrophes, commas and full stops inside a name, or a leading "the". In alphabetic
    scripts an alias is found as whole words only ("art" is not in "party", "US" is not in "bus" or "us"), and a
    number never inside a longer one ("12" is not in "112", "12.5", "2012" or "12万"), in any script. Chinese has no
    spaces, so a Chinese alias is found wherever its characters occur. `language` is passed on to `fold`.
    """
    finder = _finder(alias, language)
    spans: list[tuple[int, int]] = []
    if finder.plain is not None:
        spans += finder.plain.spans(fold_characters(text))
    if finder.numeral is not None:
        folded = fold(text, language)
        if finder.plain is None or finder.numeral is not finder.plain or folded is not fold_characters(text):
            spans += finder.numeral.spans(folded)
    if finder.capitals:
        spans = [span for span in spans if _capital(text, span, finder.capitals)]
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
def _finder(alias: str, language: str) -> _Finder:
    # OpenAI is also Open AI, and Chinese texts write iPhoneSE: a space before a capital is optional.
    parted = re.sub("(?<=[a-z]) ?(?=[A-Z])", "-", alias)
    plain, numeral = fold_characters(parted), fold(parted, language)
    # A bare integer is searched for as a number only, so that 三 does not match in 三亚.
    bare = re.fullmatch(r"\s*\d+\s*", numeral.text) is not None and not plain.text.strip().isdecimal()
    letters = re.sub(r"[\s.]", "", alias)
    if re.fullmatch("[A-Z]{2,4}", letters):
        plain = numeral = fold_characters(".".join(letters))  # US is also U.S., and U.S. also US
    changed = plain.text != numeral.text
    first = None if bare else _wording(plain.text, numerals=changed)
    date = date_pattern(fold(alias, language).text)
    second = _wording(numeral.text, date=date) if changed or date else first
    return _Finder(first, second, letters if letters in _ACRONYMS else "")


def _wording(folded: str, *, numerals: bool = False, date: DatePattern | None = None) -> _Wording | None:
    folded = _SCORE.sub(":", folded)
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
    # The pattern contains every part literally, except the punctuation between parts.
    needed = tuple(dict.fromkeys(part for kind, part in parts if kind != "other"))
    return _Wording(f"{pattern}|{date.pattern}", (needed, date.digits)) if date else _Wording(pattern, (needed,))


def _body(parts: list[tuple[str, str]]) -> str:
    pieces: list[str] = []
    last = ""  # the kind of the last part that is not punctuation
    gap = ""
    for position, (kind, part) in enumerate(parts):
        if kind == "other":
            if part in _CURRENCIES and position in {0, len(parts) - 1}:
                # $10 and 10 dollars: the sign may be missing, but a different currency is not accepted.
                pieces.append(rf"(?:{re.escape(part)}\s?)?" if position == 0 else rf"\s?{re.escape(part)}")
            elif position == len(parts) - 1:
                pieces.append(rf"(?:\s?|{re.escape(gap)}){re.escape(part)}")
            else:
                gap += part
            continue
        if last:
            pieces.append(f"(?:{_between(last, gap, kind)}|{re.escape(gap)})" if gap else _between(last, gap, kind))
        pieces.append(re.escape(part) + ("0*" if kind == "number" and "." in part else ""))
        last, gap = kind, ""
    return "".join(pieces)


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
        digits = parts[1][1] if money else first
        other_money = rf"(?<![{_CURRENCIES.replace(first, '')}])" if money else ""
        grouped = r"(?<!\d,)" if len(re.split(r"[.,]", digits)[0]) == 3 else ""  # 234 is not in 1,234
        # 15 is not in A15; but Chinese writes GDP3% without a space, and there the sign marks the end of the number.
        code = "a-z" if len(parts) == 1 and "." not in digits else ""
        return rf"(?<![{code}\d])(?<![千百])(?<![万亿])(?<!\d\.){grouped}{other_money}"
    if kind == "word":
        return rf"(?<!{_LETTER}])" + (r"(?<!\d)" if len(first) < 3 else "")
    # 十二人 is not in 二十二人.
    return f"(?<![{CHINESE_NUMERALS}])" if numeral else ""


def _closing(parts: list[tuple[str, str]], numeral: bool) -> str:
    kind, last = parts[-1]
    if kind == "number":
        # Data sets omit the unit of decimal amounts: 60.4 for 60.4亿. An integer stands for itself.
        scaled = "" if "." in last and len(parts) == 1 else _SCALED
        return rf"(?!\d)(?!\.\d)(?!,\d{{3}}(?!\d)){scaled}(?!(?!{_UNITS}(?!{_LETTER}])){_LETTER}])"
    if kind == "word":
        return rf"(?!{_LETTER}])" + (r"(?!\d)" if len(last) < 3 else "")
    if last in "万亿":
        return "(?![万亿])"
    return f"(?![{CHINESE_NUMERALS}])" if numeral else ""
