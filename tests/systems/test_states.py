"""What a graph is asked with, by the input schema of its state. The real graphs are in `test_later_stages.py`."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypedDict

import pytest

from ragstone.errors import UsageError
from ragstone.systems.frameworks.states import state_forms, state_schema
from ragstone.types import Query, Turn


class Asking(TypedDict):
    question: str
    documents: list[str]
    tries: int
    user: "NotImported"  # type: ignore[name-defined]  # noqa: F821


class Counting(TypedDict):
    query: str
    tries: int
    found: dict[str, str] | None


class Talking(TypedDict):
    messages: list[Any]
    user_question: str
    chat_history: list[Any]


@dataclass
class Defaults:
    input: str
    language: str
    tries: int = 3
    found: list[str] = field(default_factory=list)


def forms_of(schema: type) -> list[dict[str, Any]]:
    """The states that a graph with this input schema is asked with."""
    names = dict.fromkeys(schema.__annotations__)
    graph = SimpleNamespace(builder=SimpleNamespace(input_schema=schema, schemas={schema: names}))
    found = state_schema(graph)
    assert found is not None
    forms, _ = state_forms(found)
    return [form(Query("why", history=(Turn("user", "hi"),))) for form in forms]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [(Asking, [{"question": "why"}, {"question": "why", "documents": None, "tries": None, "user": None}]),
     (Counting, [{"query": "why"}, {"query": "why", "tries": 0, "found": None}]),
     (Talking, [{"user_question": "why", "messages": [("user", "hi"), ("user", "why")],
                 "chat_history": [("user", "hi")]}]),
     (Defaults, [{"input": "why"}, {"input": "why", "language": ""}])],
)  # fmt: skip
def test_the_question_is_asked_alone_and_then_with_neutral_values(schema: type, expected: list[dict[str, Any]]) -> None:
    assert forms_of(schema) == expected


def test_a_state_without_a_place_for_a_question_is_named() -> None:
    class Two(TypedDict):
        first: str
        second: str

    with pytest.raises(UsageError, match=r"state \(first, second\) has no entry that looks like a question"):
        forms_of(Two)


def test_what_is_no_graph_has_no_schema() -> None:
    assert state_schema(SimpleNamespace()) is None
    assert (
        state_schema(SimpleNamespace(builder=SimpleNamespace(input_schema=dict, schemas={dict: {"__root__": 1}})))
        is None
    )
