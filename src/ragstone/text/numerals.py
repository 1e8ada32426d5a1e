"""Converts numerals to digits: 十二 and 12, 二〇二二年 and 2022年, 3万 and 30000, 1,234 and 1234, 百分之六 and 6%.

A Chinese numeral is converted only if it expresses a quantity or a date: 十二人 and 第三 are converted; 三亚, 一些,
万一, 千万 and 一起 are not. In case of doubt it stays, because both forms of a text are searched.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

CHINESE_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_DIGIT = {char: value for value, chars in enumerate(("零〇", "一", "二两", *"三四五六七八九")) for char in chars}
_UNIT = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_SCALE = {
    "万亿": 10**12, "亿": 10**8, "万": 10**4, "千": 1000,
    "hundred": 100, "thousand": 1000, "million": 10**6, "mn": 10**6, "m": 10**6,
    "billion": 10**9, "bn": 10**9, "b": 10**9, "trillion": 10**12, "tn": 10**12,
}  # fmt: skip

# Formal numerals, as on cheques.
_FORMAL = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟", "一二三四五六七八九十百千")
_ONES_IN_ORDER = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS_IN_ORDER = "twenty thirty forty fifty sixty seventy eighty ninety"
ONES = _ONES_IN_ORDER.split()
TENS = _TENS_IN_ORDER.split()
_WORDS = {word: value for value, word in enumerate(ONES)}
_TENS = {word: 10 * value for value, word in enumerate(TENS, 2)}

# Characters after a numeral that show a quantity or a date: measure words, units, parts of a date.
_MEASURES = (
    "年月日号时秒周天季岁届级人名位个只条项次场轮局集部家座艘架辆台所支枚块颗件强连冠胜元角倍成层楼吨斤克米厘毫平余"
    "种类组款尊篇册幅首席队站期批代晚夜亿万%份起排金银铜"
)
_LONG_MEASURES = {"小时", "公里", "公斤", "公顷", "分钟", "美元", "欧元"}
_ONE_TO_NINE = "[一二两三四五六七八九]"
_SECTION = f"(?:{_ONE_TO_NINE}千零?)?(?:{_ONE_TO_NINE}百零?)?(?:{_ONE_TO_NINE}?十)?{_ONE_TO_NINE}?"
_NUMBER = re.compile(f"(?:({_SECTION})亿零?)?(?:({_SECTION})万零?)?({_SECTION})")

_SCALES = r"(?:hundred|thousand|million|billion|trillion)\b"
_UP_TO_99 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(ONES[1:10])})\b)?|{'|'.join(ONES[2:])}"
# "one" alone counts nothing: "one of us".
_GROUP = rf"(?:{_UP_TO_99}|one(?=[\s-]{_SCALES}))\b)"
_TOKEN = re.compile(
    rf"""
    (?=[\d{CHINESE_NUMERALS}壹贰叁肆伍陆柒捌玖]|\b[efnost])(?:  # what a numeral can begin with, tried first for speed
    (?P<per>[百千]分之)(?P<part>\d+(?:\.\d+)?|[{CHINESE_NUMERALS}]+(?:点[零〇一二三四五六七八九]+)?)
    | (?P<formal>[壹贰叁肆伍陆柒捌玖](?=[拾佰仟万亿])[零壹贰叁肆伍陆柒捌玖拾佰仟万亿]+)
    | (?P<fraction>(?P<below>[二三四五六七八九十]|\d{{1,2}})分之(?P<above>[一二三四五六七八九]|\d{{1,2}}))
    | (?P<arabic>(?<![a-z0-9])(?<!\d[.,])
        (?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?![.,]?\d)
        (?:(?P<chinese_scale>\s?(?:万亿|亿|万|千(?![米克瓦]))(?:\d+(?:\.\d+)?(?:万|千))*)
          |(?P<english_scale>[\s-]?(?:thousand|million|billion|trillion|[mbt]n)\b|(?<=[0-9])[mb]\b)
          |(?P<percent>\s?(?:%|percent\b|per\scent\b|pct\b)))?)
    | (?P<chinese>[{CHINESE_NUMERALS}]+(?:点[零〇一二三四五六七八九]+(?:万亿|[万亿])?)?)
    | \b(?P<english>{_GROUP}(?:[\s-]{_SCALES}(?:\s(?:(?:and\s)?{_GROUP}|and\sone\b))?)*
        (?:\spoint(?:\s(?:{"|".join(ONES[:10])})\b)+)?)
        (?P<words_scale>(?:(?<=[a-z])\s{_SCALES})?)(?P<words_percent>\s(?:percent|per\scent)\b)?
    )""",
    re.VERBOSE,
)
BEGINS_NUMERAL = re.compile(rf"[{CHINESE_NUMERALS}]|(?<![a-z0-9])\d|\b(?:{'|'.join([*_TENS, *ONES[1:]])})\b")
"""Matches in every folded text with a numeral of either language."""
JOINS_NUMERAL = re.compile(
    rf"^(?:hundred|thousand|million|billion|trillion|[mbt]n\b|%|percent|per\b|cent\b|pct|point\b|(?:{'|'.join(ONES[:10])})\b)|[$€£¥]$"
)
"""Matches a folded chunk between two spaces that may belong to a numeral in the next or previous chunk: it ends with a
currency sign, or starts like the continuation of an English or Arabic numeral."""
_MONEY = re.compile(r"[$€£¥]\s?$")


def rewrites(text: str, *, chinese: bool = True, english: bool = True) -> Iterator[tuple[int, int, str]]:
    """(start, end, numeral) for each numeral to convert in a text with folded width and case.

    In order, without overlap. `chinese` and `english` select whose number words are converted; Arabic digits always
    are.
    """
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if found["per"]:
            part = _plain(found["part"]) if chinese else None
            new = None if part is None else part + ("%" if found["per"][0] == "百" else "\u2030")
        elif found["formal"]:
            value = _value(found["formal"].translate(_FORMAL)) if chinese else None
            new = None if value is None else str(value)
        elif found["fraction"]:
            parts = (_plain(found["above"]), _plain(found["below"])) if chinese else (None, None)
            new = None if None in parts else "/".join(map(str, parts))
        elif found["arabic"]:
            new = _arabic(found, text)
        elif found["chinese"]:
            new = _chinese(text, start, end) if chinese else None
            if new is None and chinese and "点" in found["chinese"]:
                end = text.index("点", start)
                new = _chinese(text, start, end)
        else:
            new = _english(found) if english else None
        if new is not None and new != text[start:end]:
            yield start, end, new


def _written(value: Decimal) -> str:
    """The number without an exponent or trailing zeros."""
    written = format(value, "f")
    return written.rstrip("0").rstrip(".") if "." in written else written


def _arabic(found: re.Match[str], text: str) -> str | None:
    whole = found["arabic"]
    scaled, english, percent = found["chinese_scale"], found["english_scale"], found["percent"]
    number = whole[: len(whole) - len(scaled or english or percent or "")].replace(",", "")
    if len(number) > 30:
        return None
    if percent:
        return number + "%"
    if english:
        name = english.strip(" -\t")
        # 5m is five metres unless it is money.
        if len(name) == 1 and not _MONEY.search(text, 0, found.start()):
            return None
        return _written(Decimal(number) * _SCALE[name])
    if scaled:
        total = Decimal(0)
        for amount, scale in re.findall(r"(\d+(?:\.\d+)?)\s?(万亿|亿|万|千)", number + scaled):
            total += Decimal(amount) * _SCALE[scale]
        return _written(total)
    after = text[found.end() : found.end() + 1]
    if len(number) == 2 and number[0] == "0" and after and after in "月日号时":
        number = number[1:]
    return number


def _english(found: re.Match[str]) -> str:
    """one thousand two hundred and five → 1205, two point five million → 2500000, fifty per cent → 50%."""
    whole, _, decimals = found["english"].partition(" point ")
    total = section = 0
    for word in re.split(r"[\s-]", whole):
        if word == "hundred":
            section *= 100
        elif word in _SCALE:
            total, section = total + section * _SCALE[word], 0
        elif word != "and":
            section += _WORDS.get(word, _TENS.get(word, 0))
    value = Decimal(total + section)
    if decimals:
        value += Decimal("0." + "".join(str(_WORDS[word]) for word in decimals.split()))
    if scale := found["words_scale"].strip():
        value *= _SCALE[scale]
    return _written(value) + ("%" if found["words_percent"] else "")


def _plain(numeral: str) -> str | None:
    """The value of a single numeral as digits; None if it is not a numeral."""
    if numeral[0].isascii():
        return numeral
    if numeral == "百":
        return "100"
    whole, _, fraction = numeral.partition("点")
    value = _value(whole)
    if value is None:
        return None
    digits = "".join(str(_DIGIT[char]) for char in fraction if char in _DIGIT)
    return f"{value}.{digits}" if digits else str(value)


def _value(run: str) -> int | None:
    """The number spelled by a run of Chinese numerals: 三百零五 is 305, 一万二 is 12000. None if it is not a number."""
    if run in {"零", "〇"}:
        return 0
    shape = _NUMBER.fullmatch(run)
    if shape is None or not run or "万" in run[:1] or "亿" in run[:1]:
        return None
    total = 0
    for group, scale in zip(shape.groups(), (10**8, 10**4, 1), strict=True):
        section = digit = 0
        for char in group or "":
            if char in _DIGIT:
                digit = _DIGIT[char]
            else:
                section += (digit or 1) * _UNIT[char]
                digit = 0
        total += (section + digit) * scale
    # 一万二 is 12000 and 三百五 is 350: a last digit right after a unit counts tenths of that unit.
    if len(run) > 2 and run[-1] in _DIGIT and run[-2] in "百千万亿":
        total += _DIGIT[run[-1]] * (_UNIT[run[-2]] // 10 - 1)
    return total


def _chinese(text: str, start: int, end: int) -> str | None:
    """The digits of the Chinese numeral at text[start:end] if it expresses a quantity or a date, else None."""
    run, before, after = text[start:end], text[max(0, start - 1) : start], text[end : end + 1]
    if "点" in run:
        return _decimal(run, after)
    if len(run) == 4 and all(char in _DIGIT and char != "两" for char in run) and (after == "年" or "〇" in run):
        return "".join(str(_DIGIT[char]) for char in run)
    if len(run) > 1 or before == "第":
        value = _value(run)
        return None if value is None else str(value)
    if _beside_another(text, start, end) and run not in "百千万亿":
        return "10" if run == "十" else str(_DIGIT[run])
    if run in "零〇百千万亿":
        return None
    written = "10" if run == "十" else str(_DIGIT[run])
    if after and after in _MEASURES:
        # 周三 and 统一 are words of their own, and 一起 and 一时 mean no number.
        other_word = (before and before in "周期拜统唯同") or run + after in {"一起", "一时", "一成"}
        return None if other_word else written
    if text[end : end + 2] in _LONG_MEASURES:
        return written
    alone = not after.isalnum() and after != "·"
    named = not before.isalnum() or before in "是为共达约有"
    return written if alone and named else None


def _beside_another(text: str, start: int, end: int) -> bool:
    """Whether this numeral and a neighbouring one form a score or a range: 二比一, 三至五."""
    after = text[end + 1 : end + 2] if text[end : end + 1] in {"比", "至", "到"} else ""
    before = text[start - 2 : start - 1] if start > 1 and text[start - 1] in "比至到" else ""
    return any(other.isdecimal() or (other and other in _DIGIT) or other == "十" for other in (before, after))


def _decimal(run: str, after: str) -> str | None:
    """六点五亿 → 650000000, 七点八(级) and 七点八 at the end of a clause → 7.8; but 六点五(分) is a time of day."""
    scale = next((scale for scale in ("万亿", "万", "亿") if run.endswith(scale)), "")
    plain = _plain(run[: len(run) - len(scale)])
    counted = after in _MEASURES and after not in "时号" if after else True
    if plain is None or not (scale or counted or not after.isalnum()):
        return None
    return _written(Decimal(plain) * _SCALE[scale]) if scale else plain
