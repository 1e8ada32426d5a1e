"""Reading a judge's reply: the whole of it, as one JSON object of the form that was asked for, or not at all.

Nothing is searched for inside a reply. A text that quotes a verdict, two objects, prose around one: all of it is a
reply that could not be used, and the judge is told so once.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ragstone.metrics.judge.schemas import problem_with

__all__ = ["CUT_OFF", "ids_problem", "one_line", "read_reply"]

CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})  # reasons to finish that mean an unfinished reply
_FENCED = re.compile(r"```(?:json)?(?P<inside>.*)```", re.DOTALL | re.IGNORECASE)
_SHOWN = 80  # characters of an unusable reply that the problem quotes


def read_reply(text: str, schema: Mapping[str, Any], *, finish_reason: str = "") -> tuple[dict[str, Any], str]:
    """(the object, "") of a usable reply, ({}, what is wrong with it) of any other.

    A code fence around all of it is form and taken off. true for 1, NaN, a key that occurs twice, and anything beside
    the one object are problems, and so is a reply that the endpoint cut off or withheld a part of."""
    if finish_reason in CUT_OFF:
        return {}, "it was cut off before its end"
    if finish_reason.startswith("content_filter"):
        return {}, "the endpoint's content filter withheld a part of it"
    stripped = text.strip().removeprefix("\ufeff")
    if fenced := _FENCED.fullmatch(stripped):
        stripped = fenced["inside"].strip()
    if not stripped:
        return {}, "it is empty"
    try:
        parsed = json.loads(stripped, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        return {}, _not_json(stripped, error)
    except _NotPlain as error:
        return {}, str(error)
    except (ValueError, RecursionError) as error:
        return {}, "it is nested too deeply" if isinstance(error, RecursionError) else "it has a number without end"
    problem = problem_with(parsed, dict(schema))
    return ({}, one_line(problem)) if problem else (parsed, "")


def one_line(text: str) -> str:
    """The text without anything that a reader would not see on one line: keys that a judge made up may hold it."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def ids_problem(items: Sequence[Mapping[str, Any]], count: int, at: str) -> str:
    """What is wrong with the ids of a list that must have each of 1…`count` exactly once; "" where nothing is."""
    ids = [item["id"] for item in items]
    if outside := [number for number in ids if not 1 <= number <= count]:
        expected = f"ids 1 to {count}" if count else "no item, because there is nothing to judge"
        return f"{at} has the id {outside[0]}, expected {expected}"
    if twice := _first_twice(ids):
        return f"{at} has the id {twice} twice"
    if missing := sorted(set(range(1, count + 1)) - set(ids)):
        return f"{at} lacks the verdict on {_named(missing)}"
    return ""


class _NotPlain(ValueError):
    """What Python reads as JSON and is none, or means two things."""


def _named(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:10])) + ("…" if len(ids) > 10 else "")


def _first_twice(ids: Iterable[int]) -> int | None:
    ids_seen: set[int] = set()
    for number in ids:
        if number in ids_seen:
            return number
        ids_seen.add(number)
    return None


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return f"there is more after the first JSON value: {text[error.pos : error.pos + _SHOWN]!r}"
    if not text.startswith("{"):
        return f"it does not begin with a JSON object: {text[:_SHOWN]!r}"
    return f"it is not JSON ({error.msg}, character {error.pos + 1} of {len(text)})"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in {name for name, _ in pairs[:number]})
        raise _NotPlain(f"the key {twice[:60]!r} occurs twice in one object")
    return result


def _constant(name: str) -> NoReturn:
    raise _NotPlain(f"{name} is not JSON")
