"""Reading a judge's reply: the one JSON object of the form that was asked for, wherever it stands in it.

Models write remarks, fences and thoughts around the object, and spell it in their ways. What leaves no choice is read,
and `coerced` says what was done (a closed list: `COERCIONS`). Whatever leaves one is a reply that could not be used,
and the judge is told so once: two objects that differ, one that is not closed, one that the judged text holds or the
reply only speaks of, one that the reply takes back or contradicts. A wrongly read object is worse than none.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ragstone.metrics.judge.contradictions import contradiction, denied, plain
from ragstone.metrics.judge.objects import Found, objects_in, parsed, problem_of
from ragstone.metrics.judge.problems import Problem, problem
from ragstone.metrics.judge.quoted import marks_quotations, occurs_in, spoken_of, spoken_of_by, struck_out, taken_back
from ragstone.metrics.judge.schemas import conformed, is_remark, keys_within, problem_with, remark_texts, words_of

COERCIONS = (
    "prose", "fence", "reasoning", "wrapper", "list_of_one", "repeated", "extra_keys", "left_out", "number_text",
    "boolean_text", "null_text", "spelling", "trailing_commas", "comments", "quotes", "punctuation", "python_words",
    "line_breaks", "escapes",
)  # fmt: skip
"""What may be done to a reply to read it, by the names of `JudgeStep.coerced`."""

CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})  # reasons to finish that mean an unfinished reply
_FENCED = re.compile(r"```(?:json)?(?P<inside>.*)```", re.DOTALL | re.IGNORECASE)
_SHOWN = 80  # characters of an unusable reply that the problem quotes
_THINKING = r"(?:think|thinking|thought|thoughts|reason|reasoning|analysis|reflection|scratchpad)"
_BEGIN = rf"<{_THINKING}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>"
_END = rf"</{_THINKING}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>"
_THOUGHT = re.compile(rf"(?:{_BEGIN})(?:(?!{_BEGIN}).)*?(?:{_END})", re.DOTALL | re.IGNORECASE)
_THOUGHT_BEGINS, _THOUGHT_ENDS = re.compile(_BEGIN, re.IGNORECASE), re.compile(_END, re.IGNORECASE)
_WRAPPERS = 3  # objects around the object, at most
# The keys that an object may stand under, and what may be said beside it: a remark, how a call went, what kind it is.
_INNER = frozenset({
    "answer", "args", "arguments", "assessment", "body", "call", "calls", "check", "choices", "conclusion",
    "content", "data", "decision", "eval", "evaluation", "evaluations", "final", "function", "grade", "grading",
    "item", "items", "json", "judge", "judgement", "judgment", "match", "message", "object", "output", "outputs",
    "overall", "parameters", "params", "payload", "reply", "report", "response", "result", "results", "return",
    "returned", "rubric", "score", "structured", "tool", "value", "verdict", "verification", "verify",
})  # fmt: skip
_INNER_ZH = re.compile(
    "(?:最终|核查|评判|评估|评价|评测|判断|判定|评分|校验|验证|检查|审核|分析|输出|返回|的)*"
    "(?:结果|输出|结论|评估|评判|评价|判断|判定|评分|回复|答复|响应|数据|内容|报告|参数|返回|对象)"
)
_WENT = frozenset({"code", "ok", "status", "success", "成功", "状态", "状态码"})
_WELL = frozenset(
    {"200", "true", "ok", "success", "successful", "succeeded", "complete", "completed", "done", "成功", "完成"}
)
_KIND = frozenset(
    {"count", "created", "format", "id", "index", "language", "model", "name", "object", "role", "type", "version"}
)


class Read(NamedTuple):
    """The object of a reply, or what is wrong with it; and what was done to read it, each of `COERCIONS`, with the
    name of a key that was dropped."""

    value: dict[str, Any]
    problem: str = ""
    coerced: tuple[str, ...] = ()


def read_reply(
    text: str, schema: Mapping[str, Any], *, finish_reason: str = "", shown: Mapping[str, Any] | None = None
) -> Read:
    """What a reply says in the form of `schema`. `shown` is what was judged: an object that stands there is not the
    judge's. A reply that the endpoint cut off or withheld a part of is a problem, whatever it holds, and so are NaN and
    a key that occurs twice."""
    if finish_reason in CUT_OFF:
        return Read({}, problem("cut_off"))
    if finish_reason.startswith("content_filter"):
        return Read({}, problem("filtered"))
    stripped, done = text.strip().removeprefix("\ufeff").strip(), list[str]()
    if fenced := _FENCED.fullmatch(stripped):
        stripped = fenced["inside"].strip()
        done.append("fence")
    if not stripped:
        return Read({}, problem("empty"))
    try:
        value = parsed(stripped)
    except json.JSONDecodeError:
        return _read_within(text.strip(), dict(schema), shown or {})
    except (ValueError, RecursionError) as error:
        return Read({}, problem_of(error, stripped))
    if isinstance(value, str) and value.lstrip().startswith("{"):  # the object as the text of a text
        read = read_reply(value, schema, shown=shown)
        return read if read.problem else read._replace(coerced=tuple(dict.fromkeys([*done, "wrapper", *read.coerced])))
    value, found, wrapped = _meant(value, dict(schema))
    if found:
        return Read({}, found)
    if occurs_in(value, shown or {}):
        return Read({}, problem("quoted"))
    return Read(value, "", tuple(dict.fromkeys([*done, *wrapped])))


class _Candidate(NamedTuple):
    """An object in a reply with more than that: as it stands, as it is meant, and what is wrong with it."""

    found: Found
    value: Any
    problem: str
    coerced: tuple[str, ...]


def _read_within(text: str, schema: dict[str, Any], shown: Mapping[str, Any]) -> Read:
    """The one object of the form in a text that is not JSON as a whole."""
    spoken, done = _without_thoughts(text)
    if spoken is None:
        return Read({}, problem("thoughts"))
    candidates = []
    for found in objects_in(spoken):
        if found.problem is not None:
            return Read({}, found.problem)
        value, wrong, coerced = _meant(found.value, schema)
        candidates.append(_Candidate(found, value, wrong, (*found.repairs, *coerced)))
    copied = [one for one in candidates if isinstance(one.value, dict) and occurs_in(one.value, shown)]
    own = [one for one in candidates if one not in copied]
    fitting = [one for one in own if not one.problem]
    if not fitting:
        if candidates and not own:
            return Read({}, problem("quoted"))
        return Read({}, own[-1].problem if own else _no_object(spoken.strip()))
    last = fitting[-1]
    ends = (0, *(one.found.end for one in candidates))
    starts = (*(one.found.start for one in candidates), len(spoken))
    around = "\n".join(spoken[end:start] for end, start in zip(ends, starts, strict=True))
    if copied and not marks_quotations(around):  # it may be meant as well
        return Read({}, problem("several"))
    if any(one.value != last.value if not one.problem else _rivals(one, schema) for one in own):
        return Read({}, problem("several"))
    if spoken_of(spoken, last.found.start, last.found.end):
        return Read({}, problem("spoken_of"))
    comments = "\n".join(one.found.comments for one in candidates)
    for after in (spoken[last.found.end :], comments):
        if taken_back(after):
            return Read({}, problem("taken_back", text=repr(after.strip("` \n")[:_SHOWN])))
    if struck_out(around):
        return Read({}, problem("struck_out"))
    beside = f"{around}\n{comments}"
    if contrary := contradiction(beside, last.value, schema):
        return Read({}, problem("contradicted", text=repr(contrary.strip()[:_SHOWN])))
    done += ["fence"] if "```" in around else []
    done += ["prose"] if re.sub(r"```\w*", "", around).strip() else []
    done += ["repeated"] if len(fitting) > 1 else []
    return Read(last.value, "", tuple(dict.fromkeys([*done, *last.coerced])))


def _without_thoughts(text: str) -> tuple[str | None, list[str]]:
    """The reply without what its model thought before it; None where that has no end."""
    spoken = _THOUGHT.sub("", text)
    if ends := list(_THOUGHT_ENDS.finditer(spoken)):  # where the chat template has the beginning
        spoken = spoken[ends[-1].end() :]
    if _THOUGHT_BEGINS.search(spoken):
        return None, []
    return spoken, ["reasoning"] if spoken != text else []


def _meant(value: Any, schema: dict[str, Any]) -> tuple[Any, str, list[str]]:
    """The object of the form that a value is or wraps, what is wrong with it, and what was done to read it."""
    inner, said, done = _unwrapped(value, schema)
    inner = conformed(inner, schema, done)
    wrong = problem_with(inner, schema)
    if not wrong and (contrary := contradiction(said, inner, schema)):
        wrong = problem("contradicted", text=repr(contrary.strip()[:_SHOWN]))
    return inner, wrong, done


def _unwrapped(value: Any, schema: Mapping[str, Any]) -> tuple[Any, str, list[str]]:
    """The object within lists of one, objects of one key that the form does not have, and calls of a tool; and what
    those say beside it."""
    done, said = list[str](), list[str]()
    for _ in range(_WRAPPERS):
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
            done.append("list_of_one")
            continue
        inner = None
        if isinstance(value, dict) and not value.keys() & schema["properties"].keys():
            inner, beside = _wrapped(value)
            said += beside
        if inner is None:
            break
        value = inner
        done.append("wrapper")
    return value, "\n".join(said), done


def _wrapped(value: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The only object within an object that says nothing else of it, and the remarks beside it: {"status": "ok",
    "result": {…}}, or a call of a tool, whose arguments may be a text."""
    inner = {key: item for key, item in value.items() if isinstance(item, dict | list)}
    if not inner and "name" in value and isinstance(text := value.get("arguments"), str):
        try:
            inner = {"arguments": parsed(text)}
        except (ValueError, RecursionError):
            return None, []
    others = {key: item for key, item in value.items() if key not in inner and key != "arguments"}
    if len(inner) != 1 or not all(map(_holds, inner)) or not all(_is_beside(*other) for other in others.items()):
        return None, []
    (wrapped,) = inner.values()
    return wrapped, [f"{key}: {item}" for key, item in others.items() if is_remark(key) and item is not None]


def _holds(key: str) -> bool:
    """Whether a key is one that an object may stand under, and says no more of it."""
    return bool(_INNER_ZH.fullmatch(key)) or (words_of(key) <= _INNER and not spoken_of_by(key))


def _is_beside(key: str, item: Any) -> bool:
    """Whether a key of a wrapper says nothing of the object in it: a status that is good, a kind, a remark."""
    text = plain(f"{item}").strip()
    if key.casefold() in _WENT:
        return text in _WELL
    if key.casefold() in _KIND:
        return not (isinstance(item, bool) or denied(text) or "error" in text or spoken_of_by(text))
    texts = remark_texts(key, item) if is_remark(key) else None
    return texts is not None and not any(map(spoken_of_by, (key, *texts)))


def _rivals(one: _Candidate, schema: Mapping[str, Any]) -> bool:
    """Whether an object that has not the form speaks of what the form asks for: a draft, or a correction."""
    return bool(keys_within(one.value) & schema["properties"].keys())


def _no_object(text: str) -> Problem:
    if text.startswith(("{", "[")):
        try:
            parsed(text)
        except (ValueError, RecursionError) as error:
            return problem_of(error, text)
    return problem("no_object", text=repr(text[:_SHOWN]))


def ids_problem(items: Sequence[Mapping[str, Any]], count: int, at: str) -> str:
    """What is wrong with the ids of a list that must have each of 1…`count` exactly once; "" where nothing is."""
    ids = [item["id"] for item in items]
    if outside := [number for number in ids if not 1 <= number <= count]:
        return problem("id_outside" if count else "id_of_nothing", at=at, id=outside[0], count=count)
    if twice := _first_twice(ids):
        return problem("id_twice", at=at, id=twice)
    if missing := sorted(set(range(1, count + 1)) - set(ids)):
        return problem("id_missing", at=at, ids=_named(missing))
    return ""


def _named(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:10])) + ("…" if len(ids) > 10 else "")


def _first_twice(ids: Iterable[int]) -> int | None:
    ids_seen: set[int] = set()
    for number in ids:
        if number in ids_seen:
            return number
        ids_seen.add(number)
    return None
