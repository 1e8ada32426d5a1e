"""Sport finals, prizes, films and fairs: who, where and when. `common` explains the fields."""

import datetime as dt
import random

from ragstone.datasets.fictional.parts import between, chance, pick
from ragstone.datasets.fictional.zh import names
from ragstone.datasets.fictional.zh.reading import words
from ragstone.datasets.fictional.zh.worlds.common import counted, dated, millions, people
from ragstone.datasets.fictional.zh.writer import World

__all__ = ["award", "award_series", "fair", "fair_series", "film", "film_series", "sport", "sport_series"]

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
    "排球": ("主攻手", "二传手", "副攻手"),
    "篮球": ("控球后卫", "小前锋", "中锋"),
    "手球": ("左边锋", "中卫"),
    "冰球": ("中锋", "后卫"),
    "足球": ("前锋", "中场", "右后卫"),
    "曲棍球": ("前锋", "中场"),
    "水球": ("中锋", "边锋"),
    "橄榄球": ("传锋", "边锋"),
}
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


AWARDS = ("文学奖", "图书奖", "写作奖", "书奖")
GENRES = (
    ("年度长篇小说", "长篇小说"),
    ("年度短篇集", "短篇小说集"),
    ("年度诗集", "诗集"),
    ("年度非虚构", "非虚构作品"),
    ("年度剧本", "剧本"),
    ("年度散文", "散文集"),
    ("年度童书", "童书"),
    ("年度传记", "传记"),
)


def award_series(rng: random.Random) -> World:
    return {
        "奖": names.elegant(rng) + pick(rng, AWARDS),
        "源": names.place(rng),
        "起": str(between(rng, 2002, 2024)),
        "首": str(between(rng, 5, 38)),
        "号": str(between(rng, 0, len(GENRES) - 1)),
        "改": str(between(rng, 1, len(GENRES) - 1)),
    }


def award(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    kind, form = GENRES[(int(series["号"]) + other * int(series["改"])) % len(GENRES)]
    money = between(rng, 5, 48)
    guess = money + between(rng, 3, 30)
    return {
        **series,
        **dated(rng, year),
        **people(rng, "主席", "得主", "得主传"),
        "奖金": f"{money}万元",
        "奖金#": f"{names.han(money)}万元|{money}0000元",
        "奖金传": f"{guess}万元",
        "届": str(int(series["首"]) + years + 4),
        "地": names.place(rng),
        "籍": names.place(rng),
        "体": form,
        "类": kind if kind == "年度非虚构" else kind + "奖",
        "旧业": pick(rng, ("乡村邮递员", "电影放映员", "道班工人", "食堂采购员", "护林员", "渡船售票员", "仓库保管员")),
        "事": f"{year}年{series['奖']}{kind}{'奖' if kind != '年度非虚构' else '作品奖'}",
        "书": f"《{names.title(rng)}》",
        "入围": f"《{names.title(rng)}》",
        "参评": str(between(rng, 180, 960)),
        "评委数": pick(rng, ("九", "十一", "十三")),
        "会场": names.elegant(rng) + pick(rng, ("剧院", "礼堂", "书院", "大戏院")),
        "答者": pick(rng, ("评委", "组委会秘书长", "终评评委")) + names.person(rng),
    }


FILM_KINDS = ("文艺", "悬疑", "喜剧", "家庭", "年代", "公路", "犯罪", "奇幻")


def film_series(rng: random.Random) -> World:
    return {
        "厂": names.brand(rng) + pick(rng, ("影业", "电影厂", "映画", "影视")),
        "名": names.title(rng),
        "别": names.title(rng),
        "起": str(between(rng, 1998, 2024)),
        "片方": names.person(rng),
    }


def film(rng: random.Random, series: World, years: int, other: bool) -> World:
    """Another year is a sequel or an earlier part, with its number in the title; another category another film."""
    year = int(series["起"]) + years
    name = series["别"] if other else series["名"]
    if years:
        name += {-4: "：序曲", -3: "前传", -2: "·初篇", -1: "：缘起", 1: "2", 2: "3", 3: "4"}[years]
    takings = between(rng, 31, 980)
    if takings % 100 == 0:
        takings += 7
    amount = f"{takings / 100:.2f}亿元" if takings > 100 else f"{takings}00万元"
    guess = takings + pick(rng, (-23, 57, 118, 143))
    dates = dated(rng, year)
    release = dt.date(year, 1, 1) + dt.timedelta(between(rng, 20, 360))
    return {
        **series,
        **dates,
        **people(rng, "导演", "导演传", "主演", "主演传", "编剧"),
        "月日#": dates["月日汉"],
        "上映传": names.day(release),
        "票房": amount,
        "票房#": f"{takings * 100}万元" if takings > 100 else f"{takings / 100:.2f}亿元",
        "票房传": f"{guess / 100:.2f}亿元" if guess > 100 else f"{guess}00万元",
        "片": f"《{name}》",
        "事": f"电影《{name}》",
        "题": f"{series['厂']}出品的电影《{name}》",
        "对手片": f"《{names.title(rng)}》",
        "导演类": pick(rng, ("一位新人", "纪录片出身的人", "从没拍过长片的人")),
        "类型": pick(rng, FILM_KINDS),
        "地": names.place(rng),
        "取景": names.place(rng),
        "时长": str(between(rng, 94, 151)),
        "答者": pick(rng, ("制片人", "发行负责人", "出品方代表")) + names.person(rng),
    }


# What is shown, and where it is made.
FAIRS = tuple(zip(words("fair_goods"), words("fair_makers"), strict=True))
FAIR_KINDS = ("博览会", "交易会", "国际展", "产业大会", "展销会")


def fair_series(rng: random.Random) -> World:
    return {
        "冠": names.elegant(rng),
        "型": pick(rng, FAIR_KINDS),
        "号": str(between(rng, 0, len(FAIRS) - 1)),
        "改": str(between(rng, 1, len(FAIRS) - 1)),
        "源": names.place(rng),
        "起": str(between(rng, 2001, 2024)),
        "首": str(between(rng, 5, 26)),
    }


def fair(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    trade, makers = FAIRS[(int(series["号"]) + other * int(series["改"])) % len(FAIRS)]
    host = names.place(rng)
    amount, amount_alias = millions(rng, 1200, 9700)
    guess, _ = millions(rng, 1200, 9700)
    guests = between(rng, 205, 3890)
    return {
        **series,
        **dated(rng, year),
        **people(rng, "会长", "金奖人"),
        **counted("参展", guests, "家"),
        "参展传": pick(rng, ("四千家", "1500家", "两千家", "五千家", "800家")),
        "行": trade,
        "坊": makers,
        "展": f"{series['冠']}{trade}{series['型']}",
        "事": f"{year}年{series['冠']}{trade}{series['型']}",
        "届": str(int(series["首"]) + years + 4),
        "地": host + "市",
        "地#": host,
        "地传": names.place(rng) + "市",
        "额": amount,
        "额#": amount_alias,
        "额传": guess,
        "客国": names.country(rng),
        "客国传": names.country(rng),
        "馆": names.elegant(rng) + pick(rng, ("会展中心", "展览馆", "国际博览中心")),
        "天数": pick(rng, ("四", "五", "六")),
        "答者": pick(rng, ("组委会秘书长", "行业协会负责人", "展览总监")) + names.person(rng),
    }
