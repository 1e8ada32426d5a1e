"""Cases that workers elsewhere ask, in shards: what comes home is what one process would have written, whoever dies."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.runs.doubles import Echo, Judge, Length, cases, new_file, records, shown
from tests.waiting import turns

from ragstone.errors import EndpointRefused
from ragstone.runs import NullProgress, Outcome, RunFile, open_run, run_cases
from ragstone.runs.entries import CaseResult
from ragstone.runs.outbox import outbox_files
from ragstone.runs.shards import Returned, Shard
from ragstone.structs import to_json
from ragstone.types import Metric, Query, Record, Response


@dataclass
class NearPool:
    """A pool whose workers are here. `dies`: which shards' workers die when they have done half (by the number of the
    shard), and `leaves` whether their run file is found; `beside`: with one more answer that was not committed."""

    folder: Path
    system: Echo = field(default_factory=Echo)
    other: Echo | None = None
    metrics: Sequence[Metric] = (Length(), Judge())
    dies: Any = lambda _: False
    leaves: bool = True
    beside: bool = False
    size: int = 3
    concurrency: int = 4
    shards: list[Shard] = field(default_factory=list)
    halt: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, shard: Shard, /) -> Returned:
        self.shards.append(shard)
        number = len(self.shards)
        await asyncio.sleep(0)
        path = self.folder / f"{number}.run"
        metrics = [
            metric for metric in self.metrics
            if not shard.metrics or (metric.name, metric.version) in shard.metrics
        ]  # fmt: skip
        dies = self.dies(shard)
        asked = shard.cases[: len(shard.cases) // 2] if dies else shard.cases
        if dies and not self.leaves:
            return Returned(None)
        system = self.system if self.other is None or shard.system == self.system.id else self.other
        left: dict[Path, bytes] = {}
        with RunFile.create_or_open(path, question={}, info={}, systems={system.id: system.spec}) as file:
            shard.store(path)
            outcome = await run_cases(file, lambda: asked, systems=[system], metrics=metrics, stop=self.halt)
            if dies and self.beside:
                answer = to_json(await system.answer(shard.cases[len(asked)].query))
                file._outbox.put(CaseResult(system.id, shard.cases[len(asked)].id, answer))
                left = {beside: beside.read_bytes() for beside in outbox_files(path)}
        for beside, content in left.items():  # closing the file has deleted it
            beside.write_bytes(content)
        return Returned(path, None if dies else outcome, frozenset({case.id for case in asked[:1]}))

    async def stop(self) -> None:
        self.halt.set()


@dataclass
class Seen(NullProgress):
    done: Counter[str] = field(default_factory=Counter)
    free: int = 0

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self.done[record.case.id] += 1
        self.free += free


def every_third() -> Any:
    number = itertools.count()
    return lambda _: next(number) % 3 == 0


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def run(path: Path, stream: Any, pool: NearPool | None, *systems: Echo, **more: Any) -> Outcome:
    ours = systems or ((pool.system if pool else Echo()),)
    metrics = more.pop("metrics", (Length(), Judge()))
    with new_file(path, *ours, metrics={"length": 1, "judge": 1}) as file:
        return await run_cases(file, stream, systems=ours, metrics=metrics, pool=pool, axes=["ability"], **more)


async def test_shards_that_come_home_are_the_run_of_one_process(tmp_path: Path) -> None:
    await run(tmp_path / "whole.run", cases(500), None)
    pool, progress = NearPool(tmp_path), Seen()
    outcome = await run(tmp_path / "a.run", cases(500), pool, progress=progress)
    assert shown(tmp_path / "a.run") == shown(tmp_path / "whole.run")
    assert len(pool.shards) > 6
    assert (outcome.asked, outcome.done, outcome.complete, outcome.usage.prompt_tokens) == (500, 500, True, 5000)
    assert progress.done == Counter(record.case.id for record in records(tmp_path / "a.run"))
    assert progress.free == len(pool.shards)
    assert names(tmp_path) == ["a.run", "whole.run"]


async def test_what_a_dead_worker_left_is_kept_and_the_rest_is_asked_again(tmp_path: Path) -> None:
    await run(tmp_path / "whole.run", cases(300), None)
    pool = NearPool(tmp_path, dies=every_third())
    outcome = await run(tmp_path / "a.run", cases(300), pool)
    assert outcome.complete
    assert shown(tmp_path / "a.run") == shown(tmp_path / "whole.run")
    assert len(pool.system.asked) == len(set(pool.system.asked)) == 300  # half of each dead shard came home


async def test_an_answer_beside_the_file_of_a_dead_worker_is_counted(tmp_path: Path) -> None:
    pool, progress = NearPool(tmp_path, dies=every_third(), beside=True, metrics=()), Seen()
    outcome = await run(tmp_path / "a.run", cases(300), pool, progress=progress, metrics=())
    assert (outcome.done, outcome.complete) == (300, True)
    assert progress.done == Counter(record.case.id for record in records(tmp_path / "a.run"))
    assert len(pool.system.asked) == len(set(pool.system.asked)) == 300


async def test_a_worker_whose_disk_is_gone_costs_its_shard_once(tmp_path: Path) -> None:
    pool = NearPool(tmp_path, dies=every_third(), leaves=False)
    assert (await run(tmp_path / "a.run", cases(300), pool)).complete
    assert [record.error for record in records(tmp_path / "a.run")] == [None] * 300


async def test_a_case_that_kills_its_workers_fails_and_the_others_are_asked(tmp_path: Path) -> None:
    poison = "noise/en/00007"
    pool = NearPool(tmp_path, dies=lambda shard: any(case.id == poison for case in shard.cases), leaves=False)
    outcome = await run(tmp_path / "a.run", cases(60), pool)
    assert (outcome.done, outcome.failed) == (59, 1)
    errors = {record.case.id: record.error for record in records(tmp_path / "a.run") if record.error}
    assert errors == {poison: "worker_died: 3 workers ended while they asked this case"}
    again = await run(tmp_path / "a.run", cases(60), NearPool(tmp_path))
    assert (again.done, again.failed, again.asked) == (60, 0, 1)


async def test_new_metrics_are_scored_without_asking_the_system_again(tmp_path: Path) -> None:
    await run(tmp_path / "whole.run", cases(80), None)
    await run(tmp_path / "a.run", cases(80), None, metrics=[Length()])
    pool = NearPool(tmp_path)
    outcome = await run(tmp_path / "a.run", cases(80), pool)
    assert (outcome.complete, pool.system.asked) == (True, [])
    assert {tuple(shard.metrics) for shard in pool.shards} == {(("judge", 1),)}
    assert shown(tmp_path / "a.run") == shown(tmp_path / "whole.run")


async def test_two_systems_and_a_run_that_was_begun_here(tmp_path: Path) -> None:
    first, second = Echo(), Echo("scripted/other")
    await run(tmp_path / "whole.run", cases(100), None, first, second)
    await run(tmp_path / "a.run", cases(30), None, first)
    pool = NearPool(tmp_path, system=first, other=second)
    outcome = await run(tmp_path / "a.run", cases(100), pool, first, second)
    assert (outcome.done, outcome.already, outcome.asked) == (200, 30, 170)
    assert shown(tmp_path / "a.run") == shown(tmp_path / "whole.run")


async def test_the_cases_of_a_lane_stay_together_and_in_order(tmp_path: Path) -> None:
    pool = NearPool(tmp_path, size=2, concurrency=8)
    assert (await run(tmp_path / "a.run", cases(200, lanes=5), pool)).complete
    at_work: dict[str, list[str]] = {}
    for shard in pool.shards:
        for case in shard.cases:
            at_work.setdefault(case.lane, []).append(case.id)
    assert len(at_work) == 5
    assert all(line == sorted(line) and len(line) == 40 for line in at_work.values())


async def test_a_stop_keeps_what_came_home_and_the_next_run_asks_the_rest(tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def pausing(question: str) -> None:
        if question == "Question 90?":
            stop.set()
            await turns()

    pool = NearPool(tmp_path, system=Echo(before=pausing))
    outcome = await run(tmp_path / "a.run", cases(400), pool, stop=stop)
    assert outcome.interrupted
    assert 0 < outcome.done == len(records(tmp_path / "a.run")) < 400
    assert outcome.remaining == 400 - outcome.done
    again = await run(tmp_path / "a.run", cases(400), NearPool(tmp_path))
    assert (again.asked, again.already, again.complete) == (outcome.remaining, outcome.done, True)


@dataclass
class Refusing(Echo):
    """An endpoint that refuses everything after so many answers."""

    after: int = 50

    async def answer(self, query: Query, /) -> Response:
        if len(self.answered) >= self.after:
            raise EndpointRefused("The key is wrong.", 5, answered=True)
        return await super().answer(query)


async def test_an_endpoint_that_refuses_in_a_worker_ends_the_run(tmp_path: Path) -> None:
    pool = NearPool(tmp_path, system=Refusing())
    outcome = await run(tmp_path / "a.run", cases(400), pool)
    assert [str(error) for error in outcome.refused] == [
        "The key is wrong. It refused 5 requests in a row, so no more are sent."
    ]
    assert 50 <= outcome.done == len(records(tmp_path / "a.run")) < 80  # what was in flight is finished
    assert outcome.remaining == 400 - outcome.done
    with open_run(tmp_path / "a.run") as file:
        assert not file.owners()
