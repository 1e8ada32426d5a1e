"""Interventions are tried, not only declared: each outcome has a name."""

from typing import Any

import pytest

from ragstone.errors import TimedOut, Unfinished
from ragstone.responses.stages import stage_step
from ragstone.systems.probes import INTERVENTIONS, probe_interventions
from ragstone.systems.python import system_from
from ragstone.types import Passage, Query, Response

CORPUS = ["one", "two", "three", "four"]


def good(question: str, passages: list[str] | None = None, k: int = 2, retrieve_only: bool = False) -> Any:
    found = CORPUS[:k] if passages is None else passages
    return found if retrieve_only else {"answer": f"From {found}", "contexts": found}


def deaf(question: str, passages: list[str] | None = None, k: int = 2, retrieve_only: bool = False) -> Any:
    """Takes everything, and retrieves for itself all the same."""
    return {"answer": "From my own", "contexts": CORPUS[:2]}


def echoing(question: str, passages: list[str] | None = None) -> Any:
    return {"answer": "It depends.", "contexts": passages or []}


def silent(question: str, passages: list[str] | None = None) -> str:
    """Says nothing about what it does, and only answers questions that it knows."""
    return "I do not know."


def losing(question: str, passages: list[str] | None = None) -> Response:
    """An adapter saw its retriever return the given passages, and its model a prompt without them."""
    given = tuple(Passage(text, text) for text in passages or ())
    return Response("I do not know.", given, (stage_step("fetch", given), stage_step("prompt", (), query="Answer:")))


def poor(question: str, k: int = 2, retrieve_only: bool = False) -> Any:
    return {"answer": "Nothing found", "contexts": []}


def failing(question: str, passages: list[str] | None = None) -> Any:
    if passages is not None:
        raise KeyError("no such field")
    return "fine"


def plain(question: str) -> str:
    return "fine"


@pytest.mark.parametrize("language", ["en", "zh", ""])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (good, ["works", "works", "works", "works"]),
        (deaf, ["ignored", "ignored", "ignored", "works"]),
        (echoing, ["works", "unknown", "not_taken", "not_taken"]),
        (silent, ["unknown", "unknown", "not_taken", "not_taken"]),
        (losing, ["ignored", "works", "not_taken", "not_taken"]),
        (poor, ["not_taken", "not_taken", "unknown", "unknown"]),
        (failing, ["failed", "failed", "not_taken", "not_taken"]),
        (plain, ["not_taken"] * 4),
    ],
)
async def test_each_outcome_has_a_name(function: Any, expected: list[str], language: str) -> None:
    found = await probe_interventions(system_from(function, "app.py:it"), Query("why", language=language))
    assert tuple(found) == INTERVENTIONS
    assert [probe.outcome for probe in found.values()] == expected


async def test_what_was_seen_is_kept() -> None:
    found = await probe_interventions(system_from(good, "it"), Query("why"))
    assert found["passages"].facts == {"where": "answer"}
    assert found["k"].facts == {"found": {"1": 1, "3": 3}}
    assert found["retrieve"].facts == {"found": 2}
    found = await probe_interventions(system_from(echoing, "it"), Query("why"))
    assert found["passages"].facts == {"where": "passages"}
    found = await probe_interventions(system_from(failing, "it"), Query("why"))
    assert "no such field" in found["closed_book"].facts["error"]


async def test_at_most_five_questions_are_asked() -> None:
    asked: list[str] = []

    def counting(question: str, passages: list[str] | None = None, k: int = 2, retrieve_only: bool = False) -> Any:
        asked.append(question)
        return good(question, passages, k, retrieve_only)

    await probe_interventions(system_from(counting, "it"), Query("why"))
    assert len(asked) == 5


async def test_a_system_object_that_raises_is_a_failed_probe() -> None:
    class Broken:
        id, spec, accepts = "broken", {"kind": "broken"}, frozenset({"passages", "k"})

        async def answer(self, query: Query) -> Any:
            raise RuntimeError("the connection was reset")

    found = await probe_interventions(Broken(), Query("why"))
    assert [probe.outcome for probe in found.values()] == ["failed", "failed", "failed", "not_taken"]
    assert found["k"].facts == {"error": "RuntimeError: the connection was reset"}


class Failing:
    """A system that takes passages, whose requests of these numbers get no reply."""

    id, spec, accepts = "failing", {"kind": "failing"}, frozenset({"passages"})

    def __init__(self, *lost: int) -> None:
        self.lost, self.asked = lost, 0

    async def answer(self, query: Query) -> Response:
        self.asked += 1
        if self.asked in self.lost:
            raise TimedOut("failing: no reply within 1 s.")
        return Response(" ".join(passage.text for passage in query.passages or ()) or "no")


async def test_one_lost_reply_says_nothing_of_what_a_system_takes() -> None:
    found = await probe_interventions(Failing(1), Query("why"))
    assert found["passages"].outcome == "works"


async def test_a_system_that_fails_with_passages_and_answers_without_them_is_named() -> None:
    found = await probe_interventions(Failing(1, 2), Query("why"))
    assert found["passages"].outcome == "failed"


async def test_a_system_that_is_gone_is_not_said_to_fail_at_passages() -> None:
    with pytest.raises(
        Unfinished,
        match=r"^The system does not answer any more \(failing: no reply within 1 s\)\. What came is kept: run",
    ):
        await probe_interventions(Failing(1, 2, 3), Query("why"))
