"""Trying again: how often, how long, what not."""

import asyncio
import ssl

import pytest
from tests.models.clock import Clock
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.errors import (
    BadReply,
    ContentBlocked,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    TimedOut,
    Unauthorized,
    Unreachable,
)
from ragstone.models import ModelOptions, open_model
from ragstone.models.http_errors import transport_error
from ragstone.models.retry import Patience, Retrying, retrying
from ragstone.models.scripted import Scripted
from ragstone.types import Request, Turn

REQUEST = Request(messages=(Turn("user", "Who?"),))


def failing(*errors: ModelError) -> Scripted:
    """Raises each of `errors` in turn, then answers."""
    left = list(errors)
    return Scripted(lambda _: left.pop(0) if left else "Paris")


def patience(clock: Clock, *, attempts: int = 6, deadline: float = 120.0, luck: float = 1.0) -> Patience:
    """`luck` 1: every pause is as long as it may be; 0: as short."""
    return Patience(
        attempts=attempts,
        deadline=deadline,
        clock=clock,
        sleep=clock.sleep,
        uniform=lambda low, high: low + luck * (high - low),
    )


@pytest.mark.parametrize("kind", [Unreachable, TimedOut, RateLimited, ServerFault, BadReply])
async def test_what_may_pass_is_tried_again(kind: type[ModelError]) -> None:
    model = failing(kind("no"), kind("no"))
    assert (await Retrying(model, patience(Clock())).generate(REQUEST)).text == "Paris"
    assert len(model.requests) == 3


@pytest.mark.parametrize("kind", [Unauthorized, Rejected, ContentBlocked])
async def test_what_will_not_pass_is_asked_once(kind: type[ModelError]) -> None:
    model = failing(kind("no"))
    clock = Clock()
    with pytest.raises(kind):
        await Retrying(model, patience(clock)).generate(REQUEST)
    assert len(model.requests) == 1
    assert clock.slept == []


async def test_a_certificate_that_is_not_trusted_is_asked_once() -> None:
    cause = ssl.SSLCertVerificationError("self-signed certificate")
    error = transport_error("x", cause)
    error.__cause__ = cause
    model = failing(error)
    with pytest.raises(Unreachable, match="SSL_CERT_FILE"):
        await Retrying(model, patience(Clock())).generate(REQUEST)
    assert len(model.requests) == 1


async def test_attempts_are_bounded_and_the_last_error_is_told() -> None:
    model = failing(*(ServerFault(f"fault {number}") for number in range(10)))
    with pytest.raises(ServerFault, match="fault 3"):
        await Retrying(model, patience(Clock(), attempts=4)).generate(REQUEST)
    assert len(model.requests) == 4


async def test_pauses_are_drawn_between_nothing_and_a_limit_that_doubles_up_to_a_longest() -> None:
    clock = Clock()
    with pytest.raises(ServerFault):
        await Retrying(failing(*[ServerFault("no")] * 20), patience(clock, attempts=10, deadline=1e9)).generate(REQUEST)
    assert clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    lucky = Clock()
    await Retrying(failing(*[ServerFault("no")] * 3), patience(lucky, luck=0.0)).generate(REQUEST)
    assert lucky.slept == [0, 0, 0]


@pytest.mark.parametrize("kind", [RateLimited, ServerFault])
async def test_retry_after_is_waited_and_a_little_more(kind: type[RateLimited | ServerFault]) -> None:
    clock = Clock()
    await Retrying(failing(kind("no", 20.0)), patience(clock)).generate(REQUEST)
    assert clock.slept == [20.5]


async def test_a_retry_after_beyond_the_deadline_ends_the_call_at_once() -> None:
    clock = Clock()
    model = failing(RateLimited("come back in an hour", 3600.0))
    with pytest.raises(RateLimited, match=r"an hour It asks to be tried again in 1 h 0 min\.$") as caught:
        await Retrying(model, patience(clock)).generate(REQUEST)
    assert clock.slept == []
    assert len(model.requests) == 1
    assert caught.value.refuses_all
    model = failing(ServerFault("no", 100.0), RateLimited("a little", 100.0))
    with pytest.raises(RateLimited, match=r"^a little$") as caught:  # another request may come at the right time
        await Retrying(model, patience(clock)).generate(REQUEST)
    assert not caught.value.refuses_all


async def test_pauses_and_attempts_together_never_outlast_the_deadline() -> None:
    clock = Clock()

    async def slow() -> str:
        clock.now += 7.0
        raise ServerFault("no")

    started = clock.now
    with pytest.raises(ServerFault):
        await retrying(slow, patience(clock, attempts=100, deadline=60.0), where="x")
    assert clock.now - started <= 60.0 + 7.0


async def test_a_call_that_hangs_ends_with_the_deadline_and_tells_what_came_before() -> None:
    calls = 0

    async def hang() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ServerFault("it was 503")
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(TimedOut, match=r"0.05 s \(before that: it was 503\)"):
        await retrying(hang, Patience(deadline=0.05, uniform=lambda low, high: 0.0), where="x")


async def test_a_cancelled_call_is_cancelled_and_not_tried_again() -> None:
    model = Scripted(lambda _: asyncio.Event().wait())  # type: ignore[arg-type, return-value]
    task = asyncio.ensure_future(Retrying(model, patience(Clock())).generate(REQUEST))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(model.requests) == 1


EVERY_FAULT = [
    "rate_limit", "status", "reset", "reset_mid_body", "truncated_json", "short_body", "html", "empty", "not_json",
    "wrong_shape", "no_choices", "error_in_200", "not_http",
]  # fmt: skip


@pytest.mark.parametrize("kind", EVERY_FAULT)
async def test_a_call_outlives_every_passing_fault_of_a_real_endpoint(kind: str) -> None:
    async with FakeEndpoint([Act(kind, retry_after="0")]) as endpoint:
        async with open_model("compat/m", ModelOptions(base_url=endpoint.base_url)) as model:
            assert (await model.generate(REQUEST)).text.startswith("answer ")
        assert endpoint.counts["asked"] == 2


async def test_a_call_outlives_an_attempt_without_an_answer() -> None:
    async with FakeEndpoint([Act("stall")]) as endpoint:
        async with open_model("compat/m", ModelOptions(base_url=endpoint.base_url, timeout=0.1)) as model:
            assert (await model.generate(REQUEST)).text.startswith("answer ")
        assert endpoint.counts["asked"] == 2
