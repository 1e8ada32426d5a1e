"""Whether what a judge writes beside its object says something else than the object: another value, a second verdict.

Nothing is weighed. A reply cannot be used where its prose names a value of the form that the object does not have, or
states a verdict ("verdict: …", "I rate it 3", a line that is only "No.") that is not the object's.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

_MARKS = r"(?:[^\w\n]|_)*"
_NAMES = (
    r"(?:(?<![a-z])(?:verdict|judge?ment|conclusion|decision|determination|grade|score|rating|label)s?"
    r"|\bi(?:'d| would| must| now)? (?:judge|conclude|decide|rate|score|grade|give)"
    r"|结论|判断|判定|裁定|裁决|判决|评分|得分|分数|评级|等级|打分)"
)
_LINK = rf"(?:{_MARKS}(?:is|was|it|this|that|as|at|an?|应|该|改|是|为))*{_MARKS}"
_PLAIN = (
    r"(?:(?:yes|no|true|false|(?:in)?correct|wrong|right|pass(?:ed)?|fail(?:ed|s)?|positive|negative"
    r"|是|否|不是|对|不对|错|正确|错误)(?!\w)|\d+(?:\.\d+)?(?!\d))"
)
_STATEMENT = re.compile(
    rf"{_NAMES}{_LINK}[:=→](?P<value>[^\n]*)"  # "Final verdict: …", "I judge: …", "结论是：…"
    rf"|{_NAMES}{_LINK}(?P<plain>{_PLAIN})"  # "the score is 3"
    rf"|(?:^|[:=?])(?:[^\w\n:=?]|_)*(?P<alone>{_PLAIN}){_MARKS}$",
    re.MULTILINE,
)
_FIRST = re.compile(r"\.(?!\d)|[;,!(。/]|\b(?:out of|because|since)\b|因为|由于|(?<=\d)\s*分")  # ends a stated value
_NOT = r"(?:\b(?:not|never|non|un)|n't|不是|并非|没有|未|不)[\W_]*"


def contradiction(prose: str, value: Any, schema: Mapping[str, Any]) -> str:
    """The words beside an object of this form that contradict it, or may do; "" where none do."""
    text = unicodedata.normalize("NFKC", prose).casefold()
    return _other_value(text, value, schema) or _other_statement(text, value, schema)


def _other_value(text: str, value: Any, schema: Mapping[str, Any]) -> str:
    """A value that the form knows and the object has not, or "not" before the only one that it has."""
    for choices, used in _choices(value, schema):
        for choice in sorted(choices, key=len, reverse=True):  # "not_stated" before "stated", which it holds
            spelled = r"[\W_]*".join(map(re.escape, re.findall(r"[^\W_]+", choice.casefold())))  # "Not stated"
            pattern = rf"(?<![a-z]){spelled}(?![a-z])"
            if choice not in used and (found := re.search(pattern, text)):
                return found[0]
            if used == {choice} and (found := re.search(rf"{_NOT}{spelled}(?![a-z])", text)):
                return found[0]
            text = re.sub(pattern, " ", text)
    return ""


def _other_statement(text: str, value: Any, schema: Mapping[str, Any]) -> str:
    deciding = (item for item, form in _leaves(value, schema) if form["type"] != "string" or "enum" in form)
    decided = {_folded(str(item)) for item in deciding}
    for found in _STATEMENT.finditer(text):
        stated = _folded(found["plain"] or found["alone"] or _FIRST.split(found["value"])[0])
        if stated and stated not in decided:
            return found[0]
    return ""


def _choices(value: Any, schema: Mapping[str, Any]) -> list[tuple[frozenset[str], set[str]]]:
    """The texts that each enum of the form has, and those of them that the object says."""
    found: dict[frozenset[str], set[str]] = {}
    for item, form in _leaves(value, schema):
        if texts := frozenset(choice for choice in form.get("enum", ()) if isinstance(choice, str)):
            found.setdefault(texts, set()).add(str(item))
    return list(found.items())


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
