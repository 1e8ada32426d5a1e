"""The limits of a command hold for a system of the user's own: a function, an address, an object."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.diagnosis.planted import Planted
from tests.diagnosis.test_diagnose import corpus, labelled
from tests.systems.test_http import serving

from ragstone import diagnose, run
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.errors import AllowanceSpent
from ragstone.evaluation.questions import run_async
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.prices import Price
from ragstone.systems import open_system
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Query

__all__ = ["corpus"]

QUESTIONS = [{"id": f"q{n}", "question": f"What is {n} and {n}?", "reference": str(2 * n)} for n in range(9)]
USAGE = {"prompt_tokens": 100_000, "completion_tokens": 0}


def test_a_limit_on_requests_stops_a_function_and_the_same_command_with_a_larger_one_goes_on(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "4"

    given: dict[str, Any] = {"metrics": "answer_match", "run": tmp_path / "f.run"}
    stopped = run(QUESTIONS, ask, max_requests=4, **given)
    assert len(asked) == 4
    assert [error.exit_code for error in stopped.outcome.refused] == [3]
    assert stopped.summary["answer_match"]["n"] == 4  # nothing is lost
    assert run(QUESTIONS, ask, max_requests=40, **given).outcome.complete
    assert sorted(asked) == sorted(row["question"] for row in QUESTIONS)  # nothing is asked twice


async def test_the_usage_that_an_address_reports_counts_against_a_limit_on_the_cost(tmp_path: Path) -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((await request.json())["question"])
        return web.json_response({"answer": "4", "usage": USAGE})

    async with serving(handler) as url:
        target = HttpTarget(url, usage="usage")
        given: dict[str, Any] = {"metrics": "answer_match", "run": tmp_path / "h.run", "price": "1/1", "concurrency": 1}
        stopped = await run_async(QUESTIONS, target, max_cost=0.35, **given)
        assert len(seen) == 4  # a tenth each: the fourth reaches the limit
        assert [error.exit_code for error in stopped.outcome.refused] == [3]
        resumed = await run_async(QUESTIONS, target, max_cost=5.0, **given)
        assert resumed.outcome.complete
        assert len(seen) == len(QUESTIONS)


def test_a_diagnosis_of_an_object_stops_at_its_limit_and_goes_on_where_it_stopped(tmp_path: Path, corpus: Path) -> None:
    def asked(name: str, most: int | None) -> tuple[int, Any]:
        system = Planted(frozenset({"lost"}))
        result = diagnose(labelled(), system, corpus=corpus, run=tmp_path / name, max_requests=most)
        return sum(not query.retrieve_only for query in system.asked), result

    requests, whole = asked("whole.run", None)
    first, stopped = asked("cut.run", 33)
    assert first == 33
    assert [error.exit_code for error in stopped.outcome.refused] == [3]
    rest, resumed = asked("cut.run", 3_000)
    assert first + rest == requests
    assert resumed.outcome.complete
    assert resumed.causes() == whole.causes()


def test_a_limit_that_the_first_probes_reach_leaves_no_false_note_on_what_the_system_takes(
    tmp_path: Path, corpus: Path
) -> None:
    first = diagnose(labelled(), Planted(), corpus=corpus, run=tmp_path / "p.run", max_requests=len(labelled()) + 1)
    assert [type(error) for error in first.outcome.refused] == [AllowanceSpent]
    assert not first.outcome.complete
    result = diagnose(labelled(), Planted(), corpus=corpus, run=tmp_path / "p.run", max_requests=3_000)
    assert result.outcome.complete
    assert not result.warnings


async def test_an_open_system_that_is_opened_again_counts_once_and_searches_are_free() -> None:
    allowance = Allowance.of(10, None, Price())
    options = ModelOptions(allowance=allowance)
    async with (
        open_system(Planted(), template=RAG_TEMPLATE, options=options) as once,
        open_system(once, template=RAG_TEMPLATE, options=options) as twice,
    ):
        await twice.answer(Query("How much does the Arvo pump weigh?"))
        await twice.answer(Query("How much does the Arvo pump weigh?", retrieve_only=True))
    assert allowance is not None
    assert allowance.spent.requests == 1


@pytest.mark.parametrize("system", ["scripted/{}", "rag(model=scripted/{}, k=2)"])
def test_an_answer_of_a_model_counts_once_in_a_diagnosis(system: str, tmp_path: Path, corpus: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"default": "I do not know."}\n', "utf-8")
    allowance = Allowance.of(10**6, None, Price(1.0, 1.0))
    assert allowance is not None
    options = ModelOptions(cache=None, allowance=allowance)
    result = diagnose(
        labelled()[:2], system.format(script), corpus=corpus, run=tmp_path / "d.run", model_options=options, plan="full"
    )
    asked = [name for item in result.questions for name in (*item.evidence.records, *item.evidence.withdrawn)]
    answers = sum(CONDITIONS[name].takes != "retrieve" for name in asked)
    assert 0 < answers <= allowance.spent.requests <= answers + 5  # and the probes
