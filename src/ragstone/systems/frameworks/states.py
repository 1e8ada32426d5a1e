"""LangGraph: what a compiled graph is asked with. Its state is a mapping, so the question goes into the entry that its
input schema has for it."""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ragstone.errors import UsageError
from ragstone.types import Query

HISTORY_KEYS = ("chat_history", "history")
MESSAGES = "messages"
"""What an agent takes: the history and the question."""

_QUESTION_KEYS = ("question", "query", "input")
_PARTS = ("question", "query", "input", "prompt", "request", "message", "text")  # of other names of a question
_NEUTRAL: Mapping[Any, Callable[[], Any]] = {str: str, int: int, float: float, bool: bool, list: list, dict: dict}


@dataclasses.dataclass(frozen=True)
class Schema:
    """The entries of the state that a graph starts with and their types (None: not known); `optional` have defaults."""

    entries: Mapping[str, Any]
    optional: frozenset[str]


def state_schema(runnable: Any) -> Schema | None:
    """The input schema of a compiled graph; None for what is no graph with a state of several entries."""
    builder = getattr(runnable, "builder", None)
    kind = getattr(builder, "input_schema", None)
    names = getattr(builder, "schemas", {}).get(kind) if kind is not None else None
    if not names or "__root__" in names:
        return None
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # annotations may name what only a type checker imports
        hints = {}
    optional = frozenset(name for name in names if _has_default(kind, name))
    return Schema({name: hints.get(name) for name in names}, optional)


def state_forms(schema: Schema) -> tuple[list[Callable[[Query], dict[str, Any]]], bool]:
    """The states to start with, of which the first that works is kept, and whether they have the history: the question
    alone, then with a neutral value for each other entry. Raises UsageError if no entry is for a question."""
    entries = schema.entries
    question, messages = _question_key(entries), MESSAGES in entries
    if not question and not messages:
        raise UsageError(
            f"The graph's state ({', '.join(entries)}) has no entry that looks like a question. Name one `question`, "
            "or ask a function that takes a question and runs the graph."
        )
    history = next((key for key in HISTORY_KEYS if key in entries), "")

    def alone(query: Query) -> dict[str, Any]:
        values: dict[str, Any] = {question: query.question} if question else {}
        if messages:
            values[MESSAGES] = [*turns(query), ("user", query.question)]
        if history:
            values[history] = turns(query)
        return values

    rest = [name for name in entries if name not in (question, MESSAGES, history, *schema.optional)]
    forms: list[Callable[[Query], dict[str, Any]]] = [alone]
    if rest:
        forms.append(lambda query: {**{name: _neutral(entries[name]) for name in rest}, **alone(query)})
    return forms, messages or bool(history)


def _question_key(entries: Mapping[str, Any]) -> str:
    """The entry for the question: `question`, `query` or `input`, else the only one whose name has such a word, else
    the only text."""
    for key in _QUESTION_KEYS:
        if key in entries:
            return key
    texts = [name for name, kind in entries.items() if kind in (str, None) and name != MESSAGES]
    similar = [name for name in texts if any(part in name.lower() for part in _PARTS)]
    if len(similar) == 1:
        return similar[0]
    only = [name for name in texts if entries[name] is str]
    return only[0] if len(only) == 1 and MESSAGES not in entries else ""


def _neutral(kind: Any) -> Any:
    """An empty value of a type; None for one that is not known."""
    make = _NEUTRAL.get(typing.get_origin(kind) or kind)
    return make() if make is not None else None


def _has_default(kind: Any, name: str) -> bool:
    if dataclasses.is_dataclass(kind):
        item = next((item for item in dataclasses.fields(kind) if item.name == name), None)
        return item is not None and not item.default is item.default_factory is dataclasses.MISSING
    fields = getattr(kind, "model_fields", {})
    return name in fields and not fields[name].is_required()


def turns(query: Query) -> list[tuple[str, str]]:
    """The earlier turns of a conversation, as LangChain takes messages."""
    return [(turn.role, turn.content) for turn in query.history]
