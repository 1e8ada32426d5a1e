"""What Chinese worlds are made of: invented people, foreign people, places, papers, works; dates, amounts, and numbers
in both spellings.

Places are put together from two characters each that no county, city or town of the country bears together; people
from surnames and uncommon pairs of characters (`names.toml`). Everything is drawn with `random()` alone (see `parts`).
"""

import datetime as dt
import functools
import random
from collections.abc import Callable, Mapping
from typing import Any

from ragstone.datasets.fictional.parts import add_days, between, pick
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import Vocabulary

DIGITS = "零一二三四五六七八九"
# What stands for `~name` in a pattern: companies by their trades, schools by their kinds.
TRADES = {
    "企": "机械 食品 物流 电气 纺织 环保 医药 传媒 家电", "建": "建工 建材 路桥 工程", "制": "仪器 电气 材料 精工",
    "投": "证券 投资 咨询", "商": "食品 物流 超市", "运": "物流 货运 快运",
}  # fmt: skip
SCHOOLS = {
    "校": "中学 第一中学 实验小学 第二小学 实验中学", "中": "中学 第一中学 实验中学", "大": "大学 理工大学 师范大学",
    "职": "职业技术学院 技工学校",
}  # fmt: skip


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


class Names:
    """The names that are put together from one set of word lists."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words: dict[str, tuple[str, ...]] = {name: tuple(text.split()) for name, text in words.items()}

    @functools.cached_property
    def draws(self) -> Mapping[str, Callable[[random.Random], str]]:
        """What stands for `~name` in a pattern."""
        return {
            "人": self.person, "地": self.place, "店": self.shop, "路": self.street,
            **{name: functools.partial(self.company, trades=trades) for name, trades in TRADES.items()},
            **{name: functools.partial(self.school, kinds=kinds) for name, kinds in SCHOOLS.items()},
            "报": lambda rng: self.newspaper(rng, self.place(rng)),
            "周": lambda rng: "周" + pick(rng, "一二三四五六日"), "时": hour,
        }  # fmt: skip

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The functions of world files, with these names."""
        draws = (
            self.brand, self.candidates, self.clubs, self.country, self.elegant, self.foreigner, self.people,
            self.person, self.place, self.title, self.towns, dated, millions, random_day,
        )  # fmt: skip
        return Vocabulary({function.__name__: function for function in draws}, FORMS)

    def place(self, rng: random.Random) -> str:
        """Two characters that name no real place, such as 澜堰."""
        while True:
            name = pick(rng, self.words["place_first"]) + pick(rng, self.words["place_second"])
            if name not in self.words["real_places"]:
                return name

    def towns(self, rng: random.Random, count: int) -> list[str]:
        """`count` places that begin with different characters."""
        chosen: list[str] = []
        while len(chosen) < count:
            town = self.place(rng)
            if all(town[0] != earlier[0] for earlier in chosen):
                chosen.append(town)
        return chosen

    def person(self, rng: random.Random) -> str:
        """A surname and two characters, none of the three twice."""
        while True:
            name = pick(rng, self.words["surnames"]) + pick(rng, self.words["first"]) + pick(rng, self.words["second"])
            if len(dict.fromkeys(name)) == 3:
                return name

    def people(self, rng: random.Random, *fields: str) -> dict[str, str]:
        """Different people for these fields."""
        chosen: dict[str, str] = {}
        for field in fields:
            name = self.person(rng)
            while name in chosen.values():
                name = self.person(rng)
            chosen[field] = name
        return chosen

    def foreigner(self, rng: random.Random) -> tuple[str, str]:
        """A foreign person, transliterated: the full name with its dot, and the family name."""
        family = pick(rng, self.words["family_foreign"])
        return pick(rng, self.words["given_foreign"]) + "·" + family, family

    def candidates(self, rng: random.Random) -> tuple[str, str, str]:
        """Two foreign people of different families: the first, the family of the first, the second."""
        winner, family = self.foreigner(rng)
        loser, _ = self.foreigner(rng)
        while loser.endswith(family):
            loser, _ = self.foreigner(rng)
        return winner, family, loser

    def country(self, rng: random.Random) -> str:
        """A country that is on no map."""
        return pick(rng, self.words["country_first"]) + pick(rng, self.words["country_second"])

    def elegant(self, rng: random.Random) -> str:
        """A two-character name for a cup, a prize, a ship: 青岬, 衔烛."""
        return pick(rng, self.words["elegant_first"]) + pick(rng, self.words["elegant_second"])

    def brand(self, rng: random.Random) -> str:
        """A company name of two different characters that is no place."""
        while True:
            name = pick(rng, self.words["brand_first"]) + pick(rng, self.words["brand_second"])
            if name[0] != name[1] and name not in self.words["real_places"]:
                return name

    def newspaper(self, rng: random.Random, home: str) -> str:
        """A paper of that place: 《澜堰晚报》 without its marks."""
        return home + pick(rng, self.words["papers"])

    def clubs(self, rng: random.Random, count: int) -> list[str]:
        """`count` different clubs, each a place and an animal or a word of strength."""
        chosen: list[str] = []
        while len(chosen) < count:
            club = self.place(rng) + pick(rng, self.words["team_words"])
            if club not in chosen:
                chosen.append(club)
        return chosen

    def title(self, rng: random.Random) -> str:
        """A title of a work without its marks: 雾隐渡, 最后一班夜车."""
        pattern = pick(rng, self.words["title_patterns"])
        inventories = {"a": "title_a", "b": "title_b", "p": "title_persons", "q": "title_places", "v": "title_vehicles"}
        words = {field: pick(rng, self.words[inventory]) for field, inventory in inventories.items()}
        return pattern.format(**words, n=pick(rng, "二三五七九"))

    def company(self, rng: random.Random, trades: str) -> str:
        """A company of one of these trades: 青杉物流公司."""
        return self.brand(rng) + pick(rng, trades.split()) + pick(rng, ("公司", "公司", "集团"))

    def school(self, rng: random.Random, kinds: str) -> str:
        """A school of one of these kinds, in any town."""
        return self.place(rng) + pick(rng, kinds.split())

    def shop(self, rng: random.Random) -> str:
        """A shop or a hotel of any town: 枫浦书店."""
        return self.place(rng) + pick(rng, ("宾馆", "书店", "饭店", "酒店", "超市", "餐厅"))

    def street(self, rng: random.Random) -> str:
        """A street of any town."""
        return self.place(rng) + pick(rng, ("路", "街", "大道", "东路", "北街", "南路"))


def near(rng: random.Random, amount: float, *shares: int) -> float:
    """An amount of one of these percentages of another."""
    return amount * pick(rng, shares) / 100


def hour(rng: random.Random) -> str:
    """A time of day as papers write it: 上午9时20分."""
    when = between(rng, 7, 22)
    part = "上午" if when < 12 else "中午" if when == 12 else "下午" if when < 18 else "晚上"
    minutes = between(rng, 0, 11) * 5
    return f"{part}{when - 12 * (when > 12)}时" + (f"{minutes:02}分" if minutes else "")


FORMS: Mapping[str, Callable[..., Any]] = {
    "counted": counted, "general": lambda number: f"{number:g}", "han": han, "han_decimal": han_decimal,
    "replace": str.replace, "reversed_score": lambda score: "比".join(reversed(score.split("比"))), "round": round,
    "takings": takings, "yuan": yuan,
}  # fmt: skip
EASY = Names(read_toml("zh", "names"))
NEWS = Names(read_toml("zh", "names") | read_toml("zh", "names_news"))
"""Of common characters alone (the first 3,500 of the table of general characters)."""
