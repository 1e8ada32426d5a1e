"""Who, where and when: what is drawn for an event of each kind, as fields for the patterns.

Each kind has two functions. `*_series` draws what stays (a cup, a prize, a company); `*` draws one edition of it, `years`
after the one asked about and in another category where `other`. Fields that end in `#` hold further spellings of an answer,
fields that end in 传 a candidate that rumours name. 地, 电日 and 前日 (place and dates of reports) are in every world.
"""

import datetime as dt
import random

from ragstone.datasets.fictional.parts import between, chance, pick
from ragstone.datasets.fictional.zh import names
from ragstone.datasets.fictional.zh.writer import World

__all__ = ["sport", "sport_series"]


def dated(rng: random.Random, year: int) -> World:
    """A day of that year, the date of the report on it, and that of a report some time before, all of one year."""
    day = dt.date(year, 1, 1) + dt.timedelta(between(rng, 40, 355))
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


SPORTS = (
    ("排球", "第四局", "一记斜线扣杀", ("3比1", "3比2")),
    ("篮球", "第四节", "一记底角三分", ("88比81", "79比76", "94比90", "101比97")),
    ("手球", "下半场", "一次快攻得手", ("31比28", "27比25", "33比29")),
    ("冰球", "第三节", "一记门前补射", ("4比2", "3比2", "5比3")),
    ("足球", "下半场", "一脚禁区外的远射", ("2比1", "3比2", "1比0")),
    ("曲棍球", "第四节", "一次漂亮的短角球配合", ("3比2", "4比3", "2比1")),
    ("水球", "末节", "一记反手射门", ("12比10", "9比8", "11比9")),
    ("橄榄球", "下半场", "一次边路达阵", ("27比22", "24比19", "30比26")),
)
POSITIONS = {
    "排球": ("主攻手", "二传手", "副攻手"), "篮球": ("控球后卫", "小前锋", "中锋"), "手球": ("左边锋", "中卫"), "冰球": ("中锋", "后卫"),
    "足球": ("前锋", "中场", "右后卫"), "曲棍球": ("前锋", "中场"), "水球": ("中锋", "边锋"), "橄榄球": ("传锋", "边锋"),
}  # fmt: skip
HALLS = ("体育馆", "体育中心", "球馆", "文体中心", "奥体公园")


def sport_series(rng: random.Random) -> World:
    game, part, trick, _ = pick(rng, SPORTS)
    return {
        "杯": names.elegant(rng) + "杯",
        "源": names.place(rng),
        "项": game,
        "局": part,
        "绝招": trick,
        "赛": pick(rng, ("锦标赛", "邀请赛", "公开赛", "联赛")),
        "性": pick(rng, ("男子", "女子")),
        "起": str(between(rng, 2004, 2023)),
        "首": str(between(rng, 3, 30)),
    }


def sport(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    sex = {"男子": "女子", "女子": "男子"}[series["性"]] if other else series["性"]
    home = names.place(rng)
    teams: list[str] = []
    while len(teams) < 4:
        club = names.team(rng, names.place(rng))
        if club not in teams:
            teams.append(club)
    crowd = between(rng, 61, 412) * 100 + between(rng, 11, 98)
    guess = pick(rng, ("8000人", "两万人", "三万人", "1.5万人", "2.5万人", "四万人"))
    score = pick(rng, next(scores for game, _, _, scores in SPORTS if game == series["项"]))
    halls = [names.elegant(rng) + pick(rng, HALLS) for _ in range(2)]
    role = pick(rng, POSITIONS[series["项"]])
    return {
        **series,
        **dated(rng, year),
        **people(rng, "主席", "明星", "明星传", "主帅", "亚帅"),
        **counted("观众", crowd, "人", "名观众"),
        "观众传": guess,
        "性": sex,
        "届": str(int(series["首"]) + years + 4),
        "届小": pick(rng, "五六八九"),
        "地": home,
        "事": f"{year}年{series['杯']}{sex}{series['项']}{series['赛']}",
        "冠军": teams[0],
        "亚军": teams[1],
        "季军": teams[2],
        "冠军传": teams[3] if chance(rng, 0.6) else teams[1],
        "比分": score,
        "比分小": "比".join(reversed(score.split("比"))),
        "明星位": role,
        "场馆": halls[0],
        "场馆传": halls[1],
        "参赛": pick(rng, ("12", "16", "20", "24")),
        "新军": pick(rng, "三四五"),
        "天数": pick(rng, ("9", "12", "14", "17", "21")),
        "答者": pick(rng, ("组委会竞赛部负责人", "赛事解说员", "评论员")) + names.person(rng),
    }
