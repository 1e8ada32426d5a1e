"""Compares quantities across units, scales and number formats: 3.5 km and 3500 m, 1.234,5 and 1,234.5, 12% and 0.12."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ragstone.text.equivalents import equivalents
from ragstone.text.folding import fold, fold_characters

# Dimension → the size of each unit, by its first spelling in `equivalents.txt`. ° C and ° F are no multiples.
_SIZES: Mapping[str, Mapping[str, float]] = {
    "length": {"km": 1000, "m": 1, "cm": 0.01, "mm": 1e-3, "μm": 1e-6, "nm": 1e-9, "mi": 1609.344, "ft": 0.3048,
               "inch": 0.0254, "yd": 0.9144, "尺": 1 / 3},
    "mass": {"kg": 1, "g": 1e-3, "mg": 1e-6, "t": 1000, "lb": 0.45359237, "oz": 0.028349523, "斤": 0.5},
    "volume": {"l": 1, "ml": 1e-3, "m³": 1000},
    "area": {"km²": 1e6, "m²": 1, "ha": 1e4, "acre": 4046.8564, "亩": 666.6667},
    "speed": {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1},
    "time": {"h": 3600, "min": 60, "s": 1, "day": 86400, "week": 604800, "month": 2629800,
             "year": 31557600},
    "data": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    "power": {"w": 1, "kw": 1e3, "mw": 1e6, "gw": 1e9},
    "frequency": {"hz": 1, "mhz": 1e6, "ghz": 1e9},
    "temperature": {"°c": 1, "°f": 1},
}  # fmt: skip
FACTORS: Mapping[str, tuple[str, float]] = {
    name: (dimension, size) for dimension, sizes in _SIZES.items() for name, size in sizes.items()
}
"""Dimension and size of each unit, by its first spelling."""
# The units that people convert to: kilometres to miles, not to inches.
_PAIRS = (("km", "mi"), ("m", "ft"), ("cm", "inch"), ("kg", "lb"), ("g", "oz"), ("km/h", "mph"), ("ha", "acre"))
_NUMBER = re.compile(r"(?<![a-z\d.])(?<!\d,)-?\d+(?:[.,]\d+)*")
_CONTINENTAL = re.compile(r"-?(?:\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+)")
_LONGEST_UNIT = 24
_EXACT = 1e-6
_ROUNDED = 0.01  # a converted value is seldom given to more than three digits


class Measure(NamedTuple):
    """A number of a text with its unit: the first spelling of a known one, "%", or "" without one after it; and its
    place in the folded text."""

    value: float
    unit: str
    text: str
    start: int = 0

    @property
    def digits(self) -> str:
        """The digits that a change of scale or of the decimal sign leaves as they are."""
        return re.sub(r"\D", "", self.text).strip("0")


def _money() -> list[tuple[list[str], list[str]]]:
    """The signs and the words of each currency."""
    lines = [" | ".join(line).split(" => ") for line in equivalents("quantity.money")]
    return [(signs.split(" | "), names.split(" | ")) for signs, names in lines]


@lru_cache(maxsize=1)
def currencies() -> frozenset[str]:
    """The first word of each currency."""
    return frozenset(names[0] for _, names in _money())


@lru_cache(maxsize=1)
def _signs() -> dict[str, str]:
    """The word of each sign of money, longer signs first. ¥ is that of two."""
    found = {sign: names[0] for signs, names in _money() for sign in signs if sign != "¥"}
    return {sign: found[sign] for sign in sorted(found, key=len, reverse=True)}


@lru_cache(maxsize=1)
def spellings() -> dict[str, str]:
    """The unit of each of its spellings."""
    lines = (*equivalents("quantity.units"), *equivalents("quantity.measured"))
    known = {line[0]: line for line in lines}
    money = [names for _, names in _money()]
    spellings = {word.removeprefix("~"): line[0] for line in money for word in line}
    return spellings | {word.removeprefix("~"): name for name, line in known.items() for word in line}


@lru_cache(maxsize=4096)
def measures(text: str) -> tuple[Measure, ...]:
    """The numbers of a text with their units, in order; a number that can be read in two formats comes twice."""
    folded = fold(text).text
    return tuple(measures_in(folded))


def measures_in(folded: str) -> Iterator[Measure]:
    """The same of a text that is folded."""
    for match in _NUMBER.finditer(folded):
        number = match.group()
        unit = _unit(folded[match.end() : match.end() + _LONGEST_UNIT]) or _sign(folded[: match.start()])
        plain = number.replace(",", "")
        if plain.count(".") <= 1:
            yield Measure(float(plain), unit, plain, match.start())
        if _CONTINENTAL.fullmatch(number):
            yield Measure(float(number.replace(".", "").replace(",", ".")), unit, number, match.start())


def _unit(after: str) -> str:
    """The unit that a text begins with, the longest that fits."""
    for rest in dict.fromkeys((after.lstrip(" -"), after.lstrip(" -个"))):
        if unit := _first_unit(rest):
            return unit
    return ""


def _sign(before: str) -> str:
    """The sign of money that a text ends with, as the word that stands behind an amount."""
    rest = before.rstrip(" ")
    for sign, word in _signs().items():
        begins = not sign[0].isascii() or not sign[0].isalpha() or not rest[: -len(sign)][-1:].isalpha()
        if rest.endswith(sign) and begins:
            return word
    return ""


@lru_cache(maxsize=1)
def _unit_pattern() -> re.Pattern[str]:
    """A unit in any spelling, the longest first; one that ends in a Latin letter ends where the letters do."""
    longest = sorted(spellings(), key=len, reverse=True)
    words = (re.escape(word) + (r"(?![^\W\d_])" if word[-1].isascii() else "") for word in longest)
    return re.compile(f"%|{'|'.join(words)}")


def _first_unit(rest: str) -> str:
    found = _unit_pattern().match(rest)
    return "" if found is None else spellings().get(found[0], "%")


def same_in_other_form(one: str, other: str) -> bool:
    """Whether the text `other` states the single quantity `one` in another unit, scale or number format, or with its
    digits under another unit or scale: 3.5 km and 2.17 miles, 3500 m, 3.5 miles or 35 km. False where `one` has several
    numbers or none."""
    sought = measures(one)
    if not sought or len({measure.digits for measure in sought}) > 1:
        return False
    return _any_changed(sought, one, other)


def in_other_form(one: str, other: str) -> bool:
    """Whether a quantity of one text stands in the other in another form, and not as it is."""
    said = {(measure.value, measure.unit) for measure in measures(other)}
    lacking = [a for a in measures(one) if (a.value, a.unit) not in said]
    return _any_changed(lacking, one, other)


def in_foreign_money(one: str, other: str, known: Iterable[str]) -> bool:
    """Whether the text `other` states amounts of money in currencies that neither the amount `one` nor any of the known
    texts has: an amount that somebody converted, at whatever rate."""
    units = {measure.unit for measure in measures(one)} & currencies()
    said = {measure.unit for measure in measures(other)} & currencies()
    used = units.union(*({measure.unit for measure in measures(text)} for text in known))
    return bool(units) and bool(said) and said.isdisjoint(used)


def _any_changed(sought: Sequence[Measure], one: str, other: str) -> bool:
    """A number that is left without its scale or unit (2.2 of 2.2 billion) is not in another form."""
    written = {number.replace(",", "") for number in _NUMBER.findall(fold_characters(one).text)}
    units = {measure.unit for measure in measures(one)} - {""}
    said = [
        measure for measure in measures(other)
        if measure.text not in written or (measure.unit and units and measure.unit not in units)
    ]  # fmt: skip
    return any(_changed(a, b) for a in sought for b in said)


def _changed(a: Measure, b: Measure) -> bool:
    if (a.value < 0) != (b.value < 0) or not a.value or not b.value:
        return False
    comparable = a.unit == b.unit or not (a.unit and b.unit)
    known = a.unit in FACTORS and b.unit in FACTORS and FACTORS[a.unit][0] == FACTORS[b.unit][0]
    if {a.unit, b.unit} <= currencies() and a.unit != b.unit:
        return math.isclose(a.value, b.value, rel_tol=_EXACT)
    if not comparable and not known:
        return {a.unit, b.unit} <= {"%", ""} and math.isclose(a.value, b.value, rel_tol=_EXACT)
    if a.digits == b.digits:
        scaled = not math.isclose(a.value, b.value, rel_tol=_EXACT)
        if scaled and len(a.digits) < 2:  # of one digit too many numbers have the same
            return False
        return scaled or bool(a.unit != b.unit and a.unit and b.unit)
    return (known and a.unit != b.unit and _converted(a, b)) or (comparable and _without_unit(a, b))


def _converted(a: Measure, b: Measure) -> bool:
    if {a.unit, b.unit} == {"°c", "°f"}:
        celsius, fahrenheit = (a, b) if a.unit == "°c" else (b, a)
        return math.isclose(celsius.value * 1.8 + 32, fahrenheit.value, rel_tol=_ROUNDED)
    size = a.value * FACTORS[a.unit][1] / FACTORS[b.unit][1]
    decimals = len(b.text.partition(".")[2])
    rounded = decimals > 0 and abs(size - b.value) <= 0.5 * 10**-decimals  # 2 days are 0.3 weeks
    return rounded or math.isclose(size, b.value, rel_tol=_ROUNDED)


def _without_unit(a: Measure, b: Measure) -> bool:
    """Whether a value was converted and keeps its old unit, or none."""
    unit = a.unit or b.unit
    factors = [FACTORS[x][1] / FACTORS[y][1] for x, y in _PAIRS if unit in (x, y)]
    enough = min(len(a.digits), len(b.digits)) > 1
    ratios = (b.value / a.value, a.value / b.value)
    return enough and any(math.isclose(ratio, factor, rel_tol=_ROUNDED / 2) for factor in factors for ratio in ratios)
