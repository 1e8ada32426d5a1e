"""Tests of several endpoints of one model, with real local servers that die and come back."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import verdict
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone import evaluate_async
from ragstone.errors import AllowanceSpent, ModelError, ServerFault, TimedOut, Unreachable, UsageError
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.models.allowance import Allowance
from ragstone.models.client import Client
from ragstone.models.providers import PLUGINS
from ragstone.models.replicas import Replicas
from ragstone.runs import open_run
from ragstone.types import Request, Turn


def ask(text: object = "Question") -> Request:
    return Request((Turn("user", str(text)),))


class Clock:
    """A clock that moves when it is told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@contextlib.asynccontextmanager
async def replicas(
    endpoints: Sequence[FakeEndpoint], clock: Callable[[], float], **options: Any
) -> AsyncIterator[Replicas]:
    """One model at these endpoints, without retries."""
    calling = ModelOptions(**options)
    urls = [endpoint.base_url for endpoint in endpoints]
    clients = [Client(PLUGINS["compat"], "m", ModelOptions(base_url=url, **options), key="") for url in urls]
    async with Replicas(clients, calling, clock=clock) as model:
        yield model


def counts(*endpoints: FakeEndpoint) -> list[int]:
    return [len(endpoint.seen) for endpoint in endpoints]


async def stop(endpoint: FakeEndpoint) -> None:
    await endpoint.__aexit__(None, None, None)


async def test_each_request_goes_to_the_least_busy_endpoint() -> None:
    async with FakeEndpoint() as quick, FakeEndpoint(lambda *_: Act("stall")) as stuck:
        async with replicas([stuck, quick], Clock()) as model:
            waiting = asyncio.create_task(model.generate(ask()))
            await stuck.until(lambda: stuck.seen)
            for number in range(5):
                await model.generate(ask(number))
            waiting.cancel()
        assert counts(stuck, quick) == [1, 5]


async def test_idle_endpoints_take_turns() -> None:
    async with FakeEndpoint() as one, FakeEndpoint() as other, FakeEndpoint() as third:
        async with replicas([one, other, third], Clock()) as model:
            for number in range(9):
                await model.generate(ask(number))
        assert counts(one, other, third) == [3, 3, 3]


async def test_an_endpoint_that_died_is_left_out_for_growing_pauses_and_asked_again_when_it_is_back() -> None:
    clock = Clock()
    async with FakeEndpoint() as well, FakeEndpoint() as dying, replicas([dying, well], clock) as model:
        port = dying.port
        await stop(dying)
        for pause in (1.0, 2.0, 4.0):
            with pytest.raises(Unreachable):
                await model.generate(ask("found dead"))
            before = counts(well)[0]
            clock.now += pause - 0.01
            for number in range(3):
                await model.generate(ask(number))
            assert counts(well)[0] == before + 3
            clock.now += 0.02
        await dying.start(port)
        seen = counts(dying)[0]
        for number in range(4):
            await model.generate(ask(f"again {number}"))
        assert counts(dying)[0] >= seen + 2


@pytest.mark.parametrize(("act", "error"), [(Act("status", status=503), ServerFault), (Act("stall"), TimedOut)])
async def test_a_server_error_and_a_timeout_are_an_illness(act: Act, error: type[ModelError]) -> None:
    async with FakeEndpoint(lambda *_: act) as sick, FakeEndpoint() as well:
        async with replicas([sick, well], Clock(), timeout=0.2) as model:
            with pytest.raises(error):
                await model.generate(ask())
            for number in range(4):
                await model.generate(ask(number))
        assert counts(sick, well) == [1, 4]


async def test_a_request_that_is_refused_is_no_illness() -> None:
    plan = [Act("status", status=400, body={"error": {"message": "too long"}})]
    async with FakeEndpoint(plan) as one, FakeEndpoint() as other:
        async with replicas([one, other], Clock()) as model:
            with pytest.raises(ModelError):
                await model.generate(ask())
            for number in range(3):
                await model.generate(ask(number))
        assert counts(one, other) == [2, 2]


async def test_requests_that_fail_together_are_one_failure() -> None:
    clock = Clock()
    async with (
        FakeEndpoint() as well,
        FakeEndpoint(lambda *_: Act("reset")) as sick,
        replicas([sick, well], clock) as model,
    ):
        await asyncio.gather(*(model.generate(ask(number)) for number in range(8)), return_exceptions=True)
        assert counts(sick)[0] == 4
        clock.now += 1.01
        with pytest.raises(ModelError):
            await model.generate(ask("tried again after the first pause"))


async def test_another_endpoint_is_asked_without_the_wait_that_a_sick_one_asks_for() -> None:
    async with FakeEndpoint([Act("status", status=503, retry_after="3600")]) as sick, FakeEndpoint() as well:
        options = ModelOptions(base_url=[sick.base_url, well.base_url])
        async with open_model("compat/m", options) as model, asyncio.timeout(20):
            assert (await model.generate(ask())).text
        assert counts(sick, well) == [1, 1]


async def test_a_run_goes_on_where_an_endpoint_dies_and_its_settings_do_not_tell_which_one_answered(
    tmp_path: Path,
) -> None:
    def answer(payload: Any) -> Any:
        return verdict(Request(tuple(Turn(turn["role"], turn["content"]) for turn in payload["messages"])))

    async with FakeEndpoint(answer=answer) as well, FakeEndpoint(lambda *_: Act("reset"), answer=answer) as dead:
        questions = []
        for name, urls in (("one", well.base_url), ("two", [well.base_url, dead.base_url])):
            result = await evaluate_async(
                rows(), "faithfulness", judge="compat/m", judge_base_url=urls, run=tmp_path / f"{name}.run",
                model_options=ModelOptions(cache=None),
            )  # fmt: skip
            assert result.outcome.complete
            with open_run(tmp_path / f"{name}.run") as run:
                questions.append(run.meta["question"])
        assert dead.seen
        assert questions[0] == questions[1]


async def test_where_all_are_sick_the_call_ends_with_the_usual_error() -> None:
    async with FakeEndpoint() as one, FakeEndpoint() as other:
        urls = [one.base_url, other.base_url]
        await stop(one)
        await stop(other)
        async with open_model("compat/m", ModelOptions(base_url=urls, attempts=3)) as model:
            with pytest.raises(Unreachable, match="no connection"):
                await model.generate(ask())


async def test_a_reply_is_cached_whichever_endpoint_gave_it(tmp_path: Path) -> None:
    async with FakeEndpoint() as one, FakeEndpoint() as other:
        options = ModelOptions(base_url=[one.base_url, other.base_url], cache=tmp_path)
        for _ in range(2):
            async with open_model("compat/m", options) as model:
                replies = [await model.generate(ask(number)) for number in range(4)]
        assert all(reply.cached for reply in replies)
        assert counts(one, other) == [2, 2]
        async with open_model("compat/m", ModelOptions(base_url=one.base_url, cache=tmp_path)) as alone:
            assert (await alone.generate(ask(1))).cached


async def test_limits_hold_for_all_endpoints_together() -> None:
    allowance = Allowance.of(8, None, None)
    async with FakeEndpoint(delay=0.01) as one, FakeEndpoint(delay=0.01) as other:
        urls = [one.base_url, other.base_url]
        async with open_model("compat/m", ModelOptions(base_url=urls, in_flight=2, allowance=allowance)) as model:
            await asyncio.gather(*(model.generate(ask(number)) for number in range(8)))
            with pytest.raises(AllowanceSpent):
                await model.generate(ask("one more"))
        assert one.most_at_once + other.most_at_once <= 2
        assert counts(one, other) == [4, 4]
        async with open_model("compat/m", ModelOptions(base_url=urls, requests_per_minute=2)) as model:
            await model.generate(ask("first"))
            await model.generate(ask("second"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await model.generate(ask("third"))
        assert sum(counts(one, other)) == 10


async def test_an_embedder_goes_on_where_an_endpoint_dies() -> None:
    async with FakeEndpoint() as one, FakeEndpoint() as other:
        urls = [one.base_url, other.base_url]
        await stop(one)
        async with open_embedder("compat/e", ModelOptions(base_url=urls)) as embedder:
            vectors = await embedder.embed([f"text {number}" for number in range(200)], kind="query")
        assert vectors.shape[0] == 200
        assert counts(other)[0] == 4


def test_an_address_that_is_none_is_told_whichever_it_is() -> None:
    with pytest.raises(UsageError, match="ftp"):
        asyncio.run(_opened(["http://127.0.0.1:1/v1", "ftp://nowhere"]))


async def _opened(urls: list[str]) -> None:
    async with open_model("compat/m", ModelOptions(base_url=urls)):
        pass
