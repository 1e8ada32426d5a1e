"""What is drawn for every kind of event: dates, people, numbers with their spellings.

An event is a dict from field to text (see `writer`). Each kind has two functions: `*_series` draws what stays (a cup, a
prize, a company), `*` one edition of it, `years` after the one asked about and in another category where `other`.
Fields that end in `#` hold further spellings of an answer, those that end in 传 a candidate that rumours name. 地,
电日 and 前日 (where and when reports are written) are in every world, 题 where questions need more than 事 to name
the event.
"""

import datetime as dt
import random

from ragstone.datasets.fictional.parts import between
from ragstone.datasets.fictional.zh import names
from ragstone.datasets.fictional.zh.writer import World

__all__ = ["counted", "dated", "millions", "people", "spoken", "yuan"]


def dated(rng: random.Random, year: int, first: int = 40, last: int = 355) -> World:
    """A day of that year (between those days of it), the date of the report on it, and that of a report before."""
    day = dt.date(year, 1, 1) + dt.timedelta(between(rng, first, last))
    later = day + dt.timedelta(between(rng, 0, 2))
    before = day - dt.timedelta(between(rng, 4, 25))
    return {
        "年": str(year),
        "月日": names.day(day),
        "月日汉": names.han_day(day),
        "电日": names.day(later),
        "前日": names.day(before),
    }


def people(rng: random.Random, *fields: str) -> World:
    """Different people for these fields."""
    out: World = {}
    used: list[str] = []
    for name in fields:
        who = names.person(rng)
        while who in used:
            who = names.person(rng)
        used.append(who)
        out[name] = who
    return out


def counted(field: str, number: int, *units: str) -> World:
    """A number with its unit, and as further spellings with the other units and in Chinese numerals."""
    first, *more = (spelling + unit for spelling in (str(number), names.han(number)) for unit in units)
    return {field: first, field + "#": "|".join(more)}


def millions(rng: random.Random, low: int, high: int) -> tuple[str, str]:
    """An amount of so many million yuan or a little more, as `yuan` writes it."""
    return yuan(between(rng, low, high) * 100 + between(rng, 1, 99))


def yuan(amount: int) -> tuple[str, str]:
    """An amount in 万元 as papers write it, in 亿元 or 万元, and in the other unit."""
    if amount > 10_000:
        return f"{amount / 10_000:.2f}亿元", f"{round(amount, -2)}万元"
    return f"{amount}万元", f"{amount / 10_000:.4f}亿元"


def spoken(number: float) -> str:
    """A number with one decimal in Chinese numerals: 52.3 is 五十二点三; without it where it is zero."""
    whole, tenth = divmod(round(number * 10), 10)
    return names.han(whole) + (f"点{names.DIGITS[tenth]}" if tenth else "")
