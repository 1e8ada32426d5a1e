"""`local/template`: writes and checks by rules, so that a construction runs without a model.

It takes sentences with a number, and definitions ("X is a …", “X是…”), for facts. It asks for the missing words of a
sentence, or what X is, and answers by looking the sentence up. The questions show that the path works; they say little
about a system, because whoever finds the sentence has the answer. A definition says a little more: its question has
none of the sentence's words but the name. It writes no question for a type that takes other wording: a situation, or a
remark that distracts."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from ragstone.errors import Rejected
from ragstone.text import detect, estimate_tokens, find_answer, sentences
from ragstone.text.quotes import find_quote
from ragstone.types import Completion, Request, Usage

_NUMBER_FORM = r"(?:\d[\d.,:]*\d|\d)"
_RANGE = rf"{_NUMBER_FORM}(?:\s?[-–—~～/]\s?{_NUMBER_FORM})*"
_MONTH = "(?:" + "|".join((
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)) + ")"  # fmt: skip
_ORDINAL = r"\d+(?:st|nd|rd|th)"
_UNIT_EN = (
    r"(?:(?:square|cubic|working|calendar)\s)?(?:"
    r"(?:milli|micro)?seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|"
    r"euros?|dollars?|pounds?|francs?|crowns?|yuan|yen|cents?|percent|per\scent|"
    r"(?:kilo|milli)?grams?|tonnes?|tons?|(?:kilo|centi|milli)?met(?:re|er)s?|miles?|feet|inch(?:es)?|hectares?|"
    r"(?:milli)?lit(?:re|er)s?|degrees|(?:kilo|mega)?watts?|volts?|"
    r"km|cm|mm|kg|mg|ml|kW|MW|kB|KB|MB|GB|TB|Hz|MHz|GHz|ms|EUR|USD|GBP|CNY|°C|°F|[ap]m|[gmh]"
    r")(?:/[a-z]+|\sper\s[a-z]+)?(?![\w-])|%|‰|[ap]\.m\."
)
_SCALE_EN = r"(?:\s?(?:hundred|thousand|million|billion|trillion)\b)?"
_UNIT_ZH = (
    r"年(?![级度])代?|个(?:半)?月|个?工作日|个?小时|个?星期|分钟|秒钟?|毫秒|周(?![年边围期])|天(?![线气然])|"
    r"岁|夜|(?:欧|美|日|港|澳)元|元(?![素件旦])|英镑|法郎|克朗|毫克|千克|公斤|克(?![隆服拉])|吨|"
    r"(?:平方|立方)?(?:公里|千米|厘米|毫米|米(?![饭粉]))|公顷|海里|毫升|升(?![级至到])|摄氏度|度(?![假过])|"
    r"千瓦|瓦|伏|倍|°C|%|‰|点(?:钟|半)?(?!击)|时(?![间刻代])|[a-zA-Z]{1,3}(?:/[a-z])?(?![a-zA-Z])"
)
_AMOUNT = {
    "en": re.compile(
        rf"(?<![\w.,:/-])(?:[$€£¥]\s?{_RANGE}{_SCALE_EN}|{_RANGE}{_SCALE_EN}\s?(?:{_UNIT_EN}))(?!\w|-\w)", re.ASCII
    ),
    "zh": re.compile(
        r"(?<![\w.,:/-])(?!\d{4}\s?年)(?:\d{1,2}\s?[时点]\s?\d{1,2}\s?分"
        rf"|[$€£¥￥]\s?{_RANGE}\s?[万亿]?|{_RANGE}\s?[百千万亿]{{0,2}}\s?(?:{_UNIT_ZH}))",
        re.ASCII,
    ),
}
_DATE = {
    "en": re.compile(
        rf"(?<![\w.,:/-])(?:{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?|{_MONTH}\s\d{{4}}"
        rf"|(?:\d{{1,2}}|{_ORDINAL})(?:\sof)?\s{_MONTH}(?:,?\s\d{{4}})?)(?!\w|-\w|\s—)",
        re.ASCII,
    ),
    "zh": re.compile(
        r"(?<![\w.,:/-])(?:\d{4}\s?年(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?[日号])?)?(?![级度代\d])"
        r"|\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{1,2}\s?月(?!\s?\d)|\d{1,2}\s?日)(?![讯电]|消息)",
        re.ASCII,
    ),
}
_BARE = {
    "en": re.compile(rf"(?<![\w.,:/-])(?:{_ORDINAL}|{_RANGE}{_SCALE_EN})(?!\w|-\w|\s?%|\s{_MONTH})", re.ASCII),
    "zh": re.compile(rf"(?<![\w.,:/-]){_RANGE}(?:\s?[百千万亿]{{1,2}})?(?![a-zA-Z%]|\s?[号型代年月日])", re.ASCII),
}
# "Heron 3" and "No. 7" are names; a number after a sentence's first word is not, if that word is one of these.
_NAMED = re.compile(r"(?:\bNo\.|\b[A-Z][\w’'-]*)\s$")
_NOT_NAMES = frozenset((
    "a", "about", "above", "after", "all", "almost", "and", "another", "around", "as", "at", "before", "below",
    "between", "but", "by", "during", "every", "exactly", "for", "from", "in", "its", "just", "nearly", "of", "on",
    "only", "or", "over", "since", "some", "than", "the", "their", "these", "those", "through", "to", "until",
    "under", "up", "with", "within",
))  # fmt: skip
_HEADING = {  # no statement: it only announces or dates one
    "en": re.compile(r".*:|[^,]+(?:, [^,]+)?, (?:\d+ )?[A-Z][a-z]+ \d{4}\.?|\w+ [A-Z][a-z]+ \d+, \d{4}\.?"),
    "zh": re.compile(r".*[：:]|\d[\d年月日 ]+\s.*"),
}
TEMPLATE_MODEL = "local/template"
_GAP = {"en": "_____", "zh": "＿＿＿"}
_STOP = {"en": ".", "zh": "。"}
_ASK = {"en": "Fill in the blank ({subject}): {text}", "zh": "填空（{subject}）：{text}"}
_ASK_ALONE = {"en": "Fill in the blank: {text}", "zh": "填空：{text}"}
_GO_ON = {"en": "And in this one: {text}", "zh": "那么这一句：{text}"}
_THIS = {"en": "this one", "zh": "这一句"}
_AGAIN = {
    "en": ("About {subject}: which words are missing in “{text}”?", "{subject}: complete the sentence “{text}”."),
    "zh": ("关于{subject}：“{text}”中缺少哪些字？", "{subject}：把句子“{text}”补充完整。"),
}
_NUMBER = re.compile(r"\d[\d.,:]*\d|\d", re.ASCII)
_OTHER = dict(zip("0123456789.,:", "7351926804.,:", strict=True))  # another digit for each
_MOST = 3  # facts of a passage
_WORDED = ("distracting", "situation")  # types of questions that no rule words
# What a sentence says that something is. Pronouns and times define nothing, nor does 是…的, which stresses something.
_IS = {
    "en": re.compile(
        r"(?:(?:The|An?)\s)?"
        r"(?P<name>(?!(?:It|This|That|There|These|Those|He|She|We|They|You|I|What|Who)\b)[A-Z][\w'’-]*(?:\s[\w'’-]+){0,3})"
        r"\s(?:is|are)\s(?P<value>an?\s[^.;:!?]{8,160})[.!]?"
    ),
    "zh": re.compile(
        r"(?P<name>(?![这那它他她其此我你您])[^，。；：、！？“”（）是的每周日月年时\s]{2,12})"
        r"是(?P<value>(?![否不由在从因为\s\d])(?=[^，。；：！？]*(?:的|一[个种家座款类]))[^，。；：！？]{5,80}(?<!的))(?:，[^。]*)?[。！]?"
    ),
}
# Before a statement: the number of a list, who speaks, a dateline. And what a statement begins with that only its
# neighbours explain.
_LEAD = re.compile(
    r"(?:[AQ]:|\d+\.|[-*•])\s+|(?:By\s)?(?:[A-Z(\d][\w’'.,()-]*\s){1,6}—\s|"
    r"（[一二三四五六七八九十\d]+）|[一二三四五六七八九十]+、|【[^】]*】|"
    r"(?:[^，。；]{2,20}\d月\d{1,2}日(?:[讯电]|消息)|本报(?:快讯|讯))(?:（[^）]*）)?[\s，：]*"
)
_POINTS_BACK = re.compile(r"(?:It|Its|They|Their|He|His|She|Her|This|That|These|Those|There)\b|[它他她其该这那此]")
_DEFINITION = {"en": "definition", "zh": "定义"}
_WHAT = {"en": "What is {name}?", "zh": "什么是{name}？"}
_WHAT_AGAIN = {
    "en": ("How is {name} defined?", "Explain in a sentence what {name} is."),
    "zh": ("{name}是什么？", "请用一句话解释{name}。"),
}


def cloze_value(sentence: str) -> tuple[int, str] | None:
    """Where the value begins that a cloze of the sentence asks for, and the value; None if it has none. An amount is
    preferred to a date, and both to a bare number, which often only says which thing is meant ("the flood of 1977
    lasted 3 days")."""
    language = detect(sentence)
    if _HEADING[language].fullmatch(sentence):
        return None
    for patterns in (_AMOUNT, _DATE, _BARE):
        for start, value in _found(patterns[language], sentence):
            if sentence.count(value) == 1:
                return start, value
    return None


def _found(pattern: re.Pattern[str], sentence: str) -> Iterator[tuple[int, str]]:
    """The matches that are no part of a name."""
    for match in pattern.finditer(sentence):
        named = _NAMED.search(sentence[: match.start()]) if match[0][0].isdigit() else None
        if named is None or named[0].strip().casefold() in _NOT_NAMES:
            yield match.start(), match[0]


class TemplateModel:
    """A `types.Model` that replies to the steps of a construction by rules."""

    id = TEMPLATE_MODEL

    async def generate(self, request: Request, /) -> Completion:
        """The reply of the step that the request's schema names. Raises Rejected for any other request."""
        rule = _RULES.get(request.schema_name)
        if rule is None:
            raise Rejected(f"{self.id} does not reply to the step {request.schema_name!r}; name a chat model.")
        text = json.dumps(rule(json.loads(request.messages[-1].content)), ensure_ascii=False)
        prompt = sum(estimate_tokens(turn.content) for turn in request.messages)
        usage = Usage(prompt_tokens=prompt, completion_tokens=estimate_tokens(text), requests=1)
        return Completion(text, finish_reason="stop", usage=usage, model=self.id)


def _facts(shown: Mapping[str, Any], *, defined: bool = True) -> dict[str, Any]:
    """Definitions, and sentences with a number, whose value is the number with the word after it."""
    passage, language = shown["passage"], detect(shown["passage"])
    facts: list[dict[str, str]] = []
    for sentence in sentences(passage, language):
        text = sentence.strip()
        text = text[lead.end() :] if (lead := _LEAD.match(text)) else text
        says = _IS[language].fullmatch(text) if defined and len(facts) < _MOST else None
        if says is not None:
            fact = {"subject": says["name"], "attribute": _DEFINITION[language], "value": says["value"]}
            facts.append({**fact, "time": "", "evidence": text})
            continue
        found = cloze_value(text) if 15 <= len(text) <= 400 and len(facts) < _MOST else None
        if found is None or (not shown.get("title") and _POINTS_BACK.match(text)):
            continue
        start, value = found
        before = " ".join(text[:start].split()[-3:]) if language == "en" else text[:start][-6:]
        subject = (shown.get("title") or text[:start].strip() or text[start + len(value) :]).strip()
        facts.append({"subject": subject, "attribute": before or value, "value": value, "time": "", "evidence": text})
    return {"facts": facts}


def _question(shown: Mapping[str, Any]) -> dict[str, Any]:
    """What is defined; else a cloze for each fact, of which the conversation of a follow-up has the first. No question
    of a type that takes other wording."""
    facts = shown["facts"]
    if shown["type"] in _WORDED:  # rejected, as a question without an answer
        return {"question": _cloze(facts[0]), "answers": [], "earlier": [], "difficulty": "easy"}
    if shown["type"] == "single" and facts[0]["attribute"] in _DEFINITION.values():
        question = _WHAT[detect(facts[0]["evidence"])].format(name=facts[0]["subject"])
        return {"question": question, "answers": [[facts[0]["value"]]], "earlier": [], "difficulty": "medium"}
    clozes = [_cloze(fact) for fact in facts]
    earlier = [{"question": clozes[0], "answer": facts[0]["value"]}] if shown["type"] == "follow_up" else []
    asked = [_cloze(fact, _GO_ON) for fact in facts[1:]] if earlier else clozes
    answers = [[fact["value"]] for fact in (facts[1:] if earlier else facts)]
    return {"question": " ".join(asked), "answers": answers, "earlier": earlier, "difficulty": "easy"}


def _cloze(fact: Mapping[str, str], forms: Mapping[str, str] = _ASK) -> str:
    """The sentence with a gap for the value, and before it what it is about, unless the sentence says so itself."""
    language = detect(fact["evidence"])
    if forms is _ASK and fact["subject"] in fact["evidence"]:
        forms = _ASK_ALONE
    text = fact["evidence"].replace(fact["value"], _GAP[language], 1)
    if text[-1] in ";；":
        text = text[:-1] + _STOP[language]
    return forms[language].format(subject=fact["subject"], text=text)


def _paraphrase(shown: Mapping[str, Any]) -> dict[str, Any]:
    question = shown["question"]
    language = detect(question)
    if name := _asked(question):
        return {"paraphrases": [form.format(name=name) for form in _WHAT_AGAIN[language]]}
    head, _, text = question.partition("): " if language == "en" else "）：")
    subject = head.partition("(" if language == "en" else "（")[2]
    if not subject or question.startswith(_ASK_ALONE[language].format(text="")):  # or of a follow-up
        subject, text = _THIS[language], question.partition(":" if language == "en" else "：")[2].strip()
    return {"paraphrases": [form.format(subject=subject, text=text) for form in _AGAIN[language]]}


def _read(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The words that fill the gap, or what something is, looked up in the passages."""
    question, passages = shown["question"], list(shown["passages"].values())
    name = _asked(question)
    values = [value for value in [_defined(name, passages)] if value] if name else _fillings(question, passages)
    return {"answer": "; ".join(values), "found": bool(values)}


def _asked(question: str) -> str:
    """The name in a question for a definition; "" in any other."""
    for form in (*_WHAT.values(), *(form for forms in _WHAT_AGAIN.values() for form in forms)):
        before, _, after = form.partition("{name}")
        if question.startswith(before) and question.endswith(after) and len(question) > len(before + after):
            return question[len(before) : len(question) - len(after)]
    return ""


def _defined(name: str, passages: list[str]) -> str:
    """What the first passage that defines the name says that it is; "" if none does."""
    for text in passages:
        language = detect(text)
        found = (_IS[language].fullmatch(sentence.strip()) for sentence in sentences(text, language))
        if value := next((match["value"] for match in found if match is not None and match["name"] == name), ""):
            return value
    return ""


def _fillings(question: str, passages: list[str]) -> list[str]:
    gap = next((mark for mark in _GAP.values() if mark in question), "")
    if not gap:
        return []
    values = []
    pieces = question.split(gap)
    for before, after in pairwise(pieces):
        head, tail = _clause(before, last=True), _clause(after, last=False)
        value = next((found for text in passages if (found := _between(text, head, tail))), "")
        if not value:
            return []
        values.append(value)
    return values


def _clause(text: str, *, last: bool) -> str:
    """The words next to a gap, up to the quotation mark or colon around the sentence."""
    part = re.split(r"[“”:：]", text)[-1 if last else 0]
    return part.strip(" ?？")[-60:] if last else part.strip()[:40]


def _between(text: str, head: str, tail: str) -> str:
    start = find_quote(head, text) if any(map(str.isalnum, head)) else (0, 0)
    if start is None:
        return ""
    rest = text[start[1] :]
    end = find_quote(tail, rest) if any(map(str.isalnum, tail)) else None
    value = rest[: end[0]] if end else re.split(r"[.;]\s|[。；\n]|\.$", rest)[0]
    return value.strip(" ,.，。") if len(value) < 60 else ""


def _answering(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The passages that fill every gap with the known answer, or state it if there is no gap."""
    wanted, passages = [text.strip() for text in shown["answer"]], shown["passages"].items()
    if not any(gap in shown["question"] for gap in _GAP.values()):  # not a cloze
        return {"passages": [int(number) for number, text in passages if _states(text, wanted)]}
    filled = {int(number): _fillings(shown["question"], [text]) for number, text in passages}
    return {"passages": [number for number, values in filled.items() if values and values == wanted]}


def _states(text: str, wanted: list[str]) -> bool:
    return bool(wanted) and all(find_answer(answer, text) for answer in wanted)


def _events(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A cloze for the first sentence with a number."""
    facts = _facts({"title": shown["title"], "passage": shown["article"]}, defined=False)["facts"][:1]
    return {
        "events": [
            {"event": fact["evidence"], "question": _cloze(fact), "answer": fact["value"], "aliases": [],
             "kind": "number", "evidence": fact["evidence"]}
            for fact in facts
        ]
    }  # fmt: skip


def _contradiction(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the statements have other numbers."""
    return {"contradict": len({tuple(_NUMBER.findall(statement["text"])) for statement in shown["statements"]}) > 1}


def _fake(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with another number."""
    return {"fake": _NUMBER.sub(lambda match: "".join(_OTHER[digit] for digit in match[0]), shown["answers"][0])}


def _replaced(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The passages that fill the gap with the false answer."""
    filled = {int(number): _fillings(shown["question"], [text]) for number, text in shown["passages"].items()}
    return {"same_kind": True, "passages": [number for number, values in filled.items() if values == [shown["fake"]]]}


def _join(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {"question": " ".join(shown["questions"])}


_RULES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "facts": _facts, "question": _question, "paraphrase": _paraphrase, "read": _read, "answering": _answering,
    "event": _events, "contradiction": _contradiction, "fake": _fake, "replaced": _replaced, "join": _join,
}  # fmt: skip
