"""The same value in another notation: 42 km and 42,000 m, twelve hundred and 1,200, half an hour and 30 minutes, 9:30
and half past nine, 31 March and 03/31, 六块九 and 6.90元.

A quantity in another unit is the same if it is exactly that, or that rounded to the digits shown, of which there have
to be two. Months and years are counted by the calendar, in months of 30 days, or in years of 365.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache

from ragstone.text.dates import MONTHS
from ragstone.text.folding import fold, fold_characters
from ragstone.text.measures import FACTORS, Measure, currencies, measures_in, spellings

_PLACE = r"(?:half|third|quarter|fourth|fifth|sixth|eighth|tenth)"
_SHARES = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_DIGITS = {
    char: str(value % 10) for value, chars in enumerate(("零〇", "一", "二两", *"三四五六七八九")) for char in chars
}
_ENGLISH = {name: str(value) for value, name in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))}  # fmt: skip
_SPOKEN = re.compile(rf"\b(?:(?:{'|'.join(_ENGLISH)})[\s-]){{2,}}(?:{'|'.join(_ENGLISH)})\b", re.IGNORECASE)
_CHINESE_RUN = re.compile(r"[零〇一二三四五六七八九]{3,}(?!年)")
_BEFORE_THOUSAND = re.compile(r"[一二两三四五六七八九十百]+(?=千[米克瓦])")
_CALENDARS: Sequence[Mapping[str, float]] = ({}, {"month": 30 * 86400, "year": 360 * 86400}, {"year": 365 * 86400})
_EXACT = 1e-6
_MOST_BETWEEN = 5  # characters between the parts of one quantity: 1 hour and 30 minutes
_MOST_SPELLED = 99
_SHORTEST_CODE = 7  # digits of a telephone number

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = {name[:3].title(): name.title() for name in (*MONTHS, *_DAYS)} | {
    "Sept": "September", "Tues": "Tuesday", "Thur": "Thursday", "Thurs": "Thursday"
}  # fmt: skip
_ABBREVIATED = re.compile(rf"\b(?:{'|'.join(sorted(_SHORT, key=len, reverse=True))})\b\.?(?!\w)")


def unabbreviated(text: str) -> str:
    """The text with the names of days and months in full: Saturday for Sat, 周六 for 星期六."""
    return re.sub("星期|礼拜", "周", _ABBREVIATED.sub(lambda found: _SHORT[found.group().rstrip(".")], text))


def find_value(value: str, text: str, *, same_unit: bool = False) -> tuple[str, list[tuple[int, int]]]:
    """Where a text states a value in another notation: the text as it was read, with its numbers written out, and the
    places in it; none where the value is no single time, date, code or quantity. `same_unit`: not in another unit."""
    for read, same in ((_clocks, _any_shared), (_dates, _same_date), (_codes, _any_shared)):
        if known := read(value, alone=True):
            return text, [span for span, other in read(text) if same(known[0][1], other)]
    plain = spelled_out(text)
    sought = quantities(spelled_out(value))
    if len(sought) != 1:
        return plain, []
    pairs = ((span, a, b) for span, other in quantities(plain) for a in sought[0][1] for b in other)
    return plain, [span for span, a, b in pairs if same_quantity(a, b) and (a.unit == b.unit or not same_unit)]


def missing_numbers(text: str, source: str) -> list[str]:
    """The numbers of a text, with their units, that another states in no notation. 0 and 1 are left out: "none" and
    "one" are pronouns, too."""
    rest = fold(text).text
    for read, same in ((_clocks, _any_shared), (_dates, _same_date)):
        known = [other for _, other in read(source)]
        for (start, end), value in reversed(read(rest)):
            if any(same(value, other) for other in known):
                rest = f"{rest[:start]} {rest[end:]}"
    plain, known_text = spelled_out(rest), spelled_out(source)
    stated = [*measures_in(known_text), *(one for _, readings in quantities(known_text) for one in readings)]
    return [
        plain[start:end] + (f" {readings[0].unit}" if readings[0].unit else "")
        for (start, end), readings in quantities(plain)
        if readings[0].value not in (0, 1)
        and not any(one.value == other.value or same_quantity(one, other) for one in readings for other in stated)
        and not any(numeral in known_text for numeral in _chinese_numerals(readings[0].value))
    ]


def _chinese_numerals(value: float) -> Sequence[str]:
    """A number up to 99 in Chinese, which `fold` leaves before words that it does not know to be counted: 六车道."""
    if value != int(value) or not 2 <= value <= _MOST_SPELLED:
        return ()
    tens, ones = divmod(int(value), 10)
    digits = "零一二三四五六七八九"
    spelled = f"{digits[tens] if tens > 1 else ''}{'十' if tens else ''}{digits[ones] if ones else ''}"
    return (spelled, "两") if value == 2 else (spelled,)


def beside_quantities(value: str) -> str:
    """What a value says besides numbers and their units: the animals of 18 animals."""
    if any(read(value, alone=True) for read in (_clocks, _dates, _codes)):
        return ""
    return _quantity().sub(" ", spelled_out(value))


def clock_times(text: str) -> list[frozenset[object]]:
    """The times of day of a text, each with all that it may be in minutes: both halves of a day where it names none."""
    return [minutes for _, minutes in _clocks(text)]


def names_unit(question: str, units: Set[str]) -> bool:
    """Whether a question asks for one of these units: how many days, in km, 多少天."""
    names = [re.escape(name) for name, unit in spellings().items() if unit in units - {""}]
    folded = fold_characters(question).text
    pattern = rf"(?:\b(?:how many|number of|in)\s(?:\w+\s)?|多少个?|几个?|以)(?:{'|'.join(names)})(?![a-z])"
    return bool(names) and re.search(pattern, folded) is not None


@lru_cache(maxsize=1)
def _quantity() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in sorted(spellings(), key=len, reverse=True))
    return re.compile(rf"(?:\b(?:eur|usd|gbp|cny|rmb)|[$€£¥])?\s?\d+(?:[.,]\d+)*[\s-]?个?(?:(?:{words})(?![a-z]))?")


def same_quantity(one: Measure, other: Measure) -> bool:
    """Whether two quantities are the same, in whatever unit."""
    if one.unit == other.unit or (
        {one.unit, other.unit} <= {*currencies(), "money"} and "money" in (one.unit, other.unit)
    ):
        return math.isclose(one.value, other.value, rel_tol=_EXACT)
    if {one.unit, other.unit} == {"%", ""}:
        share, percent = (one, other) if other.unit else (other, one)
        return math.isclose(100 * share.value, percent.value, rel_tol=_EXACT) and 0 < share.value <= 1
    if {one.unit, other.unit} == {"°c", "°f"}:
        celsius, fahrenheit = (one, other) if one.unit == "°c" else (other, one)
        return _rounds_to(celsius.value * 1.8 + 32, fahrenheit) or _rounds_to((fahrenheit.value - 32) / 1.8, celsius)
    known = [FACTORS.get(measure.unit) for measure in (one, other)]
    if known[0] is None or known[1] is None or known[0][0] != known[1][0] or "temperature" in known[0]:
        return False
    for calendar in _CALENDARS:
        sizes = [calendar.get(measure.unit, FACTORS[measure.unit][1]) for measure in (one, other)]
        if _rounds_to(one.value * sizes[0] / sizes[1], other) or _rounds_to(other.value * sizes[1] / sizes[0], one):
            return True
    return False


def _rounds_to(value: float, shown: Measure) -> bool:
    """Whether a value is what is shown, or would be shown so, with two digits or more."""
    if math.isclose(value, shown.value, rel_tol=_EXACT):
        return True
    decimals = len(shown.text.partition(".")[2])
    return len(shown.digits) > 1 and abs(value - shown.value) <= 0.5 * 10**-decimals * (1 + _EXACT)


_Quantity = tuple[tuple[int, int], list[Measure]]


def quantities(plain: str) -> list[_Quantity]:
    """The quantities of a text as `spelled_out` writes it, each with its place and its readings (1.234 may be two
    numbers). Parts that follow each other, 1 hour 30 minutes, are one quantity."""
    found: list[_Quantity] = []
    for measure in measures_in(plain):
        start, end = measure.start, measure.start + len(measure.text)
        last = found[-1] if found else None
        if last is not None and last[0][0] == start:
            last[1].append(measure)
        elif (
            last is not None
            and start - last[0][1] <= _longest_gap(last[1][-1])
            and (sum_ := _sum(last[1][-1], measure))
        ):
            found[-1] = ((last[0][0], end), [sum_])
        else:
            found.append(((start, end), [measure]))
    return found


def _longest_gap(measure: Measure) -> int:
    return _MOST_BETWEEN + max((len(word) for word, unit in spellings().items() if unit == measure.unit), default=0)


def _sum(large: Measure, small: Measure) -> Measure | None:
    """The sum of a quantity and a part of its unit: 1 h and 30 min, not 30 min and 1 h."""
    known, part = FACTORS.get(large.unit), FACTORS.get(small.unit)
    if known is None or part is None or known[0] != part[0] or known[1] <= part[1]:
        return None
    value = large.value * known[1] / part[1] + small.value
    return Measure(value, small.unit, f"{value:g}", large.start) if small.value * part[1] < known[1] else None


@lru_cache(maxsize=4096)
def spelled_out(text: str) -> str:
    """The folded text with fractions, dozens, small coins and digits said one by one as numbers."""
    plain = _SPOKEN.sub(
        lambda found: "".join(_ENGLISH[word] for word in re.split(r"[\s-]", found.group().lower())), text
    )
    plain = _CHINESE_RUN.sub(lambda found: "".join(_DIGITS[char] for char in found.group()), plain)
    plain = _BEFORE_THOUSAND.sub(lambda found: fold(f"{found.group()}个").text[:-1], plain)
    plain = fold(plain).text
    for pattern, write in _rules():
        plain = pattern.sub(write, plain)
    return plain


def _written(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _shares(found: re.Match[str], share: int, *, of: int = 1) -> float:
    """`of` halves, thirds, …: 2 thirds, a half."""
    name = found[share].removesuffix("s").replace("halve", "half")
    return (float(found[of]) if found[of] else 1.0) / _SHARES[name]


def _and_share(found: re.Match[str], share: int) -> str:
    """2 and a half."""
    return _written((float(found[1]) if found[1] else 1.0) + 1 / _SHARES[found[share]])


def _fraction(found: re.Match[str]) -> str:
    above, below = int(found[1]), int(found[2])
    return _written(above / below) if 0 < above < below else found[0]


def _coins(found: re.Match[str]) -> str:
    """6块9, 2块3毛1."""
    digits = "".join(_DIGITS.get(char, char) for char in (found[2], found[3] or ""))
    return f"{found[1]}.{digits}元"


def _share_of(found: re.Match[str]) -> str:
    return f"{_written(_shares(found, 2))} "


_Rule = tuple[str, Callable[[re.Match[str]], str]]


def _english_rules(words: Sequence[str]) -> list[_Rule]:
    unit = "(?:" + "|".join(re.escape(word) for word in words if word.isascii() and word[0].isalpha()) + r")\b"
    n, one = r"\b(?:(\d+(?:\.\d+)?)|an?|one)", "(?:an?|one|1)"
    scales = {"hundred": 100, "thousand": 1000, "million": 10**6}
    return [
        (rf"{n} and {one} ({_PLACE})(?= {unit})", lambda m: _and_share(m, 2)),
        (rf"{n} ({unit}) and {one} ({_PLACE})\b(?! of)", lambda m: f"{_and_share(m, 3)} {m[2]}"),
        (rf"(?:{n} )?\b(half|halves|quarters?)[\s-](?:of )?(?:{one} )?(?={unit})", _share_of),
        (rf"{n} ({_PLACE}s?) of (?:{one} )?(?={unit})", _share_of),
        (rf"{n} ({_PLACE}s?|halves) of\b", lambda m: f"{_written(100 * _shares(m, 2))}% of"),
        (rf"{n} dozen\b", lambda m: _written(12 * float(m[1] or 1))),
        (rf"\b{one}(?= {unit} and \d)", lambda m: "1"),
        (rf"\b{one} ({'|'.join(scales)})(?: and)? (\d+)\b", lambda m: str(scales[m[1]] + int(m[2]))),
        (r"(?<![\d/.])(\d{1,2})/(1?\d)(?![\d/])(?=\s?(?:[^\W\d]|$|[.,;。，；]))", _fraction),
        (rf"(\d) \(in ({unit})\)", lambda m: f"{m[1]} {m[2]}"),
        (r"\b(\d+(?:\.\d+)?) ?(?:cents?|pence|p)\b", lambda m: f"{_written(float(m[1]) / 100)} money"),
        (r"(\d\s?)degrees(?!\w|\s?(?:c|f|celsius|fahrenheit)\b)", lambda m: f"{m[1]}°c"),
    ]  # fmt: skip


def _chinese_rules(words: Sequence[str]) -> list[_Rule]:
    unit = "|".join(re.escape(word) for word in words if not word.isascii())
    digit = r"([一二三四五六七八九\d])"
    return [
        (r"([一二两三四五六七八九])(?=[块毛角打刻]|个半|分半)", lambda m: _DIGITS[m[1]]),
        (rf"(\d+)[块元]零{digit}分", lambda m: f"{m[1]}.0{_DIGITS.get(m[2], m[2])}元"),
        (rf"(\d+)[块元]{digit}[毛角]?(?:{digit}分?)?(?!\d)", _coins),
        (r"(\d+)[毛角](?!\w)", lambda m: f"{_written(int(m[1]) / 10)}元"),
        (r"(\d+)打", lambda m: f"{12 * int(m[1])}个"),
        (r"(\d+)刻钟?", lambda m: f"{15 * int(m[1])}分钟"),
        (r"(\d+)分半钟?", lambda m: f"{m[1]}.5分钟"),
        (r"(\d+)分(?![钟之贝\w])", lambda m: f"{m[1]}分钟"),
        (rf"(\d+)个半(?={unit}|月)", lambda m: f"{m[1]}.5个"),
        (rf"(\d+)({unit})半(?![价票]|\w*(?:{unit}))", lambda m: f"{m[1]}.5{m[2]}"),
        (rf"半(?=个?(?:{unit}|月))", lambda m: "0.5"),
        (rf"(\d+)米{digit}(?![\d\w])", lambda m: f"{m[1]}.{_DIGITS.get(m[2], m[2])}米"),
        (r"(\d\s?)(华氏|摄氏)(?!度)", lambda m: f"{m[1]}{m[2]}度"),
        (r"(\d\s?)度(?!\w)", lambda m: f"{m[1]}°c"),
    ]


@lru_cache(maxsize=1)
def _rules() -> Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
    """What is replaced, in order, and by what."""
    words = sorted({*spellings(), "dozen"}, key=len, reverse=True)
    return [(re.compile(pattern), write) for pattern, write in (*_english_rules(words), *_chinese_rules(words))]


_Found = list[tuple[tuple[int, int], frozenset[object]]]

_CLOCK = re.compile(
    r"(?P<to>half|quarter) (?P<side>past|to) (?P<named>\d{1,2}|one)"
    r"|(?<![\d:.,])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d)(?![:\d])|(?=\s?[ap]\.?m)|\s?o'clock)(?:\s?(?P<half>[ap])\.?m\b)?"
    r"|(?P<time>上午|早上|早晨|清晨|凌晨|中午|下午|傍晚|晚上|夜里|晚)?(?P<chinese>\d{1,2}|[一二两三四五六七八九]|十[一二]?)[点时]"
    r"(?![\d一二三四五六七八九])?(?:(?P<rest>半|[一三]刻|整)|(?P<minutes>[0-5]?\d)分?"
    r"|(?P<spelled>[二三四五](?:十[一二三四五六七八九]?|1\d)|十[一二三四五六七八九]?|[零〇][一二三四五六七八九])分?)?(?!间)"
)
_AFTER = re.compile(r"\s(?:in the (?P<part>morning|afternoon|evening)|at (?P<night>night))")


def _clocks(text: str, *, alone: bool = False) -> _Found:
    """The times of day of a text in minutes, in the morning and in the evening where it does not say which."""
    folded = fold_characters(text).text.strip(" .,。") if alone else fold(text).text
    folded = fold(folded).text
    found: _Found = []
    for match in _CLOCK.finditer(folded):
        if alone and match.span() != (0, len(folded)):
            return []
        after = _AFTER.match(folded, match.end())
        if minutes := _minutes(match, (after["part"] or after["night"]) if after else ""):
            found.append((match.span(), minutes))
    return found


def _spelled_minutes(text: str) -> int:
    """Minutes in Chinese numerals; `fold` reads the 十五 of 二十五 alone: 二15."""
    if text[:1] in ("", "零", "〇"):
        return int(_DIGITS.get(text[1:], "0"))
    tens, _, ones = text.replace("十", "1").partition("1")
    return 10 * int(_DIGITS.get(tens, "1")) + int(_DIGITS.get(ones, ones or "0"))


def _minutes(match: re.Match[str], part: str) -> frozenset[object]:
    if name := match["named"]:
        quarter = 30 if match["to"] == "half" else 15
        value = 60 * (1 if name == "one" else int(name)) + (quarter if match["side"] == "past" else -quarter)
        exact = False
    elif match["chinese"]:
        hour = match["chinese"]
        hours = (
            int(hour)
            if hour.isdigit()
            else 10 + int(_DIGITS.get(hour[1:], "0"))
            if hour[0] == "十"
            else int(_DIGITS[hour])
        )
        spelled = int(match["minutes"] or 0) or _spelled_minutes(match["spelled"] or "")
        rest = {"半": 30, "一刻": 15, "三刻": 45}.get(match["rest"] or "", spelled)
        part = (
            "evening"
            if match["time"] in ("下午", "傍晚", "晚上", "夜里", "晚")
            else "morning"
            if match["time"]
            else part
        )
        value, exact = 60 * hours + rest, hours > 12
    else:
        value = 60 * int(match["hour"]) + int(match["minute"] or 0)
        part = {"a": "morning", "p": "evening"}.get(match["half"] or "", part)
        exact = match["minute"] is not None
    if part in ("afternoon", "evening", "night") and value < 720:
        return frozenset({value + 720})
    return frozenset({value % 1440} if part or exact or value >= 720 else {value % 1440, value + 720})


_NAMES = "|".join(month[:3] for month in MONTHS)
_DATE = re.compile(
    r"(?<!\d)(?:(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})|(?P<a>\d{1,2})(?P<sign>[/.-])(?P<b>\d{1,2})(?:(?P=sign)(?P<y2>\d{4}))?"
    r"|(?:(?P<y3>\d{4})年)?(?P<m3>\d{1,2})月(?P<d3>\d{1,2})[日号]?"
    rf"|(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<n4>{_NAMES})[a-z]*\.?(?:,?\s(?P<y4>\d{{4}}))?)(?!\d)"
    rf"|\b(?P<n5>{_NAMES})[a-z]*\.?\s(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<y5>\d{{4}}))?(?!\d)"
)


def _dates(text: str, *, alone: bool = False) -> _Found:
    """The dates of a text as (year or "", month, day), a numeric one in both orders."""
    folded = fold(text).text
    folded = folded.strip(" .,。") if alone else folded
    found: _Found = []
    for match in _DATE.finditer(folded):
        if alone and match.span() != (0, len(folded)):
            return []
        if match["a"]:
            if alone:
                return []  # 3/4 alone may be anything
            known = {(match["y2"] or "", int(match[x]), int(match[y])) for x, y in ("ab", "ba")}
        else:
            at = next(n for n in "1345" if match[f"d{n}"])
            name = match[f"n{at}"] if at in "45" else ""
            month = [one[:3] for one in MONTHS].index(name) + 1 if name else int(match[f"m{at}"])
            known = {(match[f"y{at}"] or "", month, int(match[f"d{at}"]))}
        found.append((match.span(), frozenset(one for one in known if 1 <= one[1] <= 12 and 1 <= one[2] <= 31)))
    return found


def _same_date(one: frozenset[object], other: frozenset[object]) -> bool:
    return any(a[1:] == b[1:] and (a[0] == b[0] or not a[0] or not b[0]) for a in one for b in other)  # type: ignore[index]


_CODE = re.compile(r"\+?\d[\d\s()./-]{6,}\d")


def _codes(text: str, *, alone: bool = False) -> _Found:
    """Telephone numbers, without what stands for the country."""
    folded = fold_characters(text).text.strip()
    matches = [match for match in _CODE.finditer(folded) if not alone or match.span() == (0, len(folded))]
    found = [(match, re.sub(r"\D", "", match.group())) for match in matches]
    return [
        (match.span(), frozenset({digits[-_SHORTEST_CODE:] if match.group()[0] in "+0" else digits}))
        for match, digits in found
        if len(digits) > _SHORTEST_CODE and (match.group()[0] in "+0" or not alone)
    ]


def _any_shared(one: frozenset[object], other: frozenset[object]) -> bool:
    return not one.isdisjoint(other)
