"""What the tests of the user's own data share: a few rows in two languages, and what they must become."""

from typing import Any

from ragstone.datasets.tabular import EvalData
from ragstone.types import Response

ROWS: list[dict[str, Any]] = [
    {
        "user_input": "When does the ferry leave?",
        "retrieved_contexts": ["The ferry leaves at 8, \"sharp\".", "Tickets; cost 2.40\nand 3.10, return."],
        "response": "At 8 [1].",
        "reference": "At eight o'clock.",
        "topic": "town",
    },
    {
        "user_input": "图书馆周一开放吗？",
        "retrieved_contexts": ["图书馆周一闭馆。"],
        "response": "不开放，周一闭馆。",
        "reference": "不开放。",
        "topic": "城市",
    },
]  # fmt: skip


def answer(data: EvalData, place: int = 0) -> Response:
    """The response of an item that has one."""
    response = data.items[place].response
    assert response is not None
    return response


def texts(data: EvalData, place: int = 0) -> list[str]:
    """The texts of what was retrieved for an item."""
    return [passage.text for passage in answer(data, place).passages]


def assert_is_rows(data: EvalData) -> None:
    """That the data are `ROWS`, to the character."""
    assert [item.sample.question for item in data.items] == [row["user_input"] for row in ROWS]
    assert [answer(data, place).answer for place in range(len(ROWS))] == [row["response"] for row in ROWS]
    assert [texts(data, place) for place in range(len(ROWS))] == [row["retrieved_contexts"] for row in ROWS]
    assert [item.sample.references for item in data.items] == [((row["reference"],),) for row in ROWS]
    assert [item.extra["topic"] for item in data.items] == [row["topic"] for row in ROWS]
    assert [item.sample.language for item in data.items] == ["en", "zh"]
    assert data.schema == "ragas"
