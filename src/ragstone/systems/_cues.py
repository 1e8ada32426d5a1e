"""What a question asks for, by its words, and how a sentence that answers it looks. For `local/extractive`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragstone.text.characters import vocabulary

__all__ = ["Cues", "cues", "rumour"]


@dataclass(frozen=True)
class Cues:
    """`stop`: words that say nothing of the topic. `asking`: (what the question says, what its answer looks like,
    "number" or "name")."""

    stop: frozenset[str]
    drop: re.Pattern[str]
    asking: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]


_NUMBER = r"(?<![a-z])\d[\d.,]*"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DATE = rf"(?:{_MONTH} \d|\d{{1,2}} (?:of )?{_MONTH}|\d{{4}}-\d\d?-\d\d?|(?<!\d)(?:19|20)\d\d(?!\d))"
_MONEY = rf"(?:[$€£¥]\s?\d|{_NUMBER} ?(?:dollars|euros?|pounds|yuan|crowns|million|billion))"
_NUMBERS_EN: Sequence[tuple[str, str]] = (
    (r"\b(?:percentage|share|proportion|per ?cent|rate)\b", rf"{_NUMBER} ?(?:%|per ?cent|percentage)"),
    (r"\bhow (?:many|large|big)\b|\bnumber of\b|\bdeath toll\b|\bcasualties\b", _NUMBER),
    (r"\bhow much\b|\b(?:price|cost|revenue|profit|earn|loss|sales|sum|prize money|gross|turnover)", rf"{_MONEY}|{_NUMBER}"),
    (r"\b(?:what|which) year\b", r"(?<!\d)(?:19|20)\d\d(?!\d)"),
    (r"\bwhen\b|\bdate\b|\bwhat day\b", _DATE),
    (r"\bhow (?:long|far|high|tall|fast|old|heavy|deep)\b|\b(?:magnitude|score|length|height|weight|mass)\b", _NUMBER),
)  # fmt: skip
_NAMES_EN: Sequence[tuple[str, str]] = (
    (r"\bwho (?:won|win|was the winner|is the winner)|\bwinners?\b|\bwhich (?:team|club|country|movie|film|player|candidate)\b.*\bw[io]n",
     r"\b(?:won|wins?|winners?|winning|champions?|victory|victorious|beat|beats|defeat\w*|triumph\w*|titles?|trophy|crowned|awarded|claimed|elected|took)\b"),
    (r"\bdirect(?:ed|or|s)\b", r"\bdirect|\bfilm by\b|\bhelmed\b|\bfilmmaker\b"),
    (r"\b(?:ceo|chief executive|president|chair\w*|head|minister|mayor|leader|boss)\b", r"\b(?:ceo|chief|president|chair\w*|head\w*|minister|mayor|leads?|appointed|named|elected|became)\b"),
    (r"\bwho (?:acquired|bought|purchased|took over)", r"\b(?:acquir\w+|acquisition|bought|buys?|purchas\w+|takeover|took over|deal)\b"),
    (r"\bwho (?:plays?|played|stars?|starred|is starring|will be playing)|\b(?:actor|actress|role|starring)\b", r"\b(?:play\w*|star\w*|role|cast|portray\w*|lead)\b"),
    (r"\bwho (?:wrote|founded|designed|invented|composed|painted|discovered|built|made)\b", r"\b(?:by|wrote|written|founded|founder|design\w*|invent\w*|compos\w*|paint\w*|discover\w*|built|made)\b"),
    (r"\bawarded\b|\breceived?\b|\bprize\b", r"\b(?:award\w*|prize|won|received?|goes|went|honou?r\w*|laureate)\b"),
    (r"\bwhere\b|\blocation\b|\bwhich (?:city|town|country|place|venue)\b|\bhosted?\b", r"\b(?:in|at|host\w*|held|venue|city|stadium|took place)\b"),
)  # fmt: skip
_ZH_DATE = r"\d{1,2}月\d{1,2}日|\d{1,2}月|\d{4}年|\d{1,2}日|星期|周[一二三四五六日]|\d{1,2}[时点:]"
_NUMBERS_ZH: Sequence[tuple[str, str]] = (
    (r"死亡人数|死亡多少|遇难|丧生|死了", r"\d+多?余?[人名][^。]{0,12}(?:死亡|遇难|丧生|身亡|罹难)|(?:死亡|遇难|丧生|身亡|罹难|死者)[^。]{0,12}\d+多?余?[人名]?"),
    (r"(?:率|比例|占比|百分之|涨幅|增幅|增速)(?:是|为|达|有|$|\?|多少)|增长了?多少|上涨了?多少|同比|得票率|支持率", r"\d[%‰]|个百分点"),
    (r"票房", r"\d+(?:\.\d+)?(?:元|美元)?|亿|万"),
    (r"多少(?:钱|元|美元|万|亿)|售价|价格|起价|定价|营收|收入|利润|总额|净利|金额|奖金|罚款?了?|逃税|gdp", r"\d[\d.]*(?:元|美元|欧元|多?元)|\d{5,}|\d[\d.]*[万亿]"),
    (r"多少[吨斤]|产量", r"\d[\d.]*(?:吨|斤|公斤|桶)"),
    (r"哪一?年|何年|什么年", r"(?<!\d)\d{4}年"),
    (r"什么时候|何时|时间|日期|哪一?天|几月|几号|几日|什么日子|多会儿", _ZH_DATE),
    (r"多久|多长|几天|多少天|几年|多少年|判", r"\d[\d.]*(?:年|天|个月|小时|分钟|日|秒|米|公里)"),
    (r"多少(?P<unit>\w)|几(?P<unit2>[人名位个只条场次枚块届级层辆架座艘家支金银铜])|人数|规模|数量|席位|震级|保有量|人次|几强|成绩", r"\d"),
)  # fmt: skip
_NAMES_ZH: Sequence[tuple[str, str]] = (
    (r"冠军|谁赢|夺冠|获胜|胜者|优胜|赢得|哪支?队|胜出|金牌得主|得主|当选", r"冠军|夺冠|夺得|捧杯|捧起|摘得|摘金|战胜|击败|获胜|胜出|折桂|登顶|问鼎|金牌|赢得|当选|获得|得主|拿下|封王"),
    (r"导演|执导", r"导演|执导"),
    (r"编剧", r"编剧|剧本|撰写"),
    (r"主演|谁演|演的谁|饰演|出演|扮演|男主|女主", r"主演|饰|出演|扮演|领衔|演绎"),
    (r"首席|ceo|董事长|总裁|主席|总统|总理|市长|部长|首相|会长|行长|负责人|掌门", r"任|担任|出任|接任|当选|首席|董事长|总裁|主席|总统|总理|市长|部长|首相|会长"),
    (r"哪里|哪儿|地点|举办地|举行地|在哪|起点|终点|哪个?(?:城市|国家|省|市|地方)|何地|总部|位于", r"在|于|位于|落户|举办|举行|主办|起点|起源|抵达|召开|开幕"),
    (r"谁|哪位|何人|叫什么", r"[^,。]{0,10}(?:说|表示|是|由|为|名叫|获|被|任)"),
    (r"原因|为什么|为何", r"因|由于|导致|原因|造成"),
    (r"主题|口号|名字|名称|吉祥物", r"[“《\"「]|主题|口号|名为|叫|命名"),
)  # fmt: skip
_RUMOUR = {
    "en": re.compile(
        r"\b(?:rumou?r\w*|expect(?:ed|s)? to|is expected|reportedly|may|might|could|speculat\w*|unconfirmed|predict\w*|forecast\w*|tipped"
        r"|favou?rites?|ahead of|will|bookmakers?|supposed\w*|allegedly|gossip|guess\w*|bets?|odds|not yet|before the|hop(?:es?|ed|ing)|would)\b"
    ),
    "zh": re.compile(
        r"传闻|据传|预计|预测|或将|可能|有望|尚未|将于|猜测|网传|未经证实|爆料|预告|流传|传言|估计|小道|听说|料将|拟|看好|押注|赔率|悬念|揣测|倘若|如果|即将|还没|未定|将在|据说|呼声|盘口"
    ),
}
_STOP_EN = (
    "a an the of in on at by for to from with and or as is are was were be been being has have had do does did will would"
    " can could may might must shall should it its this that these those there their they he she his her him them who whom"
    " whose what which when where why how many much s t not no so than then after before into over also new name named"
    " date year time take took place"
)
_DROP_ZH = (
    r"请问|多少|什么时候|什么|何时|哪一年|哪一天|哪一|哪些|哪里|哪儿|哪个|哪位|哪家|哪支|哪部|哪|谁|几|为何|为什么|如何|怎么|是否|吗|呢|分别|的时间|时间|的|了|是|在|有|和|与|及"
)


@lru_cache(maxsize=2)
def cues(language: str) -> Cues:
    """The cues of "en" or "zh", compiled."""
    numbers, names = (_NUMBERS_EN, _NAMES_EN) if language == "en" else (_NUMBERS_ZH, _NAMES_ZH)
    asking = (("number", numbers), ("name", names))
    return Cues(
        vocabulary(_STOP_EN) if language == "en" else frozenset(),
        re.compile(r"$^") if language == "en" else re.compile(_DROP_ZH),
        tuple((re.compile(question), re.compile(answer), kind) for kind, rows in asking for question, answer in rows),
    )


def rumour(language: str) -> re.Pattern[str]:
    """Words of what is expected, wished or whispered, and not reported as a fact."""
    return _RUMOUR[language]
