"""What Chinese worlds are made of: invented people, foreign people, places, papers, works; dates, amounts, and numbers
in both spellings.

Places are put together from two characters each that no county, city or town of the country bears together; people
from surnames and uncommon pairs of characters (`names.toml`). Everything is drawn with `random()` alone (see `parts`).
"""

import datetime as dt
import random
from typing import Any

from ragstone.datasets.fictional.parts import add_days, between, pick
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import Vocabulary

__all__ = ["DRAWS", "VOCABULARY", "WORDS", "foreigner", "han", "han_decimal", "newspaper", "person", "place", "title"]

WORDS: dict[str, tuple[str, ...]] = {name: tuple(words.split()) for name, words in read_toml("zh", "names").items()}
DIGITS = "零一二三四五六七八九"


def place(rng: random.Random) -> str:
    """Two characters that name no real place, such as 澜堰."""
    while True:
        name = pick(rng, WORDS["place_first"]) + pick(rng, WORDS["place_second"])
        if name not in WORDS["real_places"]:
            return name


def towns(rng: random.Random, count: int) -> list[str]:
    """`count` places that begin with different characters."""
    chosen: list[str] = []
    while len(chosen) < count:
        town = place(rng)
        if all(town[0] != earlier[0] for earlier in chosen):
            chosen.append(town)
    return chosen


def person(rng: random.Random) -> str:
    """A surname and two characters, none of the three twice."""
    while True:
        name = pick(rng, WORDS["surnames"]) + pick(rng, WORDS["first"]) + pick(rng, WORDS["second"])
        if len(dict.fromkeys(name)) == 3:
            return name


def people(rng: random.Random, *fields: str) -> dict[str, str]:
    """Different people for these fields."""
    chosen: dict[str, str] = {}
    for field in fields:
        name = person(rng)
        while name in chosen.values():
            name = person(rng)
        chosen[field] = name
    return chosen


def foreigner(rng: random.Random) -> tuple[str, str]:
    """A foreign person, transliterated: the full name with its dot, and the family name as used on second mention."""
    family = pick(rng, WORDS["family_foreign"])
    return pick(rng, WORDS["given_foreign"]) + "·" + family, family


def candidates(rng: random.Random) -> tuple[str, str, str]:
    """Two foreign people of different families: the first, the family of the first, the second."""
    winner, family = foreigner(rng)
    loser, _ = foreigner(rng)
    while loser.endswith(family):
        loser, _ = foreigner(rng)
    return winner, family, loser


def country(rng: random.Random) -> str:
    """A country that is on no map."""
    return pick(rng, WORDS["country_first"]) + pick(rng, WORDS["country_second"])


def elegant(rng: random.Random) -> str:
    """A two-character name for a cup, a prize, a ship: 青岬, 衔烛."""
    return pick(rng, WORDS["elegant_first"]) + pick(rng, WORDS["elegant_second"])


def brand(rng: random.Random) -> str:
    """A company name of two different characters."""
    while True:
        name = pick(rng, WORDS["brand_first"]) + pick(rng, WORDS["brand_second"])
        if name[0] != name[1]:
            return name


def newspaper(rng: random.Random, home: str) -> str:
    """A paper of that place: 《澜堰晚报》 without its marks."""
    return home + pick(rng, WORDS["papers"])


def clubs(rng: random.Random, count: int) -> list[str]:
    """`count` different clubs, each a place and an animal or a word of strength."""
    chosen: list[str] = []
    while len(chosen) < count:
        club = place(rng) + pick(rng, WORDS["team_words"])
        if club not in chosen:
            chosen.append(club)
    return chosen


def title(rng: random.Random) -> str:
    """A title of a work without its marks: 雾隐渡, 最后一班夜车."""
    pattern = pick(rng, WORDS["title_patterns"])
    inventories = {"a": "title_a", "b": "title_b", "p": "title_persons", "q": "title_places", "v": "title_vehicles"}
    words = {field: pick(rng, WORDS[inventory]) for field, inventory in inventories.items()}
    return pattern.format(**words, n=pick(rng, "二三五七九"))


def han(number: int) -> str:
    """A whole number below 100,000,000 in Chinese numerals: 12 is 十二, 205 is 二百零五."""
    if number >= 10_000:
        high, low = divmod(number, 10_000)
        return han(high) + "万" + (("零" if low < 1000 else "") + below_ten_thousand(low) if low else "")
    text = below_ten_thousand(number)
    return text[1:] if text.startswith("一十") else text


def below_ten_thousand(number: int) -> str:
    """As within a larger number, where 11 is 一十一."""
    text, gap = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if gap else "") + DIGITS[digit] + name
            gap = False
        elif text and number:
            gap = True
    return text or DIGITS[0]


def han_decimal(number: float) -> str:
    """A number with one decimal in Chinese numerals: 52.3 is 五十二点三; without it where it is zero."""
    whole, tenth = divmod(round(number * 10), 10)
    return han(whole) + (f"点{DIGITS[tenth]}" if tenth else "")


def day(date: dt.date) -> str:
    """3月12日."""
    return f"{date.month}月{date.day}日"


def random_day(rng: random.Random, year: int, first: int, last: int) -> str:
    """A day of that year, between those days of it."""
    return day(add_days(dt.date(year, 1, 1), between(rng, first, last)))


def dated(rng: random.Random, year: int, first: int = 40, last: int = 355) -> dict[str, Any]:
    """A day of that year (between those days of it), the date of the report on it, and that of a report before."""
    date = add_days(dt.date(year, 1, 1), between(rng, first, last))
    return {
        "年": year,
        "_month": date.month,
        "月日": day(date),
        "月日汉": f"{han(date.month)}月{han(date.day)}日",
        "电日": day(add_days(date, between(rng, 0, 2))),
        "前日": day(add_days(date, -between(rng, 4, 25))),
    }


def counted(field: str, number: int, *units: str) -> dict[str, str]:
    """A number with its unit, and as further spellings with the other units and in Chinese numerals."""
    first, *spellings = (spelling + unit for spelling in (str(number), han(number)) for unit in units)
    return {field: first, field + "#": "|".join(spellings)}


def yuan(amount: int) -> tuple[str, str]:
    """An amount in 万元 as papers write it, in 亿元 or 万元, and in the other unit."""
    if amount > 10_000:
        return f"{amount / 10_000:.2f}亿元", f"{round(amount, -2)}万元"
    return f"{amount}万元", f"{amount / 10_000:.4f}亿元"


def millions(rng: random.Random, low: int, high: int) -> tuple[str, str]:
    """An amount of so many million yuan or a little more, as `yuan` writes it."""
    return yuan(between(rng, low, high) * 100 + between(rng, 1, 99))


def takings(amount: int) -> tuple[str, str]:
    """What a film has taken, in million yuan, written in 亿元 or 万元, and in the other unit."""
    spellings = f"{amount / 100:.2f}亿元", f"{amount}00万元"
    return spellings if amount > 100 else spellings[::-1]


def shop(rng: random.Random) -> str:
    """A small shop of any town: 澜堰面馆."""
    return place(rng) + pick(rng, ("面馆", "茶馆", "书店", "照相馆", "旅社", "杂货店", "早点铺", "理发店"))


def street(rng: random.Random) -> str:
    """A street of any town."""
    return place(rng) + pick(rng, ("路", "街", "巷", "大道", "胡同", "广场"))


# What stands for `~name` in a pattern.
DRAWS = {
    "人": person, "地": place, "店": shop, "路": street,
    "企": lambda rng: brand(rng) + pick(rng, ("公司", "集团", "厂")), "报": lambda rng: newspaper(rng, place(rng)),
    "汉": lambda rng: han(between(rng, 3, 90)), "周": lambda rng: "周" + pick(rng, "一二三四五六日"),
    "时": lambda rng: f"{between(rng, 1, 23)}时{between(rng, 2, 58)}分",
}  # fmt: skip
VOCABULARY = Vocabulary(
    draws={
        function.__name__: function
        for function in (
            brand, candidates, clubs, country, dated, elegant, foreigner, millions, people, person, place, random_day,
            title, towns,
        )
    },
    forms={
        "counted": counted, "general": lambda number: f"{number:g}", "han": han, "han_decimal": han_decimal,
        "replace": str.replace, "reversed_score": lambda score: "比".join(reversed(score.split("比"))), "round": round,
        "takings": takings, "yuan": yuan,
    },
)  # fmt: skip
