"""Patterns for a quantity in any notation: 8小时, 8个小时, 8 hours, 8h; ￥100 and 100元; −5, minus five and 零下5."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ragstone.text.characters import HAN
from ragstone.text.equivalents import equivalents

_MINUS = r"(?:-|minus\s|negative\s|零下)"
_QUANTITY = re.compile(
    rf"(?P<sign>{_MINUS})?(?P<prefix>[^\d-]{{0,4}}?)\s?(?P<number>\d+(?:\.\d+)?)[\s-]?(?P<unit>[^\d-][^\d]*[²³23]?)?"
)
# Units that may follow a number without a space; the number is still complete.
_UNITS = r"(?:[kcm]?m|km/h|[km]?g|[kmgt]b|[kmg]?wh?|[kmg]hz|fps|nm|ml|l|x|h|min|s)"
_SCALED = (
    r"(?!\s?[十百])(?!\s?[万亿])(?!\s?千(?![米克])(?![瓦卡])(?!赫))"
    r"(?![\s-]?(?:hundred|thousand|[mbtr]+illion|[mbt]n\b))"
)
_ENDS = r"(?!\d)(?!\.\d)(?!,\d{3}(?!\d))"
_LETTER = r"[^\W\d_" + HAN + "]"


# What may follow a number without its unit: the end of a phrase, or a word that is not a unit.
_NO_UNIT = (
    r"(?=的|了|\W?$|\s?[^\w\s%\u2030°-]|\s(?:a|after|and|as|at|before|but|by|during|for|from|in|is|last|of|on|or|per|that"
    r"|this|to|was|were|when|which|with)\b)"
)


class Unit(NamedTuple):
    """A unit. `before`: signs before the number. `after`: spellings after it; those with ~ are recognized in texts
    only. `alone`: minimum digits of a number to match without the unit, 0 for never."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    alone: int

    def names(self, unit: str) -> bool:
        return unit in self.after or unit.removeprefix("个") in self.after


@lru_cache(maxsize=1)
def _units() -> tuple[Unit, ...]:
    units = [Unit((), line, 4) for line in equivalents("quantity.year")]
    units += [Unit((), line, 0) for line in equivalents("quantity.units")]
    units += [Unit((), line, 1) for line in equivalents("quantity.counts")]
    for line in equivalents("quantity.money"):
        before, after = " | ".join(line).split(" => ")
        units.append(Unit(tuple(before.split(" | ")), tuple(after.split(" | ")), 1))
    return tuple(units)


@lru_cache(maxsize=1)
def _longer() -> dict[str, str]:
    """A spelling of a unit → lookaheads that exclude longer units: 米 in 米/秒, km in km²."""
    spellings = sorted({word.removeprefix("~") for unit in _units() for word in unit.after})
    lookaheads = {}
    for word in spellings:
        rests = [other[len(word) :] for other in spellings if other.startswith(word) and other != word]
        lookaheads[word] = "".join(
            f"(?!{re.escape(rest)})" for rest in rests if not rest[0].isascii() or rest[0] in "/ "
        )
    return lookaheads


def number_pattern(number: str) -> str:
    """A pattern for a number with any trailing zeros: 65 is also 65.0, and 4.50 also 4.5."""
    if "." not in number:
        return rf"{number}(?:\.0+(?!\d))?"
    whole, _, decimals = number.partition(".")
    decimals = decimals.rstrip("0")
    return rf"{whole}\.{decimals}0*" if decimals else rf"{whole}(?:\.0+(?!\d))?"


def number_begins(number: str, *, code: bool = False) -> str:
    """A pattern that excludes what must not precede a number: a longer number, a minus, and with `code` a letter
    (A15)."""
    grouped = r"(?<!\d,)" if len(re.split(r"[.,]", number)[0]) == 3 else ""  # 234 does not match in 1,234
    return (
        rf"(?<![{'a-z' if code else ''}\d])(?<![千百])(?<![万亿])(?<!\d\.)(?<!minus\s)(?<!negative\s)(?<!零下){grouped}"
    )


def number_ends(*, scaled: bool, after_name: bool) -> str:
    """A pattern that excludes what must not follow a number: more digits, a scale unless `scaled`, a letter unless it
    starts a unit. With `after_name`, any letter or a word such as Pro is excluded: it would make a different name."""
    models = "|".join(equivalents("name.models")[0])
    letters = (
        rf"(?!{_LETTER})(?!\s?(?:{models})\b)"
        if after_name
        else rf"(?!(?!{_UNITS}(?!{_LETTER})){_LETTER})(?!(?<=\d0)s\b)"
    )
    return _ENDS + ("" if scaled else _SCALED) + letters


# What shows, in the original text, that a number below 1,000 is part of a longer expression: 3-5, 9:30, 5G, −5, F-50.
_JOINED_BEFORE = re.compile(
    r"(?:(?:\d|[一二三四五六七八九十])\s?(?:[-−–~～至比]|[:：/·](?=$))\s?|[A-Za-z][-‐‑]|(?<![A-Za-z\d])[-−–－﹣])$"
)
_JOINED_AFTER = re.compile(
    r"\s?[-−–~～]\s?\d|[:：/·]\d|(?:至|比)[\d一二三四五六七八九十]|\sto\s(?:\d|two|three|four|five|six|seven|eight|nine|ten)"
    r"|[GSHM](?![A-Za-z])"
)


def is_part_of_more(text: str, start: int, end: int) -> bool:
    """Whether the number at text[start:end], with its unit, is part of a range, a score, a time, a code or a negative
    number. `text` is the original: in folded text a dash is a minus and 5G is five grams."""
    if _JOINED_BEFORE.search(text[max(0, start - 4) : start]):
        return True
    return _JOINED_AFTER.match(text, end) is not None and text[max(0, start - 5) : start].lower() != "from "


class Quantity(NamedTuple):
    """`pattern`: a regular expression for every notation of a quantity. `digits`: a string that all of them contain.
    `signed`: it is negative. `strict`: its literal text may mean another quantity ($100 in HK$100)."""

    pattern: str
    digits: str
    signed: bool
    strict: bool


def quantity_pattern(folded: str) -> Quantity | None:
    """A pattern for every notation of the quantity `folded` (numerals folded too), or None if it is not a quantity or
    only a number. Search it only in text folded the same way."""
    match = _QUANTITY.fullmatch(folded.strip(" .,。"))
    if match is None:
        return None
    sign, prefix, number, unit = match.group("sign", "prefix", "number", "unit")
    prefix, unit = prefix.strip(), (unit or "").strip()
    units = [known for known in _units() if (not prefix or prefix in known.before) and (not unit or known.names(unit))]
    if not units or not (sign or prefix or unit):
        return None
    digits = number.rstrip("0").rstrip(".") if "." in number else number
    body = number_pattern(number)
    begins = rf"(?<![a-z\d.])(?<!\d\s){_MINUS}\s?" if sign else number_begins(number, code=not (prefix or unit))
    if not (prefix or unit):
        return Quantity(f"{begins}{body}{_ENDS}{_SCALED}", digits, bool(sign), bool(sign or prefix))
    if number.isdigit() and unit and not prefix:
        units = [known for known in units if known.alone != 4 or len(number) == 4] or units
    forms = [form for known in units for form in _forms(known, begins, body, len(number))]
    return Quantity("|".join(dict.fromkeys(forms)), digits, bool(sign), bool(sign or prefix))


def _forms(unit: Unit, begins: str, number: str, length: int) -> Iterator[str]:
    words = (word.removeprefix("~") for word in unit.after)
    after = "|".join(_ended(word) for word in sorted(words, key=len, reverse=True))
    counted = "(?<!第)" if unit.alone == 1 and not unit.before else ""
    dated = "(?<!月)" if "~日" in unit.after else ""
    own = _other_money(unit) if unit.before else ""
    yield rf"{counted}{dated}{own}{begins}{number}(?:\s|-)?(?:多?个)?(?:{after})"
    if unit.before:
        signs = "|".join(map(re.escape, sorted(unit.before, key=len, reverse=True)))
        yield rf"(?<![a-z])(?:{signs})\s?{number}{_ENDS}{_SCALED}"
    if unit.alone and length >= unit.alone:
        yield rf"{counted}{own}{begins}{number}{_ENDS}{_SCALED}{_NO_UNIT}"


def _other_money(unit: Unit) -> str:
    """A pattern that excludes the sign of another currency before the number."""
    signs = sorted({sign for other in _units() for sign in other.before if sign not in unit.before})
    return "".join(rf"(?<!{re.escape(sign)})(?<!{re.escape(sign)}\s)" for sign in signs)


def _ended(word: str) -> str:
    ends = "(?![a-z²³/])" if word[-1].isascii() and word[-1].isalpha() else ""
    return re.escape(word) + ends + _longer()[word]
