"""Whether what a judge writes beside its object says something else than the object: another value, a second verdict.

Nothing is weighed. A reply cannot be used where its prose names a value of the form that the object does not have,
states a verdict ("verdict: …", "I rate it 3", a line that is only "No.") that is not the object's, denies anything
beside an object that only affirms, or has another number than the object's grade.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

_MARKS = r"(?:[^\w\n]|_)*"
_NAMES = (
    r"(?:(?<![a-z])(?:verdict|judge?ment|conclusion|decision|determination|grade|score|rating|label)s?"
    r"|\bi(?:'d| would| must| now)? (?:judge|conclude|decide|rate|score|grade|give)"
    r"|\b(?:deserve|merit|earn|get)s?\b|\bworth\b"
    r"|结论|判断|判定|裁定|裁决|判决|评分|得分|分数|评级|等级|打分)"
)
_LINK = rf"(?:{_MARKS}(?:is|was|it|this|that|as|at|an?|应|该|改|是|为))*{_MARKS}"
_YES = ("yes", "true", "correct", "right", "pass", "passed", "positive", "是", "对", "正确")
_NO = ("no", "false", "incorrect", "wrong", "fail", "failed", "fails", "negative", "否", "不是", "不对", "错", "错误")
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DIGITS = {word: str(number) for words in (_COUNTS, "零一二三四五六七八九十") for number, word in enumerate(words)}
_DIGITS["两"] = "2"
_PLAIN = rf"(?:(?:{'|'.join((*_YES, *_NO, *_DIGITS))})(?!\w)|\d+(?:\.\d+)?(?!\d))"
_STATEMENT = re.compile(
    rf"{_NAMES}{_LINK}[:=→](?P<value>[^\n]*)"  # "Final verdict: …", "I judge: …", "结论是：…"
    rf"|{_NAMES}{_LINK}(?P<plain>{_PLAIN})"  # "the score is 3"
    rf"|(?:^|[:=?])(?:[^\w\n:=?]|_)*(?P<alone>{_PLAIN}){_MARKS}$",
    re.MULTILINE,
)
_FIRST = re.compile(r"\.(?!\d)|[;,!(。/]|\b(?:out of|because|since)\b|因为|由于|(?<=\d)\s*分")  # ends a stated value
# "not" right before what it denies, but for adverbs: "not explicitly stated", "nowhere stated", "unstated".
_NOT = (
    r"(?:(?:\b(?:not|never|nowhere|cannot)|n't)[ \"'*_`-]*(?:(?!(?:on|mere|simp)ly)"
    r"(?:\w+ly|be|been|being|yet|ever|even|quite|and)\b"
    r"[ \"'*_`-]*){0,4}|\b(?:non|un)[\W_]*|(?:不是|并非|没有|并未|未|不)(?:被|曾|明确|直接|完全|真正)*[ \"'*_`“”「」]*)"
)
_DENIES = re.compile(
    r"\b(?:not|no|none|never|nor|neither|nothing|nowhere|cannot|without|hardly|barely|wrong\w*|false|missing|absent"
    r"|in(?:correct|accurate|valid)\w*|irrelevant|un(?:supported|stated|true|mentioned|related|faithful|founded|proven)"
    r"|omit\w*|lack\w*|fail\w*|disagree\w*|opposite|contrary|contradict\w*|mismatch\w*|reject\w*|den(?:y|ies|ied)"
    r"|hallucinat\w*|fabricat\w*|invented)\b|n't\b|[不没未无非否错缺漏]|相反|矛盾|幻觉|编造|捏造"
)
_AFFIRMED = frozenset({"stated", "supported", "present", "support", "TP", "found"})  # of the texts of the forms
_URL = re.compile(r"https?://\S+")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´′‛ʹ", "'"))
# Numbers that are no grade: of a list, of a part of what was judged, the scale after a grade ("7/10").
_NO_GRADE = re.compile(
    r"^\s*\d+\s*[.)、:]\s|\[\d+\]|(?:element|claim|passage|sentence|criterion|step|point|要素|要点|主张|论断|段落|句子|第)s?\s*#?\d+"
    r"|(?<=\d)\s*\(?(?:/|out of|分?[,(]?\s*满分)\s*\d+|\bscale (?:of|from) \d+ ?(?:to|-) ?\d+",
    re.MULTILINE,
)
_NUMBER = re.compile(
    rf"(?<![\w.,:])\d{{1,3}}(?:\.\d+)?(?![a-z\d:%])"
    rf"|(?<![^\W_])(?:{'|'.join(_COUNTS)})(?=[\s-]*(?:stars?|points?|out of)\b)"
    r"|(?:\d{1,3}|[零一二两三四五六七八九十])(?=\s*[分星颗])"
)


def contradiction(prose: str, value: Any, schema: Mapping[str, Any], *, denials: bool = True) -> str:
    """The words beside an object of this form that contradict it, or may do; "" where none do. `denials`: whether any
    denial does, beside an object that only affirms."""
    text = plain(prose)
    polarities = set(_polarities(value, schema))
    return (
        _other_value(text, value, schema)
        or _other_statement(text, value, schema, polarities)
        or (denied(text) if denials and polarities == {True} else "")
        or _other_number(text, value, schema)
    )


def plain(prose: str) -> str:
    """Prose in one width, case and apostrophe, without addresses and what no reader sees."""
    seen = "".join(char for char in unicodedata.normalize("NFKC", prose) if unicodedata.category(char) != "Cf")
    return _URL.sub(" ", seen.casefold().translate(_APOSTROPHES))


def denied(text: str) -> str:
    """The first word of a plain text that denies something, or ""."""
    return found[0] if (found := _DENIES.search(text)) else ""


def affirms(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether an object says of anything that it is so."""
    return True in _polarities(value, schema)


def _other_value(text: str, value: Any, schema: Mapping[str, Any]) -> str:
    """A value that the form knows and the object has not, or "not" before the only one that it has."""
    for choices, used in _choices(value, schema):
        for choice in sorted(choices, key=len, reverse=True):  # "not_stated" before "stated", which it holds
            words = re.findall(r"[^\W_]+", choice.casefold())
            spelled = r"[\W_]*".join(map(re.escape, words))  # "Not stated"
            pattern = rf"(?<![a-z]){spelled}(?![a-z])"
            if words[0] == "not":  # "not clearly stated"
                pattern = _NOT + pattern.replace(r"not[\W_]*", "", 1).replace("(?<![a-z])", "", 1)
            if choice not in used and (found := re.search(pattern, text)):
                return found[0]
            if used == {choice} and (found := re.search(rf"{_NOT}{spelled}(?![a-z])", text)):
                return found[0]
            text = re.sub(pattern, " ", text)
    return ""


def _other_statement(text: str, value: Any, schema: Mapping[str, Any], polarities: set[bool]) -> str:
    deciding = (item for item, form in _leaves(value, schema) if form["type"] != "string" or "enum" in form)
    decided = {_folded(str(item)) for item in deciding}
    if len(polarities) == 1:
        decided |= {*_YES} if True in polarities else {*_NO}
    for found in _STATEMENT.finditer(text):
        stated = _folded(found["plain"] or found["alone"] or _FIRST.split(found["value"])[0])
        if stated and stated not in decided and _DIGITS.get(stated) not in decided:
            return found[0]
    return ""


def _other_number(text: str, value: Any, schema: Mapping[str, Any]) -> str:
    """A number that is not the grade of an object with grades."""
    grades = {str(value.get(key)) for key, form in schema.get("properties", {}).items() if _is_grade(form)}
    numbers = _NUMBER.finditer(_NO_GRADE.sub(" ", text)) if grades else ()
    return next((found[0] for found in numbers if _DIGITS.get(found[0], found[0]) not in grades), "")


def _is_grade(form: Mapping[str, Any]) -> bool:
    return "integer" in form["type"] and form.get("enum") != [0, 1]


def _polarities(value: Any, schema: Mapping[str, Any]) -> Iterator[bool]:
    """Of each verdict in the object, whether it says that something is so: of a claim with passages, that those carry
    it."""
    if isinstance(value, list):
        for item in value:
            yield from _polarities(item, schema["items"])
    if not isinstance(value, dict):
        return
    properties = schema.get("properties", {})
    for key, form in properties.items():
        item, choices = value.get(key), {*form.get("enum", ())}
        if key == "supported_by":
            yield bool(item)
        elif isinstance(item, list):
            yield from _polarities(item, form)
        elif choices & _AFFIRMED:
            yield item in _AFFIRMED
        elif choices == {0, 1} and key != "noncommittal":
            yield item == 1
        elif isinstance(item, bool) and "supported_by" not in properties and _is_of_a_judgement(key, properties):
            yield item


def _is_of_a_judgement(key: str, properties: Mapping[str, Any]) -> bool:
    return key in ("in_reference", "in_answer") or (key == "relevant" and "useful" in properties)


def _choices(value: Any, schema: Mapping[str, Any]) -> list[tuple[frozenset[str], set[str]]]:
    """The texts that each enum of the form has, and those of them that the object says."""
    found: dict[frozenset[str], set[str]] = {}
    for carried in _carried(value, schema):
        found.setdefault(frozenset({"supported", "not_supported"}), set()).add(
            "supported" if carried else "not_supported"
        )
    for item, form in _leaves(value, schema):
        if texts := frozenset(choice for choice in form.get("enum", ()) if isinstance(choice, str)):
            found.setdefault(texts, set()).add(str(item))
    return list(found.items())


def _carried(value: Any, schema: Mapping[str, Any]) -> Iterator[bool]:
    """Of each claim, whether passages carry it, where the object says so with their numbers."""
    if isinstance(value, list):
        for item in value:
            yield from _carried(item, schema.get("items", {}))
    elif isinstance(value, dict):
        for key, form in schema.get("properties", {}).items():
            if key == "supported_by":
                yield bool(value.get(key))
            else:
                yield from _carried(value.get(key), form)


def _leaves(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """What the object says, each with its form."""
    if isinstance(value, dict):
        for key, form in schema.get("properties", {}).items():
            yield from _leaves(value.get(key), form)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, schema.get("items", {"type": "string"}))
    elif value is not None:
        yield value, schema


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum() or char == ".")
