"""Invented Chinese names: people, foreign people, places, papers, works, and numbers in both spellings.

Places are put together from two characters each that no county, city or town of the country bears together; people
from surnames and uncommon pairs of characters. Everything is drawn with `random()` alone (see `parts`).
"""

import datetime as dt
import random

from ragstone.datasets.fictional.parts import pick

__all__ = [
    "brand", "country", "day", "elegant", "foreigner", "han", "han_day", "newspaper", "person", "place", "team", "title",
]  # fmt: skip

SURNAMES = tuple(
    "陆沈顾钟褚卫蒋傅邵孟秦尤许何吕施曹严魏陶姜戚谢邹喻柏窦章潘葛范彭鲁韦苗俞袁柳鲍唐费廉岑薛雷贺倪汤滕罗毕郝卞齐康伍卜穆萧尹姚汪祁狄臧戴谈宋庞熊纪舒屈项祝董梁杜阮"
    "闵季贾娄江童颜郭梅盛林徐邱骆夏蔡田樊胡凌霍虞柯管卢裘宣邓郁杭洪崔吉龚程邢陈裴翁荀甄芮靳段巫焦隗侯宁仇厉符景詹叶黎蒲卓蔺屠池乔胥翟谭冉郦桑桂冀温庄晏柴瞿阎耿匡寇简"
)
FIRST = tuple("知景承砚书亦云清若望怀予叔季允秉昭闻霁嘉述念与令思衡以维绍延既远初澄明修柏时简存润行守静宛映疏语南见溪")
SECOND = tuple("遥舟川宁岑野棠棣渔筠砾禾桓钧珩芷言蘅洲渊渠阔朔谦峤霖澈岚桐汀屿昀笙榆燃越弦沅峥笛楷芜蓁")

PLACE_FIRST = tuple("澜硖堇砚菰荻苎蓼鹮鹭楸栾椋棹椿枞桕槭霁漪溱洮淅滃潆澧涟浔湄泠洇沚渌漭濯缃绡缇绛黛绀苓茗莳蔚蒹葭薜蘅芩菖萱荇芪蕙芸蓟茯")
PLACE_SECOND = tuple("屿埠岬陂墩塬堰溆畹坞桁垸埭垭峁渚皋圩坂津渡泽陉崮砬汊洼峪浜泾碚硐")
# The pairs of those that a town or a village does bear (checked against the official list of divisions).
REAL_PLACES = ("蓼皋", "渌渚", "砚洼", "苎陂", "蓼坞", "栾塬")

PLACE_KINDS = ("市", "市", "市", "县", "新区")

GIVEN_FOREIGN = (
    "埃利安", "托雷克", "玛蒂尔", "伊奥娜", "卡西安", "奥黛拉", "雷米亚", "芙洛拉", "杰瑞科", "索菲娜", "阿德莱", "布兰顿", "德文娜", "埃斯梅", "菲奥里",
    "格雷森", "海尔达", "伊萨克", "约里斯", "凯尔文", "莉安德", "马尔科", "内维尔", "奥尔加", "佩特拉", "昆廷娜", "罗莎琳", "西格蒙", "塔玛拉", "乌尔里",
    "瓦莱里", "温妮弗", "泽维尔", "艾尔莎", "巴斯蒂", "科莱特", "多米尼", "埃德加", "弗雷娅", "吉迪恩", "霍诺拉", "英格丽", "朱诺", "卡米尔", "卢西恩",
    "米雷娅", "诺埃尔", "奥斯温", "皮埃拉", "里卡多", "塞拉芬", "西奥多", "乌苏拉", "维吉尔", "扬尼克", "佐菲亚",
)  # fmt: skip
FAMILY_FOREIGN = (
    "维德马尔", "奎恩比", "托瓦宁", "凯莱门", "罗斯科特", "哈勒贝克", "伊斯特洛", "诺德霍姆", "巴兰廷", "梅里克森", "德拉文", "科尔文斯", "萨博尔齐", "乌尔班诺",
    "费尔南宁", "格伦沃尔", "阿什福思", "林德格罗", "博尔哈斯", "泽莱尼", "卡斯特罗姆", "莫雷蒂诺", "亨德里斯", "皮尔森诺", "瓦尔加什", "约根德", "奥赫兰", "施泰纳赫",
    "特雷瓦斯", "马尔凯维", "伯格隆", "科瓦利克", "德尔马雷", "西尔维耶", "拉斯洛夫", "恩杜库", "奥坎波斯", "塔拉斯克", "贝伦迪", "霍恩比", "克罗夫顿", "鲁萨科斯",
    "斯卡利亚", "图赫尔曼", "伊瓦尔森", "沃伦斯基", "扎赫拉尼", "阿尔岑", "迪亚洛夫", "库佩尔",
)  # fmt: skip
COUNTRY_FIRST = ("塔洛", "埃斯", "卡维", "维兰", "莫拉", "奥尔", "贝尔", "诺瓦", "阿尔", "索利", "伊萨", "雷纳", "格拉", "费罗", "达尔", "桑塔", "乌里", "马洛", "帕尔", "科兰")
COUNTRY_SECOND = ("维亚", "尼亚", "多拉", "马尔", "兰达", "索斯", "里亚", "格纳", "塔尼", "贝克", "斯坦尼", "洛涅", "迪纳", "瓦勒", "佩罗")

ELEGANT_FIRST = tuple("青白苍玄朱素碧霜星云松竹鹤雁鹿麒听望枕衔栖闻观照折扶踏溯含沐疏寒")
ELEGANT_SECOND = tuple("岬舟烛崖麓汐渚原峦弦灯羽砚鸢鲸霄野泉箫榆阁屿穹禾垣澜岫隼鹭翎津枫")
BRAND_FIRST = tuple("澄砾朔霁珩峤昀曜湛翀弈祺铠珀琮烁翊睿衍甬骐瀚垚赫昊恺懿")
BRAND_SECOND = tuple("砾川域桥元迹弧芯羽维合泰岳曜格数源图信力和石帆阵恒通拓")
PAPERS = ("晚报", "晨报", "日报", "时报", "都市报", "新报")
TEAM_WORDS = (
    "雷鸟", "飞鲨", "赤狐", "铁帆", "苍狼", "白鹭", "山魈", "猎隼", "海东青", "火烈鸟", "雪豹", "青牛", "快马", "银杉", "磐石", "北斗", "逐浪", "红杉", "惊鸿",
    "灰鲸", "麋鹿", "金乌", "长弓", "岩羊", "信天翁", "锦鲤", "黑曜", "旋风",
)  # fmt: skip

DIGITS = "零一二三四五六七八九"


def place(rng: random.Random) -> str:
    """Two characters that name no real place, such as 澜堰."""
    while True:
        name = pick(rng, PLACE_FIRST) + pick(rng, PLACE_SECOND)
        if name not in REAL_PLACES:
            return name


def person(rng: random.Random) -> str:
    """Surname and one or mostly two characters, never a character twice."""
    while True:
        name = pick(rng, SURNAMES) + pick(rng, FIRST) + pick(rng, SECOND)
        if len(set(name)) == 3:
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


TITLE_PATTERNS = (
    "{a}{b}", "{a}{b}", "{a}{b}", "{a}{b}", "{a}{b}", "{a}以北", "{a}夜行", "{b}与{a}", "{a}没有回信", "最后一班{v}", "去{a}的路", "{a}纪事",
    "第{n}个{p}", "{a}来客", "{a}无人", "半座{q}", "{p}不眠", "{a}的{p}", "{a}与{p}", "{q}以西", "{p}回乡", "{v}驶过{a}",
)  # fmt: skip
TITLE_A = (
    "雾隐", "盐湖", "旧港", "南坡", "春汛", "白塔", "灯市", "潮间", "雪线", "竹海", "桥下", "屋脊", "石榴巷", "渡口", "长堤", "麦浪", "落霜", "荒渡", "晴川里",
    "乌桕", "青瓦", "梅雨", "海角", "候鸟", "沙丘", "冬至", "芒种", "寒露", "夜航", "陶土", "榆关", "苇荡", "晒场", "槐荫", "墨溪", "碱滩", "松涛", "杏花岭",
    "北窗", "半坡", "远山", "枯荷", "霜降", "茶垄", "风口", "铁岭桥", "马灯巷", "盐井", "柳絮", "银杏", "砖窑", "水碾", "云梯", "石阶",
)  # fmt: skip
TITLE_B = (
    "渡", "灯火", "旅人", "回声", "钟楼", "信使", "星图", "账簿", "守夜人", "琴师", "琥珀", "鱼群", "船歌", "茶馆", "纸鸢", "月台", "铜镜", "影子", "窑火",
    "来信", "邮差", "风筝", "口琴", "候车室", "花匠", "剪票员", "地图", "渔火", "棋局", "潮声", "旧事", "往事", "家书", "夜话", "归途", "秘语", "谜案", "年轮",
    "晚钟", "行板", "备忘录", "三章", "手记", "病历", "食谱", "故人", "烟火", "余烬", "雨季", "残卷",
)  # fmt: skip
TITLE_PERSONS = ("旅人", "信使", "守夜人", "琴师", "邮差", "花匠", "剪票员", "船长", "裁缝", "木匠", "守塔人", "说书人", "摆渡人", "药师")
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
        return han(high) + "万" + (("零" if low < 1000 else "") + han(low) if low else "")
    text, gap = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            text += ("零" if gap else "") + DIGITS[digit] + name
            gap = False
        elif text and number:
            gap = True
    text = text or DIGITS[0]
    return text[1:] if text.startswith("一十") else text


def day(date: dt.date) -> str:
    """3月12日."""
    return f"{date.month}月{date.day}日"


def han_day(date: dt.date) -> str:
    """三月十二日."""
    return f"{han(date.month)}月{han(date.day)}日"
