"""The runner: it asks what is missing and no more, and no case is the end of a run."""

import asyncio
import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs.doubles import QUESTION, Echo, Judge, Length, case, cases, new_file, records, shown
from tests.waiting import turns

from ragstone.errors import RunMismatch, StorageError, TimedOut, Unauthorized, UsageError
from ragstone.runs import NullProgress, Outcome, RunFile, commits, run_cases
from ragstone.types import Case, Need, Passage, Query, Record, Response, Sample, Score


class Watch(NullProgress):
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.skipped = 0
        self.outcome: Outcome | None = None

    def already(self, count: int) -> None:
        self.skipped += count

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self.seen.append(record.case.id)

    def finish(self, outcome: Outcome | None) -> None:
        self.outcome = outcome


async def run(path: Path, *systems: Echo, count: int = 50, **options: Any) -> Outcome:
    options = {"metrics": [Length()], "systems": systems, **options}
    with new_file(path, *systems) as file:
        return await run_cases(file, options.pop("cases", cases(count)), **options)


async def test_resume_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    path, echo, watch = tmp_path / "a.run", Echo(), Watch()
    await run(path, echo, count=30)
    outcome = await run(path, echo, count=50, progress=watch)
    assert sorted(echo.asked) == sorted(c.query.question for c in cases(50)())
    assert (outcome.asked, outcome.done, outcome.already, outcome.failed, outcome.remaining) == (20, 50, 30, 0, 0)
    assert outcome.usage.requests == 20
    assert outcome.complete
    assert outcome.advice == ""
    assert watch.skipped == 30
    assert sorted(watch.seen) == [f"noise/en/{number:05d}" for number in range(30, 50)]
    assert watch.outcome == outcome


async def test_runs_that_overlap_leave_the_garbage_collector_as_it_was(tmp_path: Path) -> None:
    before, first_asks, first_ended = gc.get_threshold(), asyncio.Event(), asyncio.Event()

    class First(Echo):
        async def answer(self, query: Query, /) -> Response:
            first_asks.set()
            await second_asks.wait()
            return await super().answer(query)

    class Second(Echo):
        async def answer(self, query: Query, /) -> Response:
            second_asks.set()
            await first_ended.wait()
            return await super().answer(query)

    async def first() -> None:
        await run(tmp_path / "first.run", First(), count=1)
        assert gc.get_threshold() != before
        first_ended.set()

    async def second() -> None:
        await first_asks.wait()
        await run(tmp_path / "second.run", Second(), count=1)

    second_asks = asyncio.Event()
    await asyncio.gather(first(), second())
    assert gc.get_threshold() == before


async def test_another_system_extends_a_run(tmp_path: Path) -> None:
    path, first, second = tmp_path / "a.run", Echo("first"), Echo("second")
    await run(path, first)
    outcome = await run(path, first, second)
    assert (len(first.asked), len(second.asked), outcome.done) == (50, 50, 100)


async def test_a_run_in_pieces_shows_the_same_bytes(tmp_path: Path) -> None:
    whole, pieces = tmp_path / "whole.run", tmp_path / "pieces.run"
    await run(whole, Echo(), metrics=[Length(), Judge()], concurrency=1)
    for count in (7, 20, 50):
        await run(pieces, Echo(), count=count, metrics=[Length()], concurrency=16)
    await run(pieces, Echo(), metrics=[Length(), Judge()])
    assert shown(whole) == shown(pieces)


async def test_new_metrics_are_scored_without_asking_again(tmp_path: Path) -> None:
    path, echo, judge = tmp_path / "a.run", Echo(), Judge()
    await run(path, echo)
    await run(path, echo, metrics=[Length(), judge])
    await run(path, echo, metrics=[Length(version=2), judge])
    assert len(echo.asked) == 50
    assert len(judge.asked) == 50
    assert set(records(path)[0].scores) == {"length", "judge"}


async def test_a_failure_that_would_come_again_is_told_as_one(tmp_path: Path) -> None:
    echo = Echo(fails=lambda question: Unauthorized("401: no such key") if "7?" in question else None)
    outcome = await run(tmp_path / "a.run", echo, count=20)
    assert (outcome.failed, outcome.permanent) == (2, 2)
    assert outcome.advice == ("2 failed permanently. Fix the errors above, then run the same command again to resume.")


async def test_a_failed_case_is_a_record_and_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    echo = Echo(fails=lambda question: TimedOut("no reply\nin 2 s") if "7?" in question else None)
    outcome = await run(path, echo, count=20)
    assert (outcome.asked, outcome.done, outcome.failed) == (20, 18, 2)
    assert outcome.advice == "2 failed. Run the same command again to resume."
    assert [r.error for r in records(path) if r.error] == ["timed_out: no reply in 2 s"] * 2
    outcome = await run(path, echo, count=20, retry_failed=False)
    assert (outcome.asked, outcome.done, outcome.failed) == (0, 18, 2)
    echo.fails = lambda _: None
    outcome = await run(path, echo, count=20)
    assert (outcome.asked, outcome.done, outcome.failed, outcome.already) == (2, 20, 0, 18)
    assert not any(record.error for record in records(path))


async def test_a_metric_that_raises_is_a_failed_score_and_is_tried_again(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Odd(Length):
        result: Any = None

        def score(self, case: Case, response: Response, /) -> Score:
            if isinstance(self.result, Exception):
                raise self.result
            return self.result  # type: ignore[no-any-return]

    path, echo = tmp_path / "a.run", Echo()
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]
    for result, said in [
        (ZeroDivisionError("by zero"), "zero_division_error: by zero"),
        (0.5, "returned float, not a Score"),
        (Score(float("nan")), "cannot be stored"),
        (Score.of(1.0, evidence=nest), "cannot be stored: recursion_error"),
    ]:
        outcome = await run(path, echo, count=2, metrics=[Odd(result=result), Judge(fails=True)])
        assert (outcome.done, outcome.unscored) == (2, 4)
        assert "4 scores failed" in outcome.advice
        scores = records(path)[0].scores
        assert (scores["length"].status, scores["length"].value) == ("failed", None)
        assert said in scores["length"].reason
        assert scores["judge"].reason == "runtime_error: no verdict"
    outcome = await run(path, echo, count=2, metrics=[Length(), Judge()])
    assert outcome.complete
    assert [score.value for score in records(path)[0].scores.values()] == [1.0, 8.0]
    assert len(echo.asked) == 2


async def test_a_metric_whose_needs_are_missing_does_not_apply(tmp_path: Path) -> None:
    def bare() -> Iterator[Case]:
        yield Case("bare", Sample("s", "Question 1?"), {}, Query("Question 1?", ()))
        passages = (Passage("p", "text"),)
        yield Case("unlabelled", Sample("s", "Question 1?", references=(("1",),)), {}, Query("Question 1?", passages))
        yield case(1)

    metrics = [Length(name=need.value, needs=frozenset({need})) for need in Need]
    await run(tmp_path / "a.run", Echo(), cases=bare, metrics=metrics)
    found = {
        record.case.id: [name for name, score in record.scores.items() if score.status == "scored"]
        for record in records(tmp_path / "a.run")
    }
    assert found == {
        "bare": ["answer"],
        "unlabelled": ["answer", "passages", "references"],
        "noise/en/00001": ["answer", "labels", "passages", "references"],
    }
    assert records(tmp_path / "a.run")[0].scores["labels"].reason == "the case has no labels"


async def test_no_more_than_so_many_are_in_flight(tmp_path: Path) -> None:
    echo = Echo(before=lambda _: turns(3))
    await run(tmp_path / "a.run", echo, count=200, concurrency=7)
    assert echo.most_in_flight == 7


async def test_cases_of_a_lane_are_asked_in_order_one_at_a_time(tmp_path: Path) -> None:
    busy: set[str] = set()

    async def before(question: str) -> None:
        lane = str(int(question.split()[1][:-1]) % 5)
        assert lane not in busy
        busy.add(lane)
        await turns(3)
        busy.remove(lane)

    echo = Echo(before=before)
    outcome = await run(tmp_path / "a.run", echo, cases=cases(100, lanes=5), concurrency=16)
    assert outcome.done == 100
    numbers = [int(question.split()[1][:-1]) for question in echo.asked]
    for lane in range(5):
        assert [number for number in numbers if number % 5 == lane] == list(range(lane, 100, 5))
    assert 1 < echo.most_in_flight <= 5


@pytest.mark.parametrize("distance", [1, 5, 400])
async def test_two_cases_with_one_id_are_an_error(tmp_path: Path, distance: int) -> None:
    def twice() -> Iterator[Case]:
        yield from cases(distance)()
        yield case(0)

    with pytest.raises(UsageError, match="Two cases have the id 'noise/en/00000'"):
        await run(tmp_path / "a.run", Echo(), cases=twice)


async def test_another_case_under_an_id_of_the_file_is_refused(tmp_path: Path) -> None:
    await run(tmp_path / "a.run", Echo(), count=3)
    with pytest.raises(RunMismatch, match=r"cases\.noise/en/00000\.query\.passages\.0\.text"):
        await run(tmp_path / "a.run", Echo(), cases=lambda: iter([case(0, text="Another passage.")]))


async def test_passages_that_were_scored_anew_to_other_bits_are_the_same_question(tmp_path: Path) -> None:
    def scored(score: float) -> Callable[[], Iterator[Case]]:
        one = case(0)
        given = tuple(replace(passage, score=score) for passage in one.query.passages or ())
        return lambda: iter([replace(one, query=replace(one.query, passages=given))])

    echo = Echo()
    for score in (0.8, 0.80004):
        await run(tmp_path / "a.run", echo, cases=scored(score))
    assert len(echo.asked) == 1
    with pytest.raises(RunMismatch, match=r"query\.passages\.0\.score"):
        await run(tmp_path / "a.run", echo, cases=scored(0.9))


async def test_a_stop_finishes_what_is_in_flight_and_says_what_remains(tmp_path: Path) -> None:
    path, stop = tmp_path / "a.run", asyncio.Event()

    async def before(question: str) -> None:
        if question == "Question 20?":
            stop.set()
        await turns(3)

    echo = Echo(before=before)
    outcome = await run(path, echo, concurrency=4, stop=stop)
    assert outcome.interrupted
    assert len(echo.asked) == outcome.asked == outcome.done == len(records(path)) < 30
    assert outcome.done + outcome.remaining == 50
    assert f"{outcome.remaining} of 50 cases remain. Run the same command again" in outcome.advice
    echo.before = None
    outcome = await run(path, echo)
    assert len(echo.asked) == 50
    assert outcome.complete


class Slow(sqlite3.Connection):
    """A disk that takes nothing until the test lets it."""

    go = threading.Event()

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            Slow.go.wait()
        return super().execute(sql, *args)


async def test_a_slow_disk_slows_the_asking_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,200 cases that may be asked, no more are answered ahead of the disk than may wait for it."""
    monkeypatch.setattr(commits, "UNCOMMITTED", 8)
    path, echo, watch, concurrency = tmp_path / "a.run", Echo(), Watch(), 4
    stopped, ahead = asyncio.Event(), list[int]()

    async def before(_: str) -> None:
        # Many are taken at one go by now. Which number each worker sees is chance: it may be none's own.
        if len(echo.asked) >= 600 and not stopped.is_set():
            Slow.go.clear()
            stopped.set()

    async def look() -> None:
        await stopped.wait()
        try:
            for _ in range(2000):  # turns of the loop, of which none brings a commit
                await asyncio.sleep(0)
            ahead.append(len(echo.asked) - len(watch.seen))
        finally:
            Slow.go.set()

    echo.before = before
    Slow.go.set()
    specs = {echo.id: echo.spec}
    with RunFile.create_or_open(path, question=QUESTION, info={}, systems=specs, factory=Slow) as file:
        async with asyncio.TaskGroup() as group:  # a run that fails ends the looking, too
            group.create_task(look())
            running = group.create_task(
                run_cases(
                    file, cases(1200), systems=[echo], metrics=[Length()], concurrency=concurrency, progress=watch
                )
            )
        outcome = running.result()
    # On their way to the disk, and in the hands of the workers; fewer where the next cases wait for a commit, too.
    assert len(ahead) == 1
    assert ahead[0] <= 8 + concurrency
    assert (outcome.done, len(set(echo.asked)), len(echo.asked)) == (1200, 1200, 1200)
    assert len(records(path)) == 1200


async def test_a_full_disk_stops_the_run_with_one_line_and_keeps_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, echo, watch = tmp_path / "a.run", Echo(), Watch()
    with new_file(path, echo) as file:
        writer = file._writer
        pages = await writer.submit(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
        await writer.submit(lambda connection: connection.execute(f"PRAGMA max_page_count={pages + 60}"))
        with pytest.raises(StorageError, match=r"the disk is full\. .* cases of this run are kept") as caught:
            await run_cases(file, cases(2000), systems=[echo], metrics=[Length()], progress=watch)
        assert len(str(caught.value).splitlines()) == 1
    assert len(watch.seen) > 50
    assert set(watch.seen) <= {record.case.id for record in records(path)}
    asked = len(echo.asked)
    outcome = await run(path, echo, count=2000)
    assert outcome.complete
    assert len(set(echo.answered)) == len(echo.answered), "what had come when the disk was full is not asked again"
    assert len(echo.answered) == 2000
    assert asked < 2000
    await run(tmp_path / "whole.run", Echo(), count=2000)
    assert shown(path) == shown(tmp_path / "whole.run")


async def test_an_error_of_the_storage_below_a_system_stops_the_run(tmp_path: Path) -> None:
    echo = Echo(fails=lambda _: StorageError("cache.db: the disk is full."))
    with pytest.raises(StorageError, match=r"cache\.db: the disk is full"):
        await run(tmp_path / "a.run", echo)


async def test_names_that_come_twice_and_no_places_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="The metric 'length' is named twice"):
        await run(tmp_path / "a.run", Echo(), metrics=[Length(), Length(version=2)])
    with pytest.raises(UsageError, match="at least 1"):
        await run(tmp_path / "a.run", Echo(), concurrency=0)


async def test_two_runs_of_one_file_share_the_work(tmp_path: Path) -> None:
    path, begun = tmp_path / "a.run", [asyncio.Event(), asyncio.Event()]

    def waiting(mine: asyncio.Event, others: asyncio.Event) -> Echo:
        """A system that answers nothing until the other run asks, too: however late that is, its share is left."""

        async def before(_: str) -> None:
            mine.set()
            await others.wait()

        return Echo(before=before)

    echoes = [waiting(*begun), waiting(*reversed(begun))]
    with new_file(path, echoes[0]) as one, new_file(path, echoes[1]) as other:
        files: list[RunFile] = [one, other]
        found = await asyncio.gather(
            *(
                run_cases(file, cases(200), systems=[echo], metrics=[Length()], concurrency=4)
                for file, echo in zip(files, echoes, strict=True)
            )
        )
    asked = [question for echo in echoes for question in echo.asked]
    assert len(asked) == len(set(asked)) == 200
    assert [outcome.done for outcome in found] == [200, 200]
    assert min(outcome.asked for outcome in found) > 0
    assert sum(outcome.asked for outcome in found) == 200


async def test_a_file_takes_cases_that_are_grouped_otherwise_now(tmp_path: Path) -> None:
    await run(tmp_path / "a.run", Echo(), cases=cases(20, lanes=4))
    outcome = await run(tmp_path / "a.run", Echo(), cases=cases(30, lanes=3))
    assert (outcome.already, outcome.asked, outcome.complete) == (20, 10, True)


async def test_two_runs_never_ask_in_one_lane_at_once(tmp_path: Path) -> None:
    path, busy, order = tmp_path / "a.run", set[int](), list[int]()

    async def before(question: str) -> None:
        number = int(question.split()[1][:-1])
        assert number % 6 not in busy
        busy.add(number % 6)
        order.append(number)
        await turns(3)
        busy.remove(number % 6)

    echo = Echo(before=before)
    with new_file(path, echo) as one, new_file(path, echo) as other:
        await asyncio.gather(
            *(run_cases(file, cases(120, lanes=6), systems=[echo], metrics=[], concurrency=3) for file in (one, other))
        )
    assert sorted(order) == list(range(120))
    for lane in range(6):
        assert [number for number in order if number % 6 == lane] == list(range(lane, 120, 6))


async def test_what_a_closed_process_had_taken_is_free_at_once(tmp_path: Path) -> None:
    path, begun, stuck = tmp_path / "a.run", asyncio.Event(), asyncio.Event()

    async def before(_: str) -> None:
        begun.set()
        await stuck.wait()

    echo = Echo(before=before)
    with new_file(path, echo) as file:
        task = asyncio.create_task(run_cases(file, cases(20), systems=[echo], metrics=[]))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    outcome = await run(path, Echo(), count=20)
    assert outcome.asked == outcome.done == 20
