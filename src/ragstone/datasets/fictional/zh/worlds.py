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

__all__ = [
    "award", "award_series", "company", "company_series", "dig", "dig_series", "disaster", "disaster_series", "election",
    "election_series", "fair", "fair_series", "film", "film_series", "product", "product_series", "space", "space_series", "sport", "sport_series", "transit", "transit_series",
]  # fmt: skip


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


OFFICES = ("总统", "总理", "议长", "副总统", "首都市长", "检察总长")
PARTIES = ("民主复兴党", "绿色联盟", "自由农民党", "团结进步党", "公民论坛", "共和工党", "沿海联盟", "新道路党", "劳动团结阵线", "中间派联合")
CAPITALS = ("瓦伦堡", "圣埃洛", "托尔加港", "梅兰达", "科尔瓦城", "奥雷斯", "贝尔尼克", "萨伦港", "德拉诺瓦", "伊斯帕", "诺尔堡", "卡兰特拉")


def election_series(rng: random.Random) -> World:
    return {
        "国": names.country(rng) + pick(rng, ("", "共和国", "联邦")),
        "职": pick(rng, OFFICES),
        "改": str(between(rng, 1, len(OFFICES) - 1)),
        "起": str(between(rng, 1996, 2024)),
        "地": pick(rng, CAPITALS),
    }


def election(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years * 4
    office = OFFICES[(OFFICES.index(series["职"]) + other * int(series["改"])) % len(OFFICES)]
    winner, family = names.foreigner(rng)
    loser, _ = names.foreigner(rng)
    while loser.endswith(family):
        loser, _ = names.foreigner(rng)
    official, _ = names.foreigner(rng)
    turnout, share = between(rng, 523, 887) / 10, between(rng, 503, 618) / 10
    return {
        **series,
        **dated(rng, year),
        "职": office,
        "事": f"{year}年{series['国']}{office}选举",
        "当选": winner,
        "当选#": family,
        "当选姓": family,
        "落选": loser,
        "主任": official,
        "党": pick(rng, PARTIES),
        "投票率": f"{turnout}%",
        "投票率#": f"百分之{spoken(turnout)}",
        "投票率传": f"{round(turnout + pick(rng, (-6.4, -4.2, 3.8, 5.1)), 1)}%",
        "得票率": f"{share}%",
        "得票率#": f"百分之{spoken(share)}",
        "得票率传": f"{round(share + pick(rng, (-3.1, -1.7, 2.6, 4.3)), 1)}%",
        "外": "1",
        "早年": pick(rng, ("中学地理教师", "灯塔看守人", "兽医", "排字工人", "铁路调度员", "乡村医生", "面包师")),
        "旧职": pick(rng, ("渔业部长", "教育部长", "港务局长", "邮政部长", "农业部长", "审计长")),
        "总部": pick(rng, ("面包房", "电影院", "钟表店", "修车铺", "裁缝店")),
        "答者": "本报驻外记者" + names.person(rng),
    }


def spoken(number: float) -> str:
    """A number with one decimal in Chinese numerals: 52.3 is 五十二点三; without it where it is zero."""
    whole, tenth = divmod(round(number * 10), 10)
    return names.han(whole) + (f"点{names.DIGITS[tenth]}" if tenth else "")


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


TARGETS = ("月球背面", "火星", "近地小行星", "木卫四", "火卫二", "谷神星", "灶神星", "土卫八")
GROUNDS = ("平原", "盆地", "撞击坑", "谷地", "台地", "高原", "山脊", "裂谷")


def space_series(rng: random.Random) -> World:
    return {
        "系列": names.elegant(rng),
        "别": names.elegant(rng),
        "源": names.place(rng),
        "号": str(between(rng, 5, 12)),
        "起": str(between(rng, 2006, 2024)),
        "场": names.place(rng) + "发射场",
        "目标": pick(rng, TARGETS),
    }


def space(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    line = series["别"] if other else series["系列"]
    folk = people(rng, "总师", "总师传", "总指挥")
    sample = between(rng, 103, 1985)
    guess = pick(rng, ("500克", "800克", "1200克", "1.5千克", "2千克"))
    days = between(rng, 11, 290)
    return {
        **series,
        **dated(rng, year),
        **folk,
        "系列": line,
        "总师姓": folk["总师"][0],
        "事": f"{line}{names.han(int(series['号']) + years)}号",
        "题": f"{year}年发射的{line}{names.han(int(series['号']) + years)}号",
        "器": pick(rng, ("深空探测器", "采样返回探测器", "无人探测器")),
        "落点": names.elegant(rng) + pick(rng, GROUNDS),
        "落点传": names.elegant(rng) + pick(rng, GROUNDS),
        "样": f"{sample}克",
        "样#": f"{names.han(sample)}克" if sample < 1000 else f"{names.han(sample)}克|{sample / 1000:g}千克",
        "样传": guess,
        "地": names.place(rng),
        "重": str(between(rng, 640, 3900)),
        "天数": str(days),
        "小": str(between(rng, 3, days - 2)),
        "答者": pick(rng, ("测控中心主任", "任务发言人", "副总设计师")) + names.person(rng),
    }


TRADES = ("轴承", "造纸", "水泵", "陶瓷", "玩具", "酱料", "拉链", "光学镜片", "农机", "制冷设备", "羊绒", "电缆", "茶叶", "船舶配件", "印刷", "化肥")
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


def millions(rng: random.Random, low: int, high: int) -> tuple[str, str]:
    """An amount between so many million yuan, as 亿元 or 万元 the way papers write it, and in the other unit."""
    amount = between(rng, low, high) * 100 + between(rng, 1, 99)  # in 万元
    if amount > 10_000:
        return f"{amount / 10_000:.2f}亿元", f"{round(amount, -2)}万元"
    return f"{amount}万元", f"{amount / 10_000:.4f}亿元"


def company(rng: random.Random, series: World, years: int, other: bool) -> World:
    """Another category is the rival in the same trade."""
    year = int(series["起"]) + years
    tail = series["公司"][len(series["简"]) :]
    short, rival = (series["别"], series["简"]) if other else (series["简"], series["别"])
    out: World = {}
    for name, low, high in (("营收", 800, 8800), ("净利", 42, 760), ("研发", 21, 390)):
        out[name], out[name + "#"] = millions(rng, low, high)
        out[name + "传"], _ = millions(rng, low, high)
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


DISASTERS = (
    ("山体滑坡", ("连续强降雨使坡脚土体饱和", "废弃采石场的边坡长期失稳", "坡顶水渠渗漏软化了土层")),
    ("洪涝", ("暖湿气流长时间停滞", "两个低涡在上空先后合并", "上游两座电站同时泄洪")),
    ("化工厂爆炸", ("冷却水中断引起反应釜超温", "违规混存的两种原料受潮自燃", "操作人员误开了排空阀")),
    ("泥石流", ("上游堰塞体被暴雨冲开", "林火之后的松散坡面遇上短时强降雨", "弃渣场堵塞了沟道")),
    ("水库溃坝", ("坝基存在未查明的渗漏通道", "溢洪道闸门卡死无法开启", "白蚁蛀空了坝体")),
    ("液化气站爆炸", ("卸车软管老化破裂", "储罐液位计失灵导致超装", "工人违章动火点燃了泄漏的气体")),
    ("森林火灾", ("高压线断落引燃枯草", "上坟烧纸的余火没有扑灭", "干雷暴击中了枯立木")),
    ("地震", ("逆冲断层突然错动", "一条隐伏断裂向北东方向破裂", "走滑断层的闭锁段解锁")),
    ("尾矿库垮坝", ("排水井被淤泥堵塞", "坝体加高没有经过设计", "浸润线长期过高而无人处置")),
    ("龙卷风", ("超级单体风暴在平原上快速发展", "两条阵风锋迎面相撞", "干线附近的强烈上升气流旋转增强")),
)


def disaster_series(rng: random.Random) -> World:
    return {
        "县": names.place(rng),
        "地": names.place(rng),
        "邻": names.place(rng) + "镇",
        "起": str(between(rng, 1988, 2024)),
        "号": str(between(rng, 0, len(DISASTERS) - 1)),
        "改": str(between(rng, 1, len(DISASTERS) - 1)),
    }


def disaster(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years * 2
    what, causes = DISASTERS[(int(series["号"]) + other * int(series["改"])) % len(DISASTERS)]
    dates = dated(rng, year)
    dead, moved = between(rng, 6, 98), between(rng, 52, 980) * 10 + between(rng, 1, 9)
    first = int(rng.random() * 3)
    return {
        **series,
        **dates,
        **people(rng, "指挥"),
        "前日": dates["月日"],
        "亡": f"{dead}人",
        "亡汉": f"{names.han(dead)}人",
        "亡#": f"{names.han(dead)}人",
        "亡传": f"{dead + pick(rng, (13, 24, 37, 51, 120))}人",
        "转": f"{moved}人",
        "转汉": f"{names.han(moved)}人",
        "转#": f"{names.han(moved)}人",
        "转传": pick(rng, ("八千人", "一万人", "两万人", "1.2万人", "近三万人")),
        "因": causes[first],
        "因传": causes[(first + 1) % 3],
        "救": f"{names.han(between(rng, 11, 46))}名被困者",
        "灾": what,
        "事": f"{year}年{dates['月日'].split('月')[0]}月{series['县']}县{what}",
        "部门": pick(rng, ("省消防救援总队", "省应急救援中心", "矿山救护大队")),
        "时": pick(rng, ("清晨六时许", "下午三时许", "夜里十一时许", "凌晨两点多")),
        "时段": pick(rng, ("清晨", "午后", "夜晚")),
        "过": pick(rng, ("九", "十二", "二十")),
        "答者": pick(rng, ("应急管理部门负责人", "调查组成员", "新闻发言人")) + names.person(rng),
    }


RELICS = ("人面纹彩陶盆", "刻符骨片", "漆木盒", "鹰首玉钺", "双耳铜釜", "卷草纹铜镜", "绿松石兽面", "陶埙", "错金带钩", "石磬", "牛首陶鼓", "蚌塑鱼形器")


def dig_series(rng: random.Random) -> World:
    return {
        "址": names.place(rng) + pick(rng, ("遗址", "古墓群", "窑址", "聚落遗址")),
        "别": names.place(rng) + pick(rng, ("遗址", "古墓群", "窑址", "聚落遗址")),
        "地": names.place(rng),
        "河": names.elegant(rng) + pick(rng, ("河", "水", "江")),
        "所": names.place(rng) + pick(rng, ("考古研究所", "文物考古队", "文物保护研究院")),
        "起": str(between(rng, 1995, 2024)),
        "次": str(between(rng, 5, 9)),
    }


def dig(rng: random.Random, series: World, years: int, other: bool) -> World:
    year = int(series["起"]) + years
    age = between(rng, 21, 79)
    found = between(rng, 215, 6900)
    site = series["别"] if other else series["址"]
    guess = age + pick(rng, (-7, -4, 5, 8, 12))
    spelled = names.han(age * 100).replace("二千", "两千")
    return {
        **series,
        **dated(rng, year),
        **people(rng, "领队", "领队传"),
        "址": site,
        "事": f"{year}年{site}第{names.han(int(series['次']) + years)}次发掘",
        "距今": f"距今{age}00年",
        "距今汉": f"{spelled}年前",
        "距今#": f"距今约{age}00年|距今{spelled}年|{age}00年前|{spelled}年前",
        "距今传": f"距今{guess}00年",
        "件": f"{found}件",
        "件#": f"{names.han(found)}件",
        "件传": pick(rng, ("上万件", "八千件", "近一万件", "三万件")),
        "器物": pick(rng, RELICS),
        "坑": str(between(rng, 2, 9)),
        "面": str(between(rng, 60, 380) * 10),
        "层": pick(rng, ("七", "九", "十一", "十三")),
        "答者": pick(rng, ("考古所研究员", "发掘队副领队", "文物局专家")) + names.person(rng),
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


FAIRS = (
    ("陶瓷", "窑口"), ("家具", "木工坊"), ("玩具", "玩具厂"), ("乐器", "琴坊"), ("丝绸", "缫丝厂"), ("石雕", "石匠铺"), ("纸品", "纸坊"), ("灯具", "灯具厂"),
    ("竹编", "篾匠铺"), ("漆器", "漆坊"), ("玻璃", "玻璃厂"), ("铜器", "铜匠铺"), ("皮具", "皮匠铺"), ("纽扣", "纽扣厂"), ("雨伞", "伞坊"), ("钟表", "钟表铺"),
)  # fmt: skip
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
