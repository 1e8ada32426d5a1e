"""The JSON objects in a text: where each begins and ends, and its value.

An object is read as JSON, after a closed list of repairs of its spelling that leave no choice: a comma before a
closing bracket, comments, quotes and punctuation of other kinds, Python's words, line breaks within a text. Nothing is
added: an object that is not closed, or lacks a comma or a quote, is broken, and so is what stands inside it.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from ragstone.metrics.judge.problems import Problem, problem

# An object or a list of objects begins here; a brace before anything else is prose. What begins like JavaScript's
# `{key: …` is an object too, and broken.
_BEGIN = re.compile(r"[{｛](?=\s*(?:[\"'“]|//|/\*|\w+\s*[:：]))|[\[［](?=\s*[{｛])")
_TOKEN = re.compile(
    r"(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<single>'(?:[^'\\]|\\.)*')|(?P<curly>“[^“”]*”)|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<open>[{\[｛［])|(?P<close>[}\]｝］])|(?P<mark>[,:，：、])|(?P<word>[^\s\"'“”{}\[\]｛｝［］,:，：、/]+)|(?P<space>\s+)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)|\"", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_MARKS = {"，": ",", "：": ":", "、": ",", "｛": "{", "｝": "}", "［": "[", "］": "]"}
_NOT_ESCAPED = re.compile(
    r"\\([\\\"/bfnrtu])|\\([_*#$%&'()<>|~`.!+-])"
)  # what Markdown escapes, and JSON does not know


class Found(NamedTuple):
    """A value and where it stands; `problem` where it is none, and then it ends where the text does or it closes.
    `comments`: what is written within it beside its value."""

    start: int
    end: int
    value: Any
    repairs: tuple[str, ...] = ()
    problem: Problem | None = None
    comments: str = ""


class NotPlain(ValueError):
    """What Python reads as JSON and is none, or means two things."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def parsed(text: str, *, strict: bool = True) -> Any:
    """The value of a whole JSON text. Raises NotPlain for a key that occurs twice and for NaN, JSONDecodeError,
    ValueError for a number without end, and RecursionError. `strict`: no line breaks within texts."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_constant, strict=strict)


def objects_in(text: str) -> Iterator[Found]:
    """Every object and every list of objects in the text that is not within another."""
    place = 0
    while (begin := _BEGIN.search(text, place)) is not None:
        found = _read(text, begin.start())
        yield found
        place = found.end


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def _read(text: str, start: int) -> Found:
    tokens: list[_Token] = []
    open_brackets: list[str] = []
    place = start
    while token := _TOKEN.match(text, place):
        place = token.end()
        tokens.append(_Token(str(token.lastgroup), token[0], token.start()))
        if token.lastgroup == "open":
            open_brackets.append(_MARKS.get(token[0], token[0]))
        elif token.lastgroup == "close":
            if open_brackets.pop() + _MARKS.get(token[0], token[0]) not in ("{}", "[]"):
                break
            if not open_brackets:
                return _value(text, start, place, tokens)
    return Found(start, len(text), None, problem=problem("unclosed", place=start + 1, length=len(text)))


def _value(text: str, start: int, end: int, tokens: list[_Token]) -> Found:
    try:
        return Found(start, end, parsed(text[start:end]))
    except json.JSONDecodeError:
        pass
    except (ValueError, RecursionError) as error:
        return Found(start, end, None, problem=problem_of(error, text))
    spelled, repairs = _repaired(tokens)
    repaired = " ".join(part for _, part in spelled)
    try:
        value = parsed(repaired)
    except json.JSONDecodeError:
        try:
            value = parsed(repaired, strict=False)
        except (ValueError, RecursionError) as error:
            return Found(start, end, None, problem=problem_of(error, text, spelled))
        repairs.append("line_breaks")
    except (ValueError, RecursionError) as error:
        return Found(start, end, None, problem=problem_of(error, text))
    comments = "\n".join(token.text for token in tokens if token.kind == "comment")
    return Found(start, end, value, tuple(dict.fromkeys(repairs)), comments=comments)


def problem_of(error: Exception, text: str, spelled: Sequence[tuple[int, str]] = ()) -> Problem:
    """What is wrong with a text that `parsed` refused. `spelled`: its repaired parts with their places, if those were
    parsed."""
    if isinstance(error, NotPlain):
        return error.problem
    if isinstance(error, json.JSONDecodeError):
        return problem("not_json", reason=error.msg, place=_place(error.pos, spelled) + 1, length=len(text))
    return problem("nested" if isinstance(error, RecursionError) else "endless")


def _place(position: int, spelled: Sequence[tuple[int, str]]) -> int:
    """The place in the reply of a position in its repaired parts: that of the token."""
    end = 0
    for place, part in spelled:
        end += len(part) + 1
        if position < end:
            return place
    return spelled[-1][0] if spelled else position


def _repaired(tokens: list[_Token]) -> tuple[list[tuple[int, str]], list[str]]:
    """The tokens as JSON spells them, each with its place in the reply, and what was repaired."""
    parts, repairs = [], []
    shown = [token for token in tokens if token.kind not in ("comment", "space")]
    if any(token.kind == "comment" for token in tokens):
        repairs.append("comments")
    if any(token.kind == "space" and token.text.strip(" \t\r\n") for token in tokens):
        repairs.append("punctuation")
    for number, (kind, text, place) in enumerate(shown):
        before = shown[number - 1].kind if number else "open"
        following = shown[number + 1] if number + 1 < len(shown) else _Token("", "", 0)
        spelled = text
        if kind in ("mark", "open", "close"):
            spelled = _MARKS.get(text, text)
            if spelled != text:
                repairs.append("punctuation")
            if spelled == "," and following.kind == "close" and before not in ("open", "mark"):
                repairs.append("trailing_commas")
                continue
        elif kind in ("single", "curly"):
            spelled = '"' + _ESCAPED.sub(_requoted, text[1:-1]) + '"'
            repairs.append("quotes")
        elif kind == "word" and following.kind == "mark" and _MARKS.get(following.text, following.text) == ":":
            spelled = f'"{text}"' if text.isidentifier() else text
            repairs.append("quotes")
        elif kind == "word" and text in _WORDS:
            spelled = _WORDS[text]
            repairs.append("python_words")
        elif kind == "text":
            spelled = _NOT_ESCAPED.sub(lambda match: match[2] or match[0], text)
            repairs += ["escapes"] * (spelled != text)
        parts.append((place, spelled))
    return parts, repairs


def _requoted(match: re.Match[str]) -> str:
    if match[0] == '"':
        return '\\"'
    return "'" if match[1] == "'" else match[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in {name for name, _ in pairs[:number]})
        raise NotPlain(problem("key_twice", key=repr(twice[:60])))
    return result


def _constant(name: str) -> NoReturn:
    raise NotPlain(problem("constant", name=name))
