"""A run ends when an endpoint refuses whatever it is asked, says why, and goes on when the reason is gone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.errors import AlwaysFailed, ContentBlocked, EndpointRefused, Rejected, SystemFailed
from ragstone.models import ModelOptions, open_model
from ragstone.runs import Outcome, RunFile, open_run, run_cases
from ragstone.runs.halt import FIRST
from ragstone.types import Case, Metric, Model, Need, Query, Request, Response, Sample, Score, System, Turn

CASES = [Case(f"c{n:03}", Sample(f"s{n}", f"Question {n}?"), {}, Query(f"Question {n}?")) for n in range(200)]


class Asker:
    """A system that asks a model."""

    spec: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, model: Model, name: str) -> None:
        self.model, self.id = model, name

    async def answer(self, query: Query) -> Response:
        return Response((await self.model.generate(Request((Turn("user", query.question),)))).text)


class Plain:
    """A system that asks nobody."""

    id, spec = "plain", dict[str, Any]()

    async def answer(self, query: Query) -> Response:
        return Response("Yes.")


class Broken:
    """A system of the user's own that fails as `failure` says for each question."""

    id, spec = "broken", dict[str, Any]()

    def __init__(self, failure: Callable[[int], Exception | None]) -> None:
        self.failure, self.asked = failure, 0

    async def answer(self, query: Query) -> Response:
        self.asked += 1
        if error := self.failure(self.asked):
            raise error
        return Response("Yes.")


class Judged:
    """A metric that asks a model."""

    name, version, needs = "judged", 1, frozenset({Need.ANSWER})

    def __init__(self, model: Model) -> None:
        self.model = model

    async def score(self, case: Case, response: Response, /) -> Score:
        await self.model.generate(Request((Turn("user", case.id),)))
        return Score.of(1.0)


@contextlib.asynccontextmanager
async def model_at(endpoint: FakeEndpoint, name: str = "compat/m") -> AsyncIterator[Model]:
    async with open_model(name, ModelOptions(base_url=endpoint.base_url, attempts=1)) as model:
        yield model


async def run(path: Path, systems: list[System], metrics: list[Metric], concurrency: int = 8) -> Outcome:
    with RunFile.create_or_open(path, question={}, info={}, systems={one.id: {} for one in systems}) as file:
        return await run_cases(file, lambda: iter(CASES), systems=systems, metrics=metrics, concurrency=concurrency)


def wrong(status: int = 401) -> FakeEndpoint:
    return FakeEndpoint(lambda *_: Act("status", status=status))


@pytest.mark.parametrize("concurrency", [1, 32])
async def test_a_wrong_key_is_not_tried_for_every_case_and_the_right_one_goes_on(
    tmp_path: Path, concurrency: int
) -> None:
    async with wrong() as endpoint, model_at(endpoint) as model:
        outcome = await run(tmp_path / "a.run", [Asker(model, "asker")], [], concurrency)
        assert 5 <= len(endpoint.seen) <= 5 + concurrency
    assert (outcome.done, outcome.failed, outcome.remaining) == (0, 4, 196)
    assert not outcome.complete
    assert not outcome.interrupted
    assert "5 requests in a row" in outcome.advice
    assert "resume" in outcome.advice
    async with FakeEndpoint() as endpoint, model_at(endpoint) as model:
        outcome = await run(tmp_path / "a.run", [Asker(model, "asker")], [], concurrency)
        assert len(endpoint.seen) == 200
    assert outcome.complete
    assert outcome.done == 200


async def test_a_system_whose_first_ten_questions_all_fail_alike_is_asked_no_more(tmp_path: Path) -> None:
    broken = Broken(lambda _: NameError("name 'k' is not defined"))
    outcome = await run(tmp_path / "a.run", [broken, Plain()], [], concurrency=2)
    assert broken.asked <= FIRST + 2
    assert outcome.done == len(CASES)  # the other system's
    assert [type(error) for error in outcome.refused] == [AlwaysFailed]
    assert outcome.refused[0].exit_code == 2
    assert outcome.advice.startswith(
        "broken: the first 10 questions all failed, so no more are started (name 'k' is not defined)."
    )
    mended = Broken(lambda _: None)
    outcome = await run(tmp_path / "a.run", [mended, Plain()], [])
    assert outcome.complete
    assert mended.asked == len(CASES)
    assert broken.asked <= FIRST + 2


async def test_the_same_command_again_asks_what_the_first_ten_failures_kept_it_from(tmp_path: Path) -> None:
    """The first ten questions may be of a kind of their own: nobody is kept from the rest."""
    broken = Broken(lambda number: ValueError("too long") if number <= 10 else None)
    outcome = await run(tmp_path / "a.run", [broken], [], concurrency=1)
    assert (outcome.failed, outcome.done, bool(outcome.refused)) == (10, 0, True)
    broken.asked = 0
    outcome = await run(tmp_path / "a.run", [broken], [], concurrency=1)
    assert (outcome.failed, outcome.done, bool(outcome.refused)) == (10, len(CASES) - 10, False)


async def test_what_was_answered_before_and_is_not_reached_again_does_not_remain(tmp_path: Path) -> None:
    """The second half was answered by an earlier command, three of it with an error; the user stops in the first."""
    path, half, stop = tmp_path / "a.run", len(CASES) // 2, asyncio.Event()

    def failure(number: int) -> Exception | None:
        if number == half + 20:
            stop.set()
        return ValueError(f"bad {number}") if number % half in (1, 2, 3) else None

    broken = Broken(failure)
    for cases in (CASES[half:], CASES):
        with RunFile.create_or_open(path, question={}, info={}, systems={broken.id: {}}) as file:
            outcome = await run_cases(
                file, partial(iter, cases), systems=[broken], metrics=[], concurrency=1, retry_failed=False, stop=stop
            )
    with open_run(path) as held:
        (plan,) = held.plans().values()
    assert outcome.interrupted
    assert outcome.remaining == plan.total - plan.asked == half - 20
    assert (outcome.done, outcome.failed, outcome.already) == (half + 20 - 6, 6, half)
    assert f"{outcome.remaining} of {len(CASES)} cases remain" in outcome.advice


@pytest.mark.parametrize(
    "failure",
    [
        lambda number: None if number == 3 else ValueError("bad"),  # one answer in between
        lambda number: ValueError(f"bad {number}"),  # each for a reason of its own
        lambda number: Rejected("too long"),  # said of one request
        lambda number: ContentBlocked("blocked"),
        lambda number: SystemFailed("raised", "as recorded", recorded=True),
    ],
)
async def test_failures_that_say_nothing_of_the_next_question_end_no_run(
    tmp_path: Path, failure: Callable[[int], Exception | None]
) -> None:
    broken = Broken(failure)
    outcome = await run(tmp_path / "a.run", [broken], [], concurrency=1)
    assert broken.asked == len(CASES)
    assert not outcome.refused


@pytest.mark.parametrize("first", ["wrong", "right"])
async def test_where_one_model_is_not_there_the_other_systems_go_on(tmp_path: Path, first: str) -> None:
    async with wrong(404) as bad, FakeEndpoint() as good, model_at(bad) as missing, model_at(good) as model:
        systems: list[System] = [Asker(missing, "wrong"), Asker(model, "right"), Plain()]
        if first == "right":
            systems = systems[1::-1] + systems[2:]
        outcome = await run(tmp_path / "a.run", systems, [])
        assert len(bad.seen) <= 5 + 8
        assert len(good.seen) == 200
    assert (outcome.done, outcome.failed, outcome.remaining) == (400, 4, 196)
    (error,) = outcome.refused
    assert isinstance(error, EndpointRefused)
    with open_run(tmp_path / "a.run") as held:
        counts = held.counts()
    assert (counts["right"].answered, counts["plain"].answered, counts["wrong"].records) == (200, 200, 4)


async def test_a_judge_that_refuses_ends_the_run_and_answers_are_kept_to_be_scored(tmp_path: Path) -> None:
    async with FakeEndpoint() as good, wrong(403) as bad, model_at(good) as model, model_at(bad) as judge:
        outcome = await run(tmp_path / "a.run", [Asker(model, "asker")], [Judged(judge)])
        assert len(bad.seen) <= 5 + 8
        answered = len(good.seen)
        assert answered < 200
    assert outcome.refused
    assert outcome.remaining == 200 - outcome.done
    async with FakeEndpoint() as good, FakeEndpoint() as right, model_at(good) as model, model_at(right) as judge:
        outcome = await run(tmp_path / "a.run", [Asker(model, "asker")], [Judged(judge)])
        assert len(right.seen) == 200
        assert len(good.seen) == 200 - answered  # no answer was lost
    assert outcome.complete
    with open_run(tmp_path / "a.run") as held:
        assert all(record.scores["judged"].value == 1.0 for record in held.records())
