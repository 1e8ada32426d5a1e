"""Product launches, company results, bridges and railways. `common` explains the fields."""

import random

from ragstone.datasets.fictional.parts import between, pick
from ragstone.datasets.fictional.zh import names
from ragstone.datasets.fictional.zh.reading import words
from ragstone.datasets.fictional.zh.worlds.common import dated, people, yuan
from ragstone.datasets.fictional.zh.writer import World

__all__ = ["company", "company_series", "product", "product_series", "transit", "transit_series"]

# Product, lowest price in yuan, weight, the unit and the range of how long it lasts.
PRODUCTS = (
    ("折叠屏手机", 4999, "236克", "小时", (21, 46)),
    ("平板电脑", 1999, "465克", "小时", (11, 19)),
    ("智能手表", 699, "38克", "天", (5, 24)),
    ("降噪耳机", 399, "52克", "小时", (18, 58)),
    ("扫地机器人", 1599, "3.1千克", "分钟", (110, 240)),
    ("电子书阅读器", 599, "172克", "天", (21, 75)),
    ("便携投影仪", 1299, "1.2千克", "分钟", (95, 260)),
    ("无人机", 2299, "248克", "分钟", (24, 58)),
    ("智能眼镜", 1899, "46克", "小时", (4, 14)),
    ("轻薄笔记本", 3999, "1.1千克", "小时", (9, 26)),
)
BRAND_TAILS = ("科技", "电子", "智能", "数码", "通讯")
COLOURS = ("松绿、沙白和墨黑", "雾蓝、陶红和银灰", "竹青、炭灰和米白", "天青、栗棕和月白")


def product_series(rng: random.Random) -> World:
    return {
        "公司": names.brand(rng) + pick(rng, BRAND_TAILS),
        "对手": names.brand(rng) + pick(rng, BRAND_TAILS),
        "源": names.place(rng),
        "名": names.elegant(rng),
        "别": names.elegant(rng),
        "代": str(between(rng, 5, 11)),
        "起": str(between(rng, 2014, 2024)),
        "号": str(between(rng, 0, len(PRODUCTS) - 1)),
        "改": str(between(rng, 1, len(PRODUCTS) - 1)),
    }


def product(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    index = (int(series["号"]) + other * int(series["改"])) % len(PRODUCTS)
    kind, cheapest, weight, unit, (low, high) = PRODUCTS[index]
    price = cheapest + between(rng, 0, 22) * 100
    guess = price + pick(rng, (-300, -200, 300, 400, 600, 700))
    lasts = between(rng, low, high)
    name = f"{series['别' if other else '名']}{int(series['代']) + years}"
    return {
        **series,
        **dated(rng, year),
        **people(rng, "主讲"),
        "价": f"{price}元",
        "价#": f"{names.han(price)}元",
        "价传": f"{guess}元",
        "续": f"{lasts}{unit}",
        "续#": f"{names.han(lasts)}{unit}|{lasts}个{unit}" if unit == "小时" else f"{names.han(lasts)}{unit}",
        "续传": f"{lasts + pick(rng, (3, 6, 11, -2))}{unit}",
        "芯": f"{names.elegant(rng)}{pick(rng, 'ABHKMNQRTXZ')}{between(rng, 1, 9)}",
        "芯传": f"{names.elegant(rng)}{pick(rng, 'ABHKMNQRTXZ')}{between(rng, 1, 9)}",
        "品类": kind,
        "地": names.place(rng),
        "事": name,
        "题": series["公司"] + name,
        "色": pick(rng, COLOURS),
        "重": weight,
        "主讲职": pick(rng, ("产品总监", "首席执行官", "创始人", "研发副总裁")),
        "会场": pick(rng, ("老车站", "旧船厂", "展览中心", "水塔剧场")),
        "答者": pick(rng, ("产品经理", "该公司发言人", "研发负责人")) + names.person(rng),
    }


TRADES = words("trades")
TERMS = ("年", "半年")


def company_series(rng: random.Random) -> World:
    trade = pick(rng, TRADES)
    short = names.brand(rng)
    return {
        "简": short,
        "公司": short + trade + pick(rng, ("股份", "集团", "实业")),
        "别": names.brand(rng),
        "业": trade,
        "起": str(between(rng, 2003, 2024)),
        "地": names.place(rng),
        "期": pick(rng, TERMS),
    }


def company(rng: random.Random, series: World, years: int, other: bool) -> World:
    """Another category is the rival in the same trade."""
    year = int(series["起"]) + years
    tail = series["公司"][len(series["简"]) :]
    short, rival = (series["别"], series["简"]) if other else (series["简"], series["别"])
    out: World = {}
    sales = between(rng, 80_000, 880_000)  # in 万元
    for name, share in (("营收", 1000), ("净利", between(rng, 35, 152)), ("研发", between(rng, 18, 71))):
        amount = sales * share // 1000 + between(rng, 1, 99)
        out[name], out[name + "#"] = yuan(amount)
        out[name + "传"], _ = yuan(amount * pick(rng, (83, 88, 92, 107, 113, 119)) // 100)
    term = series["期"]
    return {
        **series,
        **(dated(rng, year + 1, 60, 117) if term == "年" else dated(rng, year, 191, 240)),
        **people(rng, "董事长", "财务"),
        **out,
        "年": str(year),
        "简": short,
        "公司": short + tail,
        "对手": rival + tail,
        "期题": "全年" if term == "年" else "上半年",
        "事": f"{short}{tail}{year}年{term}报",
        "题": f"{short}{tail}{year}年{'全年' if term == '年' else '上半年'}",
        "营收问": pick(rng, ("卖了这么多货，报表上究竟写的是多少？", "收入这一项有没有水分？")),
        "增": f"{between(rng, 21, 189) / 10}",
        "员工": str(between(rng, 640, 9800)),
        "厂": names.place(rng),
        "答者": pick(rng, ("董事会秘书", "投资者关系负责人", "发言人")) + names.person(rng),
    }


# Kind of work, range of its length in km, its main part, what went wrong there, how it is called when both ends meet.
WORKS = (
    ("跨海大桥", (6, 48), "主梁", "船只碰撞", "合龙"),
    ("过江隧道", (3, 15), "主线隧道", "江水渗漏", "贯通"),
    ("城际铁路", (41, 260), "最长的一座桥", "溶洞群", "合龙"),
    ("高速公路", (33, 310), "控制性隧道", "突泥", "贯通"),
    ("特长隧道", (4, 26), "正洞", "高压涌水", "贯通"),
    ("峡谷大桥", (2, 9), "钢桁梁", "罕见的横风", "合龙"),
    ("市域铁路", (22, 96), "穿江区间", "流沙", "贯通"),
)


def transit_series(rng: random.Random) -> World:
    ends: list[str] = []
    while len(ends) < 3:
        town = names.place(rng)
        if all(town[0] != end[0] for end in ends):
            ends.append(town)
    return {
        "甲地": ends[0],
        "乙地": ends[1],
        "丙地": ends[2],
        "号": str(between(rng, 0, len(WORKS) - 1)),
        "起": str(between(rng, 1999, 2024)),
    }


def transit(rng: random.Random, series: World, years: int, other: bool) -> World:
    """Another year is another stage of the same work, another category a work to another town. 澜堰 and 漭坂 are joined
    by the 澜漭高速公路."""
    year = int(series["起"]) + years * 3
    kind, (low, high), part, trouble, met = WORKS[int(series["号"])]
    end = series["丙地"] if other else series["乙地"]
    stage = {0: "", -4: "先导段", -3: "试验段", -2: "一期", -1: "一期工程", 1: "二期", 2: "三期", 3: "延长线"}[years]
    length = between(rng, low * 100 + 1, high * 100) / 100
    cost = between(rng, 121, 4860) / 10
    name = series["甲地"][0] + end[0] + kind + stage
    return {
        **series,
        **dated(rng, year),
        **people(rng, "总工", "总工传", "市长"),
        "乙地": end,
        "事": name,
        "题": f"{year}年通车的{name}",
        "通": "通车",
        "类": kind,
        "地": series["甲地"],
        "长": f"{length:g}公里",
        "长#": f"{round(length * 1000)}米",
        "长传": f"{round(length + pick(rng, (2.3, 4.1, 1.2, 6.7)), 1):g}公里",
        "资": f"{cost:g}亿元",
        "资#": f"{round(cost * 10_000)}万元",
        "资传": f"{round(cost + pick(rng, (-4.5, 8.2, 15.5, 31.4)), 1):g}亿元",
        "部": part,
        "险": trouble,
        "接": met,
        "年数": pick(rng, ("四", "五", "六", "七")),
        "答者": pick(rng, ("建设指挥部负责人", "运营公司负责人", "设计院代表")) + names.person(rng),
    }
