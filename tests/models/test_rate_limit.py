"""Limits of a minute and of calls in flight."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.models.clock import Clock

from ragstone.errors import ServerFault
from ragstone.models.rate_limit import MINUTE, Limited, Limiter, estimated_tokens
from ragstone.models.retry import Patience, Retrying
from ragstone.models.scripted import Scripted
from ragstone.types import Completion, Request, Sampling, Turn, Usage


def ask(number: int = 0, size: int = 10, longest: int = 10) -> Request:
    return Request(messages=(Turn("user", f"{number} " + "x" * size),), sampling=Sampling(max_tokens=longest))


def most_in_a_minute(times: list[tuple[float, float]]) -> float:
    """The largest sum of amounts in any stretch of 60 s, its end excluded."""
    return max(sum(a for t, a in times if start <= t < start + MINUTE) for start, _ in times)


@settings(max_examples=examples(50), deadline=None)
@given(
    limit=st.integers(1, 20),
    gaps=st.lists(st.floats(0, 40), min_size=1, max_size=60),
)
def test_no_stretch_of_a_minute_has_more_requests_than_the_limit(limit: int, gaps: list[float]) -> None:
    clock = Clock()
    sent: list[tuple[float, float]] = []

    async def run() -> None:
        limiter = Limiter(requests_per_minute=limit, clock=clock, sleep=clock.sleep)

        def script(_: Request) -> str:
            sent.append((clock.now, 1.0))
            return "ok"

        model = Limited(Scripted(script), limiter)
        for gap in gaps:
            clock.now += gap
            await model.generate(ask())

    asyncio.run(run())
    assert len(sent) == len(gaps)
    # Sums of floating-point times: a wait that ends a rounding error early is no more than that.
    assert most_in_a_minute([(t * (1 + 1e-12), a) for t, a in sent]) <= limit + 1e-9


async def test_a_limit_is_used_to_the_full() -> None:
    clock = Clock()
    limiter = Limiter(requests_per_minute=10, clock=clock, sleep=clock.sleep)
    model = Limited(Scripted(lambda _: "ok"), limiter)
    started = clock.now
    for _ in range(30):
        await model.generate(ask())
    assert clock.now - started == pytest.approx(120, abs=1)


async def test_tokens_of_a_minute_are_limited_and_corrected_by_what_was_used() -> None:
    clock = Clock()
    limiter = Limiter(tokens_per_minute=1000, clock=clock, sleep=clock.sleep)
    usage = Usage(prompt_tokens=80, completion_tokens=20, requests=1)
    model = Limited(Scripted(lambda _: Completion(text="ok", usage=usage)), limiter)
    started = clock.now
    for _ in range(20):  # guessed at 200 each, but 100 in truth: nine a minute
        await model.generate(ask(longest=197))
    assert 60 <= clock.now - started < 125


async def test_a_request_larger_than_the_limit_goes_alone_and_does_not_wait_for_ever() -> None:
    clock = Clock()
    limiter = Limiter(tokens_per_minute=10, clock=clock, sleep=clock.sleep)
    model = Limited(Scripted(lambda _: "ok " * 100), limiter)
    started = clock.now
    await model.generate(ask(longest=500))
    await model.generate(ask(longest=500))
    assert clock.now - started == pytest.approx(60, abs=1)


async def test_every_attempt_counts_against_the_limit() -> None:
    clock = Clock()
    limiter = Limiter(requests_per_minute=2, clock=clock, sleep=clock.sleep)
    faults = iter([ServerFault("no"), ServerFault("no"), ServerFault("no")])
    inner = Scripted(lambda _: next(faults, "ok"))
    patience = Patience(deadline=1e9, clock=clock, sleep=clock.sleep, uniform=lambda low, high: 0.0)
    model = Limited(Retrying(inner, patience, before_retry=limiter.admit_again), limiter)
    started = clock.now
    assert (await model.generate(ask())).text == "ok"
    assert len(inner.requests) == 4
    assert clock.now - started == pytest.approx(60, abs=1)


async def test_no_more_calls_are_in_flight_than_allowed() -> None:
    now = most = 0

    async def script(_: Request) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return "ok"

    model = Limited(Scripted(script), Limiter(in_flight=3))
    await asyncio.gather(*(model.generate(ask(number)) for number in range(20)))
    assert most == 3


async def test_a_place_is_given_back_when_a_call_fails_or_is_cancelled() -> None:
    outcomes = iter([ServerFault("no")])
    model = Limited(Scripted(lambda _: next(outcomes, "ok")), Limiter(in_flight=1))
    with pytest.raises(ServerFault):
        await model.generate(ask())
    assert (await asyncio.wait_for(model.generate(ask()), 1)).text == "ok"


async def test_those_who_wait_are_served_in_the_order_in_which_they_came() -> None:
    clock = Clock()
    limiter = Limiter(requests_per_minute=2, clock=clock, sleep=clock.sleep)
    inner = Scripted(lambda _: "ok")
    model = Limited(inner, limiter)
    await asyncio.gather(*(model.generate(ask(number)) for number in range(8)))
    assert [int(request.messages[0].content.split()[0]) for request in inner.requests] == list(range(8))


def test_the_estimate_is_of_the_right_size_in_both_languages() -> None:
    english = Request(messages=(Turn("user", "The mayor of the town opened a new bridge. " * 100),))
    chinese = Request(messages=(Turn("user", "市长昨天宣布新桥正式通车。" * 100),))
    assert 800 <= estimated_tokens(english) - 256 <= 1300  # 1,000 with GPT-4o's tokenizer
    assert 700 <= estimated_tokens(chinese) - 256 <= 1300  # 800 to 1,000
