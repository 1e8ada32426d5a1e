"""Whether an answer declines for lack of information, by phrase, in English and Chinese.

The rule, clause by clause: a statement that the question as a whole cannot be answered (or the official refusal) is a
refusal, unless an answer is expressly given after it ("however, from general knowledge the answer is …"). A gap in
the documents ("they do not mention the date") is a refusal only where no answer came before it and none follows after
a "but". So an answer that also names a gap is no refusal.
"""

import re
from dataclasses import dataclass

from ragstone.metrics._clauses import DOCS_EN, DOCS_ZH, Clause, clauses
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "Refusal", "refusal_spans"]

def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_NOT = r"(?:cannot|can not|can't|could not|couldn't|am unable to|am not able to|was unable to|was not able to)"
_UNABLE = r"(?:(?:^\W*|(?<!\")\b)(?:i|we) (?:\w+ ){0,2}?(?:cannot|can not|can't|could not|couldn't|am unable to|am not able to|are unable to|was unable to|do not|don't|did not|didn't))"
_NO_INFORMATION = r"(?:insufficient|not enough|not sufficient|inadequate|lack of|lacks?|lacking|a lack of|no sufficient|too little)"
_ANSWER_EN = r"(?:answer|help|respond to|reply to|provide (?:you (?:with )?)?(?:an?|the|any)(?: \w+){0,2} (?:answer|response)|give (?:you )?(?:an?|the|any)(?: \w+){0,2} (?:answer|response)|form an answer)"
_FIND_OUT = (
    r"(?:determine|identify|find|locate|tell|say|confirm|conclude|infer|ascertain|verify|establish|provide|specify|state|give|deduce|derive|extract|know|see|have)"
)
_TELL = (
    r"(?:mention|specify|state|say|provide|contain|include|give|indicate|address|discuss|answer|have|offer|reveal|tell|cover|identify"
    r"|list|disclose|show|explain|name|describe|confirm|clarify|report|refer|present|supply|directly|explicitly|specifically|clearly|actually)"
)
_TOLD = r"(?:mentioned|specified|stated|indicated|given|provided|included|found|available|discussed|addressed|listed|identified|answered|contained|disclosed|revealed|present|covered|clear)"

# The question as a whole is not answered.
_WHOLE_EN = _any(
    rf"{_UNABLE} (?:\w+ )??{_ANSWER_EN}\b",
    rf"^\W*(?:sorry\W+|therefore\W+|thus\W+|so\W+|unfortunately\W+)*(?:unable|not able|impossible) to {_ANSWER_EN}\b",
    rf"\b(?:it(?:'s| is) (?:not possible|impossible)|it isn't possible)(?: for me)? to {_ANSWER_EN}\b",
    rf"\b(?:the|this|your|that) (?:question|query) (?:\w+ ){{0,2}}?(?:can(?:no| no|')t|can not|could not|is unable to|is impossible to|is not possible to) (?:be )?answer",
    rf"\b(?:the|this) (?:question|query) (?:is|remains) (?:unanswerable|unanswered|not answerable|not answered)",
    rf"(?:\b{_NO_INFORMATION}|n't (?:enough|sufficient)) (?:\w+ ){{0,2}}?(?:information|context|evidence|details?|data)\b[^.]*\b(?:answer|documents?|passages?|texts?|context|provided|given|determine)",
    rf"^\W*(?:(?:due to|because of|there is|sorry|i have|given|with|the|answer)\W+)*{_NO_INFORMATION} (?:\w+ )?information\b",
    rf"\b(?:information|context|evidence|data|documents?|passages?)\b[^.]{{0,30}}\b(?:is|are) (?:insufficient|inadequate|not enough|not sufficient|not adequate|too limited)",
)
# Something is not in the documents, or not known.
_GAP_EN = _any(
    rf"{_UNABLE} (?:\w+ )?{_FIND_OUT}\b",
    rf"^\W*(?:sorry\W+|therefore\W+|thus\W+|so\W+|unfortunately\W+)*(?:unable|not able|impossible|not possible) to {_FIND_OUT}\b",
    rf"\bit(?:'s| is) (?:not possible|impossible|unclear|not clear|unknown|not known)(?: for me)? (?:\w+ )?(?:to {_FIND_OUT}|from |based on|in |what|who|when|where|which|how|whether)",
    rf"\bthere is no way (?:for me )?(?:to|of) (?:{_FIND_OUT}|telling|knowing|determining)",
    rf"\b(?:can(?:no| no|')t|can not) be (?:\w+ly )?(?:determined|answered|found|inferred|identified|ascertained|confirmed|established|verified|concluded|deduced|known|derived)",
    rf"\b(?:could not|couldn't) be (?:\w+ly )?(?:determined|answered|found|inferred|identified)\b[^.]*\b(?:from|in|based on|with|by) {DOCS_EN}",
    rf"(?:{DOCS_EN}|\b(?:they|it|which|that)(?= (?:do|does|did|don't|doesn't|didn't|also)))(?: (?:also|only|itself|themselves|here|i have))? (?:do not|does not|don't|doesn't|did not|didn't|fails? to|failed to|never|neither|cannot|can not|can't) (?:\w+ly |even |appear to |seem to )?{_TELL}",
    rf"^\W*(?:do not|does not|don't|doesn't|did not|didn't|not) (?:\w+ly |even )?{_TELL}\b",
    rf"^\W*(?:none|neither|nothing)\b[^.]*\b(?:documents?|passages?|texts?|context|articles?|sources?|information|them)\b",
    rf"^\W*no (?:\w+ ){{0,2}}?(?:documents?|passages?|texts?|articles?|sources?) (?:\w+ly )?(?:{_TELL}s?\b|answers|addresses|discusses|specifies)",
    rf"\b(?:there (?:is|are|was|were)|there's|i (?:see|find|found|have|could find|can find)|(?:contains?|provides?|includes?|gives?|offers?|has|have|makes?|with)(?= no)) (?:no|not any|n't any|nothing) (?:\w+ ){{0,3}}?(?:information|mention|reference|details?|specifics?|answer)\b",
    rf"^\W*(?:(?:unfortunately|sorry)\W+)?no (?:\w+ ){{0,2}}?(?:information|mention|answer|details?|data|reference)\b[^.]*(?:\b(?:is|are|was|were|provided|given|available|found|in|about|on)\b|$)",
    rf"\bthere (?:is|are) (?:no|not any) (?:\w+ ){{0,3}}?(?:evidence|indication|record|data|answer|statement|passages?|documents?)\b[^.]*(?:{DOCS_EN}|\bthat (?:answers?|mentions?|states?|specif))",
    rf"\b(?:is|are|was|were|be|has been|have been)(?: not|n't) (?:\w+ly )?{_TOLD}\b[^.]*?\b(?:in|by|within|from|among|anywhere in|based on|according to) (?:{DOCS_EN}|(?:documents?|passages?|context|texts?)\b)",
    rf"\b(?:is|are|was|were|has been|have been)(?: not|n't) (?:(?:explicitly|specifically|directly|clearly|even) )?(?:mentioned|specified|stated|indicated)(?=\W*$| (?:here|anywhere|directly|explicitly))",
    rf"(?:^\W*|(?<!\")\b)(?:i (?:do not|don't|did not|didn't) (?:\w+ly )?(?:know|have|see|find)|i am (?:not sure|unsure|not certain)|i'm (?:not sure|unsure|not certain|unable|not able)|i have no (?:idea|information|knowledge|way))\b",
    rf"\b(?:is|are|remains?) (?:unclear|unknown|unspecified|not known|not clear|undetermined)\b[^.]*\b(?:from|in|based on|given|by|according to) (?:{DOCS_EN}|what)",
    rf"\bnot (?:\w+ly )?{_TOLD} (?:in|by|within) {DOCS_EN}",
    r"\band (?:do not|does not|don't|doesn't) (?:\w+ly )?(?:answer|mention|specify|provide|contain|address) (?:\w+ ){0,2}(?:question|information|answer)\b",
)
_ONLY_EN = re.compile(
    r"\W*(?:the answer is |answer: ?)?(?:unknown|not (?:mentioned|specified|stated|provided|given|available|known|found|answerable|clear|sure)"
    r"|no (?:answer|information|idea|mention)|n/a|unanswerable|unclear|undetermined|unspecified|insufficient(?: data| context| evidence)?"
    r"|cannot (?:answer|say|tell|be determined)|none of the above|not in the (?:documents?|context|passages?|text))\W*"
)

_LEAD_ZH = (
    # Atomic: its words can be cut in several ways, and none is worth a second try.
    r"(?>(?:因此|所以|故而|故|从而|抱歉|对不起|不好意思|很遗憾|遗憾的是|我们|我|本人|本助手|作为ai|目前|暂时|暂|也|都|仍然|仍|还是|还|并|均|就|而|但|从|由于|由|根据|基于|依据|按照|通过|在|以上|以|上述"
    r"|这些|这个|这|该|此|本|给定|给出|提供|所给|已有|已知|现有|有限|的|和|" + DOCS_ZH + r"|信息|内容|参考|外部|中|里|来看|来说|仅|只|凭|当前|您|你|提出|问题|准确|确切|明确|直接|完全|可靠|\s|[\d\"'“”])*)"
)
_START_ZH = r"(?:^\W*" + _LEAD_ZH + ")"
_CANNOT_ZH = r"(?:无法|不能|没法|难以|没有办法|没办法|不可能|未能|无从|不足以)"
_LITTLE_ZH = r"(?:不足|不够|不充分|不充足|有限|缺失|不全|不完整|匮乏)"
_WHOLE_ZH = _any(
    rf"{_START_ZH}{_CANNOT_ZH}[^,.。;!?]{{0,16}}?(?:回答|作答|解答|答复|给出[^,。]{{0,10}}(?:答案|回答|答复|结论)|提供[^,。]{{0,10}}(?:答案|回答|答复)|得出[^,。]{{0,8}}(?:答案|结论))",
    rf"(?:问题|提问){_LEAD_ZH}{_CANNOT_ZH}(?:\w{{0,6}})(?:回答|作答|解答)",
    rf"(?:文档|资料|材料|文本|上下文|提供的|给定的|现有的?|相关|有关|^)(?:的|中的?|里的?)?信息(?:严重|并|都|均|还|仍|尚)?{_LITTLE_ZH}",
    rf"(?:因|因为|由于|鉴于)[^,。]{{0,12}}信息{_LITTLE_ZH}",
    rf"(?:没有|缺乏|缺少|并无|无)(?:\w{{0,4}})?(?:足够|充分|充足)的?\w{{0,4}}(?:信息|资料|内容|依据|证据|数据)",
    rf"(?:信息|资料|内容|文档)\w{{0,6}}不足以\w{{0,6}}(?:回答|确定|判断|支持|得出|说明)",
)
_TELL_ZH = r"(?:提及|提到|提供|说明|给出|包含|涉及|指出|显示|记载|披露|透露|介绍|写明|指明|阐述|描述|列出|包括|回答|明确|表明|告知|交代|公布|找到|查到|发现|看到|说到|谈到|论及|记录|讲|说|写)"
_KNOW_ZH = r"(?:确定|得知|判断|确认|获知|获悉|知道|知晓|找到|查到|找出|得出|推断|推测|推知|提供|给出|了解|断定|核实|证实|查证|看出|获得|获取|识别|做出|作出|说明|准确|给您|告诉|告知|知|从)"
_GAP_ZH = _any(
    rf"{_START_ZH}{_CANNOT_ZH}(?:\w{{0,6}}?){_KNOW_ZH}",
    rf"{_START_ZH}(?:无从得知|不得而知|无从知晓|不知道|不清楚|不确定|不了解|不太清楚|不知|没有答案|没有找到|没找到|找不到|未找到|未能找到|查不到|未查到)",
    rf"{DOCS_ZH}[^,.。;!?]{{0,24}}?(?:没有|未能?|并未|并没有|没|不曾|从未|尚未|不)(?:被|有|能|明确|直接|具体|详细|任何|清楚|地|单独|专门|进一步|再|曾|予以|进行|关于|相关|对此|其|\s){{0,4}}{_TELL_ZH}",
    rf"{DOCS_ZH}[^,.。;!?]{{0,24}}?(?:没有|并无|无|缺乏|缺少|不含|不包含|未包含|找不到|没找到|不存在|未见|没有任何|不涉及)[^,。;!?]{{0,30}}(?:信息|内容|答案|数据|记录|资料|说明|描述|提及|线索|记载|介绍|报道|细节)",
    rf"{DOCS_ZH}[^,.。;!?]{{0,24}}?(?:与|和|同)[^,。;!?]{{0,24}}(?:无关|不相关|没有关系|没有关联)",
    rf"^\W*(?:其中|里面|都|均|也|并|还|但|且|具体|{_LEAD_ZH})?(?:没有|未|并未|并没有|没|均未|都未|也未|暂未|尚未)(?:被|明确|直接|具体|详细|任何|清楚|地|关于|相关){{0,3}}(?:提及|提到|说明|涉及|给出|提供|包含|明确|指出|找到|记载|披露)",
    rf"^\W*(?:{_LEAD_ZH})?(?:没有|并无|暂无|无|缺乏|缺少|未找到|找不到|没有找到)(?:任何|相关|有关|关于|足够|明确|确切|准确|具体|直接|可用|与)[^,。;!?]{{0,30}}(?:信息|内容|答案|数据|记录|资料|说明|描述|提及|线索|记载)",
    rf"答案\w{{0,4}}(?:不在|没有在){DOCS_ZH}",
    rf"(?:答案|具体\w{{0,6}}|信息|情况|时间|日期|地点|人数|数据|内容|结果|问题)(?:在\w{{0,12}})?(?:没有|未|并未|并没有|均未|都未|尚未|暂未)(?:被|在\w{{1,10}}中|明确|直接|具体){{0,3}}(?:提及|提到|说明|给出|提供|包含|指出|体现)",
)
_ONLY_ZH = re.compile(
    r"\W*(?:答案[是为:]?\s*)?(?:未知|未提及|未提到|未说明|不知道|不清楚|不确定|无法确定|无法回答|无法得知|不得而知|没有答案|无答案|无|无相关信息"
    r"|没有相关信息|没有提到|没有提及|无法判断|信息不足|暂无(?:相关)?信息|不详|没有)\W*"
)

# A clause that answers nothing: politeness, where it was looked, the question said again, what the documents are about.
_EMPTY_EN = _any(
    rf"^\W*(?:i(?:'m| am) sorry|sorry|apologies|i apologi[sz]e|unfortunately|as an ai|note|please|if you|i (?:have )?(?:read|reviewed|checked|searched|looked|would|recommend|suggest|can only)|you (?:may|can|could|might|should)|let me|feel free|to (?:answer|find|determine)|more information|additional|further|it (?:is|would be) (?:recommended|best|advisable|necessary|helpful)|we (?:would )?need|thank|hello|hi\b|question:|based on (?:the|these|this)[^,]*,?\W*$|according to (?:the|these|this)[^,]*,?\W*$|after (?:reading|reviewing|checking)[^,]*\W*$)",
    rf"\?\W*$",
    rf"^\W*(?:(?:based on|according to|from|in) )?(?:{DOCS_EN}|they|it|document \d+)(?: (?:that|which) (?:i|you|we|were|was|are|is) \w+)?,?(?: (?:do|does|all|only|mainly|mostly|primarily|also|just|seem to|appear to|briefly|each))* (?:discuss|talk|mention|contain|provide|describe|cover|refer|are about|is about|focus|include|list|deal|relate|concern|are related|is related|are not relevant|is not relevant|are irrelevant|touch|offer|give)\w*\b(?! that\b)",
)
_EMPTY_ZH = _any(
    rf"^\W*(?:抱歉|很抱歉|非常抱歉|对不起|不好意思|很遗憾|遗憾|请|如果|如需|若|建议|您可以|你可以|希望|谢谢|感谢|您好|你好|作为|关于|对于|至于|针对|就|需要更多|需要进一步|我已|经过|以便|以获取|可以参考|可参考|因此$|问题[:是])",
    rf"^\W*(?:根据|基于|依据|按照|从|在|通过|由于|结合|阅读|查阅|因为|鉴于){_LEAD_ZH}(?:可知|可以看出|分析|来看|判断|可以得知|得知)?\W*$",
    rf"(?:谁|什么|哪|多少|几|何时|何地|如何|是否|吗|\?)",
    rf"^\W*{_LEAD_ZH}(?:主要|只|仅|仅仅|都是?|均|大多|也)?(?:是|在)?(?:讨论|介绍|涉及|关于|围绕|提到|提及|谈到|描述|讲述|包含|提供|谈论|聚焦|集中)",
    rf"^\W*(?:其他|其它|部分|虽然|尽管)?(?:{DOCS_ZH}|它们|其)[^,。]{{0,12}}(?:讨论|介绍|涉及|关于|围绕|提到|提及|谈到|描述|讲述|主要|与[^,。]*有关|相关)",
)
# After a refusal of the whole question, only this is an answer all the same.
_ANSWERS = re.compile(
    r"\bthe (?:correct |most likely |likely |best )?answer (?:is|would be|should be|could be)\b|\b(?:general|own|background|prior|common|my|external) (?:\w+ )?knowledge\b"
    r"|\b(?:it )?(?:can|could|may|might) be (?:inferred|deduced|concluded|assumed) that\b|\b(?:most )?likely\b|\bi believe\b|\bmy best guess\b|\bas far as i know\b"
    r"|(?:正确)?答案(?:应该|可能|应)?[是为]|根据(?:我的|一般|已有|常识|公开)\w{0,4}(?:知识|了解|常识|信息)|据我所知|可以推断|可以推测|常识"
)
# Nobody declines after this many characters of one clause; it bounds the time that any answer can take.
_LONGEST = 600
_TITLE = re.compile("《[^《》]{1,60}》")
_LETTERS = re.compile(r"\w")


def refusal_spans(answer: str) -> list[tuple[int, int]]:
    """Where `answer` declines for lack of information, as (start, end); [] if it does not decline."""
    spans: list[tuple[int, int]] = []
    answered = given_after_all = False
    declined = ""
    for clause in clauses(answer):
        kind, start, end = _kind(clause)
        if (kind == "whole" and not given_after_all) or (kind == "gap" and not answered):
            declined = "whole" if "whole" in (kind, declined) else "gap"
            spans.append(clause.span(start, end))
        elif kind == "statement":
            expressly = _ANSWERS.search(clause.text) is not None
            if not declined or expressly or (declined == "gap" and clause.contrast):
                given_after_all = given_after_all or bool(declined)
                answered, declined, spans = True, "", []
    return spans


def _kind(clause: Clause) -> tuple[str, int, int]:
    """What a clause does: "whole" (declines), "gap", "empty" or "statement", and where its words for it stand."""
    # What stands in title marks is a name: 《不知道》 is a song.
    text = _TITLE.sub(lambda title: "某" * len(title.group()), clause.text[:_LONGEST])
    for only in (_ONLY_EN, _ONLY_ZH):
        if found := only.fullmatch(text):
            return ("gap", *found.span())
    for kind, patterns in (("whole", (_WHOLE_EN, _WHOLE_ZH)), ("gap", (_GAP_EN, _GAP_ZH))):
        for pattern in patterns:
            if found := pattern.search(text):
                return (kind, *found.span())
    if not _LETTERS.search(text) or _EMPTY_EN.search(text) or _EMPTY_ZH.search(text):
        return "empty", 0, 0
    return "statement", 0, 0


@dataclass(frozen=True)
class Refusal:
    """`refusal`: 1.0 if the answer declines for lack of information, else 0.0.

    Needs the answer. Decided by phrase and by where in the answer the phrase stands (see the module). Evidence:
    {"spans": [[start, end], …]}, the words that decline. The default counterpart of the phrase test of Chen et al.
    2024, which knows one wording a language.
    """

    name: str = "refusal"
    version: int = 1
    needs: frozenset[Need] = frozenset({Need.ANSWER})

    def score(self, case: Case, response: Response, /) -> Score:
        spans = refusal_spans(response.answer)
        return Score.of(bool(spans), evidence={"spans": [list(span) for span in spans]})


PLUGINS = {"refusal": Refusal()}
