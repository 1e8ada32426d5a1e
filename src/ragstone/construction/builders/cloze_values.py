"""What a cloze leaves out of a sentence: one number, date, time or amount, with its unit."""

import re
from collections.abc import Iterator

from ragstone.text import detect

_NUMBER = r"(?:\d[\d.,:]*\d|\d)"
_RANGE = rf"{_NUMBER}(?:\s?[-–—~～/]\s?{_NUMBER})*"
_MONTH = "(?:" + "|".join((
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)) + ")"  # fmt: skip
_ORDINAL = r"\d+(?:st|nd|rd|th)"
_UNIT_EN = (
    r"(?:(?:square|cubic|working|calendar)\s)?(?:"
    r"(?:milli|micro)?seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|"
    r"euros?|dollars?|pounds?|francs?|crowns?|yuan|yen|cents?|percent|per\scent|"
    r"(?:kilo|milli)?grams?|tonnes?|tons?|(?:kilo|centi|milli)?met(?:re|er)s?|miles?|feet|inch(?:es)?|hectares?|"
    r"(?:milli)?lit(?:re|er)s?|degrees|(?:kilo|mega)?watts?|volts?|"
    r"km|cm|mm|kg|mg|ml|kW|MW|kB|KB|MB|GB|TB|Hz|MHz|GHz|ms|EUR|USD|GBP|CNY|°C|°F|[ap]m|[gmh]"
    r")(?:/[a-z]+|\sper\s[a-z]+)?(?![\w-])|%|‰|[ap]\.m\."
)
_SCALE_EN = r"(?:\s?(?:hundred|thousand|million|billion|trillion)\b)?"
_UNIT_ZH = (
    r"年(?![级度])代?|个(?:半)?月|个?工作日|个?小时|个?星期|分钟|秒钟?|毫秒|周(?![年边围期])|天(?![线气然])|"
    r"岁|夜|(?:欧|美|日|港|澳)元|元(?![素件旦])|英镑|法郎|克朗|毫克|千克|公斤|克(?![隆服拉])|吨|"
    r"(?:平方|立方)?(?:公里|千米|厘米|毫米|米(?![饭粉]))|公顷|海里|毫升|升(?![级至到])|摄氏度|度(?![假过])|"
    r"千瓦|瓦|伏|倍|°C|%|‰|点(?:钟|半)?(?!击)|时(?![间刻代])|[a-zA-Z]{1,3}(?:/[a-z])?(?![a-zA-Z])"
)
_AMOUNT = {
    "en": re.compile(
        rf"(?<![\w.,:/-])(?:[$€£¥]\s?{_RANGE}{_SCALE_EN}|{_RANGE}{_SCALE_EN}\s?(?:{_UNIT_EN}))(?!\w|-\w)", re.ASCII
    ),
    "zh": re.compile(
        r"(?<![\w.,:/-])(?!\d{4}\s?年)(?:\d{1,2}\s?[时点]\s?\d{1,2}\s?分"
        rf"|[$€£¥￥]\s?{_RANGE}\s?[万亿]?|{_RANGE}\s?[百千万亿]{{0,2}}\s?(?:{_UNIT_ZH}))",
        re.ASCII,
    ),
}
_DATE = {
    "en": re.compile(
        rf"(?<![\w.,:/-])(?:{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|{_MONTH}\s\d{{4}}"
        rf"|(?:\d{{1,2}}|{_ORDINAL})(?:\sof)?\s{_MONTH}(?:,?\s\d{{4}})?)(?!\w|-\w|\s—)",
        re.ASCII,
    ),
    "zh": re.compile(
        r"(?<![\w.,:/-])(?:\d{4}\s?年(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?[日号])?)?(?![级度代\d])"
        r"|\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{1,2}\s?月(?!\s?\d)|\d{1,2}\s?日)(?![讯电]|消息)",
        re.ASCII,
    ),
}
_BARE = {
    "en": re.compile(rf"(?<![\w.,:/-])(?:{_ORDINAL}|{_RANGE}{_SCALE_EN})(?!\w|-\w|\s?%|\s{_MONTH})", re.ASCII),
    "zh": re.compile(rf"(?<![\w.,:/-]){_RANGE}(?:\s?[百千万亿]{{1,2}})?(?![a-zA-Z%]|\s?[号型代年月日])", re.ASCII),
}
# "Heron 3" and "No. 7" are names; a number after a sentence's first word is not, if that word is one of these.
_NAMED = re.compile(r"(?:\bNo\.|\b[A-Z][\w’'-]*)\s$")
_NOT_NAMES = frozenset((
    "a", "about", "above", "after", "all", "almost", "and", "another", "around", "as", "at", "before", "below",
    "between", "but", "by", "during", "every", "exactly", "for", "from", "in", "its", "just", "nearly", "of", "on",
    "only", "or", "over", "since", "some", "than", "the", "their", "these", "those", "through", "to", "until",
    "under", "up", "with", "within",
))  # fmt: skip


_HEADING = {  # no statement: it only announces or dates one
    "en": re.compile(r".*:|[^,]+(?:, [^,]+)?, (?:\d+ )?[A-Z][a-z]+ \d{4}\.?|\w+ [A-Z][a-z]+ \d+, \d{4}\.?"),
    "zh": re.compile(r".*[：:]|\d[\d年月日 ]+\s.*"),
}


def cloze_value(sentence: str) -> tuple[int, str] | None:
    """Where the value begins that a cloze of the sentence asks for, and the value; None if it has none. An amount is
    preferred to a date, and both to a bare number, which often only says which thing is meant ("the flood of 1977
    lasted 3 days")."""
    language = detect(sentence)
    if _HEADING[language].fullmatch(sentence):
        return None
    for patterns in (_AMOUNT, _DATE, _BARE):
        for start, value in _found(patterns[language], sentence):
            if sentence.count(value) == 1:
                return start, value
    return None


def _found(pattern: re.Pattern[str], sentence: str) -> Iterator[tuple[int, str]]:
    """The matches that are no part of a name."""
    for match in pattern.finditer(sentence):
        named = _NAMED.search(sentence[: match.start()]) if match[0][0].isdigit() else None
        if named is None or named[0].strip().casefold() in _NOT_NAMES:
            yield match.start(), match[0]
