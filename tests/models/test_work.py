"""How long the rest takes is told from what took something, and from nothing else."""

import asyncio
from pathlib import Path

from tests.models.clock import Clock

from ragstone.models.cache import Cached, ReplyCache
from ragstone.models.work import WINDOW_SECONDS, Pace, duration, track_work
from ragstone.types import Completion, Request, Turn, Usage


def test_what_was_kept_makes_nothing_faster() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(550):  # from a cache, in no time
        clock.now += 0.004
        pace.add(free=True)
    assert (pace.rate, pace.seconds_left(600)) == (None, None)
    for _ in range(20):
        clock.now += 0.5
        pace.add()
        pace.add(free=True)
    assert (pace.rate, pace.seconds_left(600)) == (2.0, 300.0)


def test_the_pace_is_that_of_the_last_minutes() -> None:
    clock = Clock()
    pace = Pace(clock)
    for seconds, count in ((0.01, 1000), (10.0, 30)):  # "2 s left, then 26 minutes"
        for _ in range(count):
            clock.now += seconds
            pace.add()
    assert 10 * count > WINDOW_SECONDS
    assert (pace.rate, pace.seconds_left(156)) == (0.1, 1560.0)
    clock.now += 10.0  # nothing comes
    assert pace.rate is not None
    assert pace.rate < 0.1


def test_durations_are_said_in_their_largest_units() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.4, 59.6, 1560, 3569, 3571, 7500)] == [
        "0 s", "59 s", "1 min", "26 min", "59 min", "1 h 0 min", "2 h 5 min",
    ]  # fmt: skip


class Model:
    id = "test/model"

    async def generate(self, request: Request, /) -> Completion:
        await asyncio.sleep(0)
        return Completion("yes", usage=Usage(3, 1))


async def test_work_is_free_where_caches_did_all_of_it(tmp_path: Path) -> None:
    async with Cached(Model(), ReplyCache(tmp_path), identity={}) as cached:

        async def ask(text: str) -> None:
            await cached.generate(Request((Turn("user", text),)))

        found = []
        for texts in (["a"], ["a"], ["a", "b"], []):
            with track_work() as work:
                await asyncio.gather(*map(ask, texts))
            found.append((work.sent, work.cached, work.free))
    assert found == [(1, 0, False), (0, 1, True), (1, 1, False), (0, 0, False)]
