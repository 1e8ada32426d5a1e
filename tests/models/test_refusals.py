"""An endpoint that refuses whatever it is asked is not asked for every case."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.error_text import told
from ragstone.errors import (
    Dropped,
    EndpointRefused,
    ModelError,
    Rejected,
    ServerFault,
    TimedOut,
    Unauthorized,
    Unreachable,
)
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.models import refusals as refusals_module
from ragstone.models.refusals import ATTEMPTS, LIMIT, SILENT, Refusals
from ragstone.models.rerank import open_reranker
from ragstone.models.retry import Patience, retrying
from ragstone.types import Request, Turn


def ask(number: int) -> Request:
    return Request((Turn("user", f"Question {number}"),))


def options(endpoint: FakeEndpoint, **more: Any) -> ModelOptions:
    return ModelOptions(base_url=endpoint.base_url, attempts=1, **more)


async def outcomes(endpoint: FakeEndpoint, count: int, **more: Any) -> list[type[BaseException] | None]:
    """How calls end that are made one after the other."""
    found: list[type[BaseException] | None] = []
    async with open_model("compat/m", options(endpoint, **more)) as model:
        for number in range(count):
            try:
                await model.generate(ask(number))
                found.append(None)
            except (ModelError, EndpointRefused) as error:
                found.append(type(error))
    return found


@pytest.mark.parametrize(("status", "kind"), [(401, Unauthorized), (403, Unauthorized), (404, Rejected)])
async def test_after_five_refusals_in_a_row_nothing_is_sent(status: int, kind: type[ModelError]) -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=status)) as endpoint:
        assert await outcomes(endpoint, 20) == [kind] * (LIMIT - 1) + [EndpointRefused] * 16
        assert len(endpoint.seen) == LIMIT == 5


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_refusal_of_one_request_says_nothing_of_the_next(status: int) -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=status)) as endpoint:
        assert await outcomes(endpoint, 20) == [Rejected] * 20
        assert len(endpoint.seen) == 20


async def test_a_value_or_a_refusal_of_one_request_begins_the_row_anew_and_a_fault_does_not() -> None:
    wrong = [Act("status", status=401)] * 4
    for between, kind in ((Act(), None), (Act("status", status=400), Rejected)):
        async with FakeEndpoint([*wrong, between, *wrong, Act()]) as endpoint:
            assert await outcomes(endpoint, 10) == [Unauthorized] * 4 + [kind] + [Unauthorized] * 4 + [None]
    async with FakeEndpoint([*wrong, Act("status", status=500), *wrong]) as endpoint:
        assert (await outcomes(endpoint, 7))[4:] == [ServerFault, EndpointRefused, EndpointRefused]


@pytest.mark.parametrize("limits", [{"in_flight": 8}, {"in_flight": 8, "requests_per_minute": 10}])
async def test_calls_that_wait_for_their_turn_are_not_sent_any_more(limits: dict[str, Any]) -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=401)) as endpoint:
        async with open_model("compat/m", options(endpoint, **limits)) as model:
            ended = await asyncio.gather(*(model.generate(ask(n)) for n in range(100)), return_exceptions=True)
        assert len(endpoint.seen) <= LIMIT + 8
    assert sum(isinstance(error, EndpointRefused) for error in ended) == 96
    assert sum(isinstance(error, Unauthorized) for error in ended) == 4


async def test_the_message_has_the_reason_and_the_exit_code_says_whether_there_was_an_answer() -> None:
    wrong = [Act("status", status=401, body={"error": {"message": "Incorrect API key"}})] * 5
    for plan, code in ((wrong, 2), ([Act(), *wrong], 3)):
        async with FakeEndpoint(plan) as endpoint, open_model("openai/m", options(endpoint)) as model:
            calls = [await asyncio.gather(model.generate(ask(n)), return_exceptions=True) for n in range(len(plan))]
        errors = [ended for (ended,) in calls if isinstance(ended, Unauthorized | EndpointRefused)]
        assert [error.exit_code for error in errors] == [code] * 5
        last = errors[-1]
        assert isinstance(last, EndpointRefused)
        for word in ("Incorrect API key", "OPENAI_API_KEY", "5 requests in a row"):
            assert word in str(last)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_where_nobody_listens_ten_attempts_end_it_soon_with_the_remedy() -> None:
    pauses: list[float] = []

    def noted(low: float, high: float) -> float:
        pauses.append(high)
        return 0.0

    nobody = ModelOptions(base_url=f"http://127.0.0.1:{free_port()}/v1", attempts=6)
    async with open_model("compat/m", nobody) as model:
        patience = cast("Any", model)._model._model._model._patience  # a user's are random, up to a second each
        object.__setattr__(patience, "uniform", noted)

        ended = await asyncio.gather(*(model.generate(ask(n)) for n in range(50)), return_exceptions=True)
    assert [type(error) for error in ended].count(Unreachable) <= 1
    assert len(pauses) <= ATTEMPTS
    assert sum(pauses) <= 9.0
    (message,) = {str(error) for error in ended if isinstance(error, EndpointRefused)}
    assert "Check that it runs at this address. 10 requests in a row failed, so no more are sent." in message
    assert all(error.exit_code == 2 for error in ended if isinstance(error, EndpointRefused))


async def test_an_endpoint_that_has_answered_is_waited_for_as_long_as_before() -> None:
    refusals = Refusals()
    patience = Patience(uniform=lambda low, high: high, refusals=refusals)
    assert [patience.pause(n, Unreachable("gone")) for n in range(1, 6)] == [0.5, 1.0, 1.0, 1.0, 1.0]

    async def value() -> int:
        return 1

    assert await refusals.guard(value) == 1
    assert [patience.pause(n, Unreachable("gone")) for n in range(1, 20)][:5] == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_a_connection_that_drops_among_faults_does_not_end_the_run() -> None:
    """Somebody is there: nine faults and one dropped connection are not ten requests that found nobody."""
    refusals = Refusals()
    for _ in range(ATTEMPTS - 1):
        assert refusals.count_attempt(ServerFault("a fault")) > 0
    with pytest.raises(Unreachable, match=r"^gone$"):  # not repeated, and the run goes on
        refusals.count_attempt(Unreachable("gone"))
    refusals.check()
    for _ in range(ATTEMPTS - 2):
        with pytest.raises(Unreachable, match=r"^gone$"):
            refusals.count_attempt(Unreachable("gone"))
    with pytest.raises(EndpointRefused, match=r"^gone 10 requests in a row failed") as caught:
        refusals.count_attempt(Unreachable("gone"))
    assert caught.value.exit_code == 2  # the address may be wrong


def test_faults_and_dropped_connections_by_turns_end_it_after_thirty() -> None:
    refusals = Refusals()
    for number in range(3 * ATTEMPTS - 1):
        error = (ServerFault, Unreachable)[number % 2](f"error {number}")
        if number < ATTEMPTS - 1:
            refusals.count_attempt(error)
        else:
            with pytest.raises(type(error)):
                refusals.count_attempt(error)
    with pytest.raises(EndpointRefused, match=r"^gone 30 requests in a row failed") as caught:
        refusals.count_attempt(Unreachable("gone"))
    assert caught.value.exit_code == 3  # somebody is there
    with pytest.raises(EndpointRefused) as later:
        refusals.check()
    assert (str(later.value), later.value.exit_code) == (str(caught.value), 3)


@pytest.mark.parametrize("status", [429, 503])
async def test_an_endpoint_that_asks_for_a_day_of_waiting_is_not_waited_for(status: int) -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=status, retry_after="999999")) as endpoint:
        async with open_model("compat/m", ModelOptions(base_url=endpoint.base_url)) as model:
            ended = await asyncio.gather(*(model.generate(ask(n)) for n in range(20)), return_exceptions=True)
        assert len(endpoint.seen) == LIMIT
    last = ended[-1]
    assert isinstance(last, EndpointRefused)
    assert last.exit_code == 3  # nothing of the input is wrong
    assert str(last).startswith("compat/m: ")
    assert "It asks to be tried again in 277 h 47 min. It refused 5 requests in a row, so no more are sent." in str(
        last
    )
    assert "它要求 277 h 47 min 之后再试。它连续拒绝了 5 个请求，因此不再发送。" in told(str(last), "zh")


@pytest.mark.parametrize(("in_flight", "most"), [(1, LIMIT), (8, 9)])
async def test_an_endpoint_that_never_replies_is_given_up_after_two_requests_that_waited_or_five_one_by_one(
    monkeypatch: pytest.MonkeyPatch, in_flight: int, most: int
) -> None:
    """The first question waited for its whole time alone, and then all others did, by turns."""
    monkeypatch.setattr(refusals_module, "ALONE", 0.05)
    never = asyncio.Event()
    sent = 0

    async def hang() -> int:
        nonlocal sent
        sent += 1
        await never.wait()
        return 1

    refusals = Refusals()
    patience = Patience(deadline=0.3, refusals=refusals)
    places = asyncio.Semaphore(in_flight)

    async def call() -> int:
        async with places:
            return await refusals.guard(retrying, hang, patience, where="m")

    ended = await asyncio.gather(*(call() for _ in range(50)), return_exceptions=True)
    assert SILENT <= sent <= most
    assert not {type(error) for error in ended} - {TimedOut, EndpointRefused}
    (message,) = {str(error) for error in ended if isinstance(error, EndpointRefused)}
    assert message.startswith("m: no reply within 0.3 s. No request had a complete reply, so no more are sent. ")
    assert "还没有一个请求得到完整的回复，因此不再发送。如果它只是较慢，请放宽时限。" in told(message, "zh")
    assert {error.exit_code for error in ended if isinstance(error, EndpointRefused)} == {3}


async def test_two_questions_that_take_too_long_one_by_one_do_not_end_a_run() -> None:
    """A run that is resumed begins with those that failed."""
    never = asyncio.Event()

    async def call(number: int) -> int:
        if number < 2:
            await never.wait()
        return number

    refusals, ended = Refusals(), list[object]()
    patience = Patience(deadline=0.1, refusals=refusals)
    for number in range(4):
        ended += await asyncio.gather(
            refusals.guard(retrying, lambda number=number: call(number), patience, where="m"), return_exceptions=True
        )
    assert [type(one) for one in ended] == [TimedOut, TimedOut, int, int]


@pytest.mark.parametrize("sign", [None, ServerFault("busy"), Unauthorized("no"), Dropped("gone"), Rejected("long")])
async def test_an_endpoint_that_gave_a_sign_is_not_taken_for_silent(sign: ModelError | None) -> None:
    refusals = Refusals()

    async def once() -> None:
        if sign is not None:
            raise sign

    results: list[object] = await asyncio.gather(refusals.guard(once), return_exceptions=True)
    assert results == [sign]
    for _ in range(SILENT + 1):
        assert refusals.count_attempt(TimedOut("late")) > 0
    refusals.check()


@pytest.mark.parametrize("name", ["openai/m", "compat/m", "groq/m"])
async def test_a_used_up_account_is_asked_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "k")
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    async with FakeEndpoint(lambda *_: Act("status", status=429, body=body)) as endpoint:
        async with open_model(name, ModelOptions(base_url=endpoint.base_url)) as model:
            ended = await asyncio.gather(*(model.generate(ask(n)) for n in range(20)), return_exceptions=True)
        assert len(endpoint.seen) == 1
    assert {type(error) for error in ended} == {EndpointRefused}
    assert "Top it up, or use another key. No more are sent." in str(ended[0])


async def test_an_embedder_and_a_reranker_are_not_asked_on_either() -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=403)) as endpoint:
        async with open_embedder("compat/e", options(endpoint)) as embedder:
            await refused(lambda n: embedder.embed([f"text {n}"], kind="query"))
        assert len(endpoint.seen) == LIMIT
        async with open_reranker("cohere/m", options(endpoint), url=endpoint.base_url) as reranker:
            await refused(lambda n: reranker.rerank(f"query {n}", ["a", "b"]))
        assert len(endpoint.seen) == 2 * LIMIT


@pytest.mark.parametrize(("status", "ways"), [(404, 4), (401, 1)])
async def test_a_reranker_whose_address_is_being_found_out_is_asked_by_one_request(status: int, ways: int) -> None:
    """Not in every way for every query under way."""
    async with FakeEndpoint(lambda *_: Act("status", status=status)) as endpoint:
        async with open_reranker("rerank/m", options(endpoint)) as reranker:
            calls = (reranker.rerank(f"query {n}", ["a", "b"]) for n in range(30))
            ended = await asyncio.gather(*calls, return_exceptions=True)
        assert len(endpoint.seen) == ways
    assert all(isinstance(error, ModelError | EndpointRefused) for error in ended)
    assert isinstance(ended[-1], EndpointRefused)


async def refused(call: Callable[[int], Any]) -> None:
    for number in range(LIMIT - 1):
        with pytest.raises(Unauthorized):
            await call(number)
    for number in range(LIMIT - 1, 12):
        with pytest.raises(EndpointRefused):
            await call(number)
