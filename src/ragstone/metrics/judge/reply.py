"""Reading a judge's reply: the whole of it, as one JSON object of the form that was asked for, or not at all.

Nothing is searched for inside a reply. A text that quotes a verdict, two objects, prose around one: all of it is a
reply that could not be used, and the judge is told so once.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ragstone.metrics.judge.problems import Problem, problem
from ragstone.metrics.judge.schemas import conformed, problem_with

CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})  # reasons to finish that mean an unfinished reply
_FENCED = re.compile(r"```(?:json)?(?P<inside>.*)```", re.DOTALL | re.IGNORECASE)
_SHOWN = 80  # characters of an unusable reply that the problem quotes


def read_reply(text: str, schema: Mapping[str, Any], *, finish_reason: str = "") -> tuple[dict[str, Any], str]:
    """(the object, "") of a usable reply, ({}, what is wrong with it) of any other.

    A code fence around all of it is form and taken off. true for 1, NaN, a key that occurs twice, and anything beside
    the one object are problems, and so is a reply that the endpoint cut off or withheld a part of."""
    if finish_reason in CUT_OFF:
        return {}, problem("cut_off")
    if finish_reason.startswith("content_filter"):
        return {}, problem("filtered")
    stripped = text.strip().removeprefix("\ufeff")
    if fenced := _FENCED.fullmatch(stripped):
        stripped = fenced["inside"].strip()
    if not stripped:
        return {}, problem("empty")
    try:
        parsed = json.loads(stripped, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        return {}, _not_json(stripped, error)
    except _NotPlain as error:
        return {}, error.problem
    except (ValueError, RecursionError) as error:
        return {}, problem("nested" if isinstance(error, RecursionError) else "endless")
    parsed = conformed(parsed, dict(schema))
    found = problem_with(parsed, dict(schema))
    return ({}, found) if found else (parsed, "")


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


class _NotPlain(ValueError):
    """What Python reads as JSON and is none, or means two things."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def _named(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:10])) + ("…" if len(ids) > 10 else "")


def _first_twice(ids: Iterable[int]) -> int | None:
    ids_seen: set[int] = set()
    for number in ids:
        if number in ids_seen:
            return number
        ids_seen.add(number)
    return None


def _not_json(text: str, error: json.JSONDecodeError) -> Problem:
    if error.msg == "Extra data":
        return problem("trailing", text=repr(text[error.pos : error.pos + _SHOWN]))
    if not text.startswith("{"):
        return problem("no_object", text=repr(text[:_SHOWN]))
    return problem("not_json", reason=error.msg, place=error.pos + 1, length=len(text))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in {name for name, _ in pairs[:number]})
        raise _NotPlain(problem("key_twice", key=repr(twice[:60])))
    return result


def _constant(name: str) -> NoReturn:
    raise _NotPlain(problem("constant", name=name))
