"""Elections, disasters, missions to other worlds and excavations. `common` explains the fields."""

import random

from ragstone.datasets.fictional.parts import between, pick
from ragstone.datasets.fictional.zh import names
from ragstone.datasets.fictional.zh.reading import words
from ragstone.datasets.fictional.zh.worlds.common import dated, people, spoken
from ragstone.datasets.fictional.zh.writer import World

__all__ = ["dig", "dig_series", "disaster", "disaster_series", "election", "election_series", "space", "space_series"]

OFFICES = ("总统", "总理", "议长", "副总统", "首都市长", "检察总长")
PARTIES = words("parties")
CAPITALS = words("capitals")


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
        "转传": pick(rng, ("八千人", "一万人", "两万人", "1.2万人", "三万人")),
        "因": causes[first],
        "因传": causes[(first + 1) % 3],
        "救": f"{names.han(between(rng, 11, 46))}名被困者",
        "灾": what,
        "事": f"{year}年{dates['月日'].split('月')[0]}月{series['县']}县{what}",
        "部门": pick(rng, ("省消防救援总队", "省应急救援中心", "邻市消防救援支队")),
        "时": pick(rng, ("清晨六时许", "下午三时许", "夜里十一时许", "凌晨两点多")),
        "时段": pick(rng, ("清晨", "午后", "夜晚")),
        "过": pick(rng, ("九", "十二", "二十")),
        "答者": pick(rng, ("应急管理部门负责人", "调查组成员", "新闻发言人")) + names.person(rng),
    }


TARGETS = words("targets")
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
    days = between(rng, 160, 290)
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


RELICS = words("relics")


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
    age = between(rng, 41, 79)
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
        "件传": pick(rng, ("上万件", "八千件", "九千件", "三万件")),
        "器物": pick(rng, RELICS),
        "坑": str(between(rng, 2, 9)),
        "面": str(between(rng, 60, 380) * 10),
        "层": pick(rng, ("七", "九", "十一", "十三")),
        "答者": pick(rng, ("考古所研究员", "发掘队副领队", "文物局专家")) + names.person(rng),
    }
