"""Answers that came at once are written together, without a copy beside the file; what cost something has one."""

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.runs.doubles import Echo, Judge, Length, cases, new_file, records, shown

from ragstone.models import work
from ragstone.runs import NullProgress, Outcome, commits, run_cases
from ragstone.runs.commits import BATCH
from ragstone.runs.entries import CaseResult, CaseRow
from ragstone.runs.outbox import Outbox
from ragstone.runs.schema import key_of
from ragstone.runs.store import RunFile
from ragstone.structs import to_json
from ragstone.types import Query, Record, Response


class AtOnce(Echo):
    """A system that has its answers, as recorded ones are."""

    repeatable = True

    async def answer(self, query: Query, /) -> Response:
        self.asked.append(query.question)
        return Response(f"It is {query.question.split()[1][:-1]}.")


@dataclass
class Written:
    """What is written: how many results at a time, and whether they can be had again."""

    sizes: list[tuple[int, bool]]

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write = RunFile.write

        def noted(file: RunFile, results: Any, **options: Any) -> Any:
            self.sizes.append((len(results), options.get("again", False)))
            return write(file, results, **options)

        monkeypatch.setattr(RunFile, "write", noted)


class Shown(NullProgress):
    def __init__(self) -> None:
        self.ids: list[str] = []

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self.ids.append(record.case.id)


async def run(path: Path, system: Echo, count: int, *metrics: Any, progress: NullProgress | None = None) -> Outcome:
    with new_file(path, Echo()) as file:
        return await run_cases(file, cases(count), systems=[system], metrics=metrics, progress=progress)


async def test_answers_that_come_at_once_are_written_together_and_have_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(*_: object) -> None:
        raise AssertionError("a copy")

    monkeypatch.setattr(Outbox, "put", put)
    monkeypatch.setattr(work, "_INSTANT_SECONDS", math.inf)  # a busy machine may stop this process for a while
    (written := Written([])).watch(monkeypatch)
    path, system, progress = tmp_path / "a.run", AtOnce(), Shown()
    outcome = await run(path, system, 600, Length(), progress=progress)
    assert (outcome.asked, outcome.done) == (600, 600)
    assert len(progress.ids) == len(set(progress.ids)) == 600
    assert all(again for _, again in written.sizes)
    assert len(written.sizes) < 100
    assert max(size for size, _ in written.sizes) <= BATCH
    again = await run(path, system, 600, Length())
    assert (again.asked, again.already) == (0, 600)


async def test_together_or_one_by_one_the_run_has_the_same_bytes(tmp_path: Path) -> None:
    together, apart = tmp_path / "together.run", tmp_path / "apart.run"
    await run(together, AtOnce(), 100, Length(), Judge())

    class Waits(Echo):
        async def answer(self, query: Query, /) -> Response:
            return Response((await super().answer(query)).answer)

    await run(apart, Waits(), 100, Length(), Judge())
    assert shown(together) == shown(apart)


async def test_an_answer_that_was_waited_for_has_its_copy_before_the_next_thing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written := Written([])).watch(monkeypatch)
    await run(tmp_path / "a.run", Echo(), 60, Length())
    assert written.sizes == [(1, False)] * 60


async def test_a_record_on_its_way_to_the_file_takes_no_future_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, made = asyncio.get_running_loop(), list[asyncio.Future[Any]]()
    create = loop.create_future

    def counted() -> asyncio.Future[Any]:
        made.append(create())
        return made[-1]

    (written := Written([])).watch(monkeypatch)
    monkeypatch.setattr(loop, "create_future", counted)
    outcome = await run(tmp_path / "a.run", Echo(), 400, Length())
    assert (outcome.done, written.sizes) == (400, [(1, False)] * 400)
    assert len(made) < 400  # for leases and for workers that wait


async def test_who_counts_and_fails_ends_the_run(tmp_path: Path) -> None:
    class Broken(Shown):
        def case_done(self, record: Record, *, free: bool = False) -> None:
            raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen"):
        await run(tmp_path / "a.run", Echo(), 20, Length(), progress=Broken())


async def test_of_a_system_that_may_cost_something_each_answer_is_kept_as_soon_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AtOnce, "repeatable", False)
    (written := Written([])).watch(monkeypatch)
    await run(tmp_path / "a.run", AtOnce(), 60, Length())
    assert written.sizes == [(1, False)] * 60


async def test_what_scoring_takes_long_is_written_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "BATCH_SECONDS", -1.0)  # any time is long
    (written := Written([])).watch(monkeypatch)
    await run(tmp_path / "a.run", AtOnce(), 60, Length())
    assert written.sizes == [(1, True)] * 60


async def test_stored_answers_get_new_scores_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    await run(path, Echo(), 300)
    (written := Written([])).watch(monkeypatch)
    outcome = await run(path, Echo(), 300, Length())
    assert (outcome.asked, outcome.done) == (0, 300)
    assert sum(size for size, _ in written.sizes) == 300
    assert len(written.sizes) < 60
    assert all(record.scores["length"].value for record in records(path))


async def test_of_a_batch_each_answer_that_another_process_gave_first_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    with new_file(path, Echo()) as file:
        await run_cases(file, cases(4), systems=[AtOnce()], metrics=[])
        rows = [CaseRow(key_of(one.id), to_json(one)) for one in cases(5)()]
        await file.lease("scripted/echo", rows, frozenset())
        late = [CaseResult("scripted/echo", rows[number].key, to_json(Response("late"))) for number in (1, 4)]
        assert await file.write(late, again=True) == [False, True]
    assert [record.response.answer for record in records(path) if record.response][-1] == "late"
