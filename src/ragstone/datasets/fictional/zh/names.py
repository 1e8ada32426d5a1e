"""Invented Chinese names: people, foreign people, places, papers, works, and numbers in both spellings.

Places are put together from two characters each that no county, city or town of the country bears together; people
from surnames and uncommon pairs of characters. Everything is drawn with `random()` alone (see `parts`).
"""

import datetime as dt
import random

from ragstone.datasets.fictional.parts import pick
from ragstone.datasets.fictional.zh.reading import words

__all__ = [
    "brand", "country", "day", "elegant", "foreigner", "han", "han_day", "newspaper", "person", "place", "team",
    "title",
]  # fmt: skip

SURNAMES = words("surnames")
FIRST = words("first")
SECOND = words("second")

PLACE_FIRST = words("place_first")
PLACE_SECOND = tuple("屿埠岬陂墩塬堰溆畹坞桁垸埭垭峁渚皋圩坂津渡泽陉崮砬汊洼峪浜泾碚硐")
# The pairs of those that a town or a village does bear (checked against the official list of divisions).
REAL_PLACES = ("蓼皋", "渌渚", "砚洼", "苎陂", "蓼坞", "栾塬")

GIVEN_FOREIGN = words("given_foreign")
FAMILY_FOREIGN = words("family_foreign")
COUNTRY_FIRST = words("country_first")
COUNTRY_SECOND = words("country_second")

ELEGANT_FIRST = tuple("青白苍玄朱素碧霜星云松竹鹤雁鹿麒听望枕衔栖闻观照折扶踏溯含沐疏寒")
ELEGANT_SECOND = tuple("岬舟烛崖麓汐渚原峦弦灯羽砚鸢鲸霄野泉箫榆阁屿穹禾垣澜岫隼鹭翎津枫")
BRAND_FIRST = tuple("澄砾朔霁珩峤昀曜湛翀弈祺铠珀琮烁翊睿衍甬骐瀚垚赫昊恺懿")
BRAND_SECOND = tuple("砾川域桥元迹弧芯羽维合泰岳曜格数源图信力和石帆阵恒通拓")
PAPERS = ("晚报", "晨报", "日报", "时报", "都市报", "新报")
TEAM_WORDS = words("team_words")

DIGITS = "零一二三四五六七八九"


def place(rng: random.Random) -> str:
    """Two characters that name no real place, such as 澜堰."""
    while True:
        name = pick(rng, PLACE_FIRST) + pick(rng, PLACE_SECOND)
        if name not in REAL_PLACES:
            return name


def person(rng: random.Random) -> str:
    """A surname and two characters, none of the three twice."""
    while True:
        name = pick(rng, SURNAMES) + pick(rng, FIRST) + pick(rng, SECOND)
        if len(dict.fromkeys(name)) == 3:
            return name


def foreigner(rng: random.Random) -> tuple[str, str]:
    """A foreign person, transliterated: the full name with its dot, and the family name as used on second mention."""
    family = pick(rng, FAMILY_FOREIGN)
    return pick(rng, GIVEN_FOREIGN) + "·" + family, family


def country(rng: random.Random) -> str:
    """A country that is on no map."""
    return pick(rng, COUNTRY_FIRST) + pick(rng, COUNTRY_SECOND)


def elegant(rng: random.Random) -> str:
    """A two-character name for a cup, a prize, a ship: 青岬, 衔烛."""
    return pick(rng, ELEGANT_FIRST) + pick(rng, ELEGANT_SECOND)


def brand(rng: random.Random) -> str:
    """A two-character name of a company, never one character twice."""
    while True:
        name = pick(rng, BRAND_FIRST) + pick(rng, BRAND_SECOND)
        if name[0] != name[1]:
            return name


def newspaper(rng: random.Random, home: str) -> str:
    """A paper of that place: 《澜堰晚报》 without its marks."""
    return home + pick(rng, PAPERS)


def team(rng: random.Random, home: str) -> str:
    """A club: its place and an animal or a word of strength."""
    return home + pick(rng, TEAM_WORDS)


TITLE_PATTERNS = words("title_patterns")
TITLE_A = words("title_a")
TITLE_B = words("title_b")
TITLE_PERSONS = words("title_persons")
TITLE_PLACES = ("钟楼", "茶馆", "月台", "候车室", "孤城", "石桥", "粮仓", "灯塔", "戏台", "老屋")
TITLE_V = ("渡轮", "夜车", "缆车", "邮轮", "末班船", "慢车")


def title(rng: random.Random) -> str:
    """A title of a work without its marks: 雾隐渡, 最后一班夜车."""
    return pick(rng, TITLE_PATTERNS).format(
        a=pick(rng, TITLE_A),
        b=pick(rng, TITLE_B),
        p=pick(rng, TITLE_PERSONS),
        q=pick(rng, TITLE_PLACES),
        v=pick(rng, TITLE_V),
        n=pick(rng, "二三五七九"),
    )


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


def day(date: dt.date) -> str:
    """3月12日."""
    return f"{date.month}月{date.day}日"


def han_day(date: dt.date) -> str:
    """三月十二日."""
    return f"{han(date.month)}月{han(date.day)}日"
