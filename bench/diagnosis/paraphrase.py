"""Words a value differently, by rule, so that no comparison of words recognises it: numbers as sums, months by number,
names by an entry of a register. Who knows the rules (the scripted reader and the scripted judge) understands them."""

import re
from zlib import crc32

__all__ = ["evidence", "reworded"]

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CHINESE = "一二三四五六七八九十"
_MONTH = re.compile(rf"\b({'|'.join(month[:3] for month in _MONTHS)})[a-z]*\b")
_WORD = re.compile(rf"\b({'|'.join((*_WORDS, *_ORDINALS))})\b|(?<!\d)(两|[{_CHINESE}])(?=[个周天年月日])")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


def reworded(value: str, language: str) -> str:
    """The value in words that share neither its number nor its name."""
    text = _MONTH.sub(lambda match: f"month {_place(match[1], [month[:3] for month in _MONTHS])} day", value)
    text = _WORD.sub(_digit, text)
    if not _NUMBER.search(text):
        entry = crc32(value.encode()) % 9000 + 1000
        return f"登记册第{entry}号" if language == "zh" else f"entry {entry} of the register"
    return _NUMBER.sub(lambda match: _sum(match[0], language), text)


def evidence(title: str, value: str, language: str) -> str:
    """A sentence that states the reworded value, in place of the passage that states the value."""
    said = reworded(value, language)
    return f"关于{title}，档案另记：{said}。" if language == "zh" else f"For {title}, the files have on record: {said}."


def _place(word: str, words: list[str]) -> int:
    return words.index(word) + 1


def _digit(match: re.Match[str]) -> str:
    word = match[1] or match[2]
    if word == "两":
        return "2"
    for words in (_WORDS, _ORDINALS, _CHINESE):
        if word in words:
            return str(words.index(word) + 1)
    return word


def _sum(number: str, language: str) -> str:
    """A number as the sum of its first digit's part and the rest, or as twice its half."""
    plain = number.replace(",", "")
    if _YEAR.fullmatch(plain):
        first, rest = "1900", f"{int(plain) - 1900}"
    else:
        digits = len(plain.partition(".")[0])
        head = int(plain[0]) * 10 ** (digits - 1)
        decimals = len(plain.partition(".")[2])
        left = f"{float(plain) - head:.{decimals}f}"
        if float(left) == 0:
            half = f"{float(plain) / 2:g}"
            return f"{half}的两倍" if language == "zh" else f"twice {half}"
        first, rest = str(head), left
    return f"{first}与{rest}之和" if language == "zh" else f"{first} plus {rest}"
