"""Run files of one question become one, which exports what a single machine would have written."""

import contextlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.runs.doubles import Echo, Judge, Length, case, cases, new_file, records, shown

from ragstone.errors import DataError, RunMismatch, UsageError
from ragstone.runs import open_run, run_cases
from ragstone.runs.entries import CaseResult
from ragstone.runs.merge import Merged, attached, copy_records
from ragstone.runs.schema import LAYOUT, key_of
from ragstone.storage import connect
from ragstone.structs import to_json
from ragstone.types import Case, Query, Response, Score

LONG = "The plum harvest began late. " * 30  # stored once, as a text


def some(*numbers: int, text: str = LONG) -> Callable[[], Iterator[Case]]:
    return lambda: (case(number, text=text) for number in numbers)


async def run(path: Path, stream: Any, system: Echo | None = None, metrics: Any = None) -> Path:
    system = system or Echo()
    with new_file(path, system, metrics={"length": 1, "judge": 1}) as file:
        metrics = [Length(), Judge()] if metrics is None else metrics
        await run_cases(file, stream, systems=[system], metrics=metrics, concurrency=4, axes=["ability"])
    return path


def joined(path: Path, *sources: Path, keep_first: bool = False) -> Merged:
    new_file(path, metrics={"length": 1, "judge": 1}).close()
    merged = Merged()
    for source in sources:
        connection = connect(path, LAYOUT)
        try:
            with attached(connection, path, source):
                merged += copy_records(connection, source, keep_first=keep_first)
        finally:
            connection.close()
    return merged


def everything(path: Path) -> list[Any]:
    """All rows that a reader may see, in the order of their keys."""
    queries = (
        "SELECT case_id, payload FROM cases", "SELECT system_id, case_id, response, error FROM records",
        "SELECT system_id, case_id, metric, metric_version, status, payload, verdicts FROM scores",
        "SELECT * FROM verdicts", "SELECT digest FROM texts",
        "SELECT system_id, case_id, condition, name FROM planned JOIN cells USING (cell)",
    )  # fmt: skip
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        return [sorted(file.execute(query).fetchall(), key=repr) for query in queries]


async def test_shards_export_what_one_machine_would_have_written(tmp_path: Path) -> None:
    whole = await run(tmp_path / "whole.run", some(*range(40)))
    shards = [await run(tmp_path / f"{n}.run", some(*range(n, 40, 3))) for n in range(3)]
    for number, order in enumerate(itertools.permutations(shards)):
        target = tmp_path / f"m{number}.run"
        assert joined(target, *order) == Merged(added=40)
        assert shown(target) == shown(whole)
        assert everything(target) == everything(whole)


async def test_overlapping_shards_are_kept_once(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(*range(30)))
    b = await run(tmp_path / "b.run", some(*range(20, 40)))
    assert joined(tmp_path / "m.run", a, b, a) == Merged(added=40, repeated=10 + 30)
    assert everything(tmp_path / "m.run") == everything(await run(tmp_path / "whole.run", some(*range(40))))


async def test_an_answer_replaces_a_failure_whichever_comes_first(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1, 2), Echo(fails=lambda _: RuntimeError("out of order")))
    b = await run(tmp_path / "b.run", some(2, 3))
    for target, sources in ((tmp_path / "ab.run", (a, b)), (tmp_path / "ba.run", (b, a))):
        joined(target, *sources)
        assert [record.error is None for record in records(target)] == [False, True, True]
        assert [len(record.scores) for record in records(target)] == [0, 2, 2]


async def test_metrics_of_the_same_answers_come_together(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1, 2), metrics=[Length()])
    b = await run(tmp_path / "b.run", some(1, 2), metrics=[Judge()])
    joined(tmp_path / "m.run", a, b)
    assert [sorted(record.scores) for record in records(tmp_path / "m.run")] == [["judge", "length"]] * 2


@dataclass
class Timed(Echo):
    """Answers with a text and a time of its own."""

    text: str = "7"
    seconds: float = 1.0

    async def answer(self, query: Query, /) -> Response:
        return Response(self.text, seconds=self.seconds)


async def test_different_answers_are_refused_or_the_first_is_kept(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1, 2), Timed(text="six"))
    slow = await run(tmp_path / "slow.run", some(1, 2), Timed(text="six", seconds=9.0))
    b = await run(tmp_path / "b.run", some(2, 3), Timed(text="seven"))
    assert joined(tmp_path / "same.run", a, slow) == Merged(2, 2, 0)
    with pytest.raises(UsageError, match=r"b\.run has another answer of 'scripted/echo' for the case 'noise/en/00002'"):
        joined(tmp_path / "m.run", a, b)
    assert joined(tmp_path / "k.run", a, b, keep_first=True) == Merged(3, 1, 1)
    kept = [(record.response and record.response.answer, record.scores["length"].value)
            for record in records(tmp_path / "k.run")]  # fmt: skip
    assert kept == [("six", 3.0), ("six", 3.0), ("seven", 5.0)]


class Doubting(Judge):
    async def score(self, case: Case, response: Response, /) -> Score:
        return Score.of(0.5, evidence={"verdicts": ["no"]})


async def test_different_scores_of_one_answer_are_refused_or_the_first_is_kept(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1))
    b = await run(tmp_path / "b.run", some(1), metrics=[Length(), Doubting()])
    with pytest.raises(UsageError, match=r"another judge score of 'scripted/echo' for the case 'noise/en/00001'"):
        joined(tmp_path / "m.run", a, b)
    joined(tmp_path / "k.run", a, b, keep_first=True)
    assert records(tmp_path / "k.run")[0].scores["judge"].value == 1.0


async def test_another_case_of_the_same_id_is_refused(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1))
    b = await run(tmp_path / "b.run", some(1, text=LONG.replace("plum", "pear")))
    with pytest.raises(RunMismatch, match=r"cases\.noise/en/00001.*pear"):
        joined(tmp_path / "m.run", a, b)


async def test_answers_that_a_killed_process_left_beside_its_file_come_along(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1))
    killed = new_file(tmp_path / "a.run", metrics={"length": 1, "judge": 1})
    payload = to_json(case(2, text=LONG))
    with contextlib.closing(sqlite3.connect(a)) as file, file:
        file.execute("INSERT INTO cases VALUES (?, ?)", (key_of(case(2).id), payload))
    killed._outbox.put(CaseResult("scripted/echo", case(2).id, to_json(Response("It is 2."))))
    joined(tmp_path / "m.run", a)
    assert [record.response and record.response.answer for record in records(tmp_path / "m.run")] == [
        "It is 1.",
        "It is 2.",
    ]
    killed.close()


async def test_a_text_that_is_not_its_digest_reaches_no_other_file(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", some(1))
    with contextlib.closing(sqlite3.connect(a)) as file, file:
        file.execute("UPDATE packs SET texts = ?", (json.dumps(["Buy plums. " * 60]),))
    with pytest.raises(DataError, match=r"a\.run: the file is damaged: the text '[0-9a-f]+' of a passage was changed"):
        joined(tmp_path / "m.run", a)
    with open_run(tmp_path / "m.run") as merged:
        assert not list(merged.records())


async def test_a_damaged_file_is_named_and_changes_nothing(tmp_path: Path) -> None:
    a = await run(tmp_path / "a.run", cases(400))
    torn = bytearray(a.read_bytes())
    torn[len(torn) // 3 : -4096] = b"\x55" * (len(torn) - len(torn) // 3 - 4096)
    a.write_bytes(torn)
    with pytest.raises(UsageError, match=r"a\.run"):
        joined(tmp_path / "m.run", a)
    with open_run(tmp_path / "m.run") as merged:
        assert not list(merged.records())


async def test_a_file_that_is_merged_takes_no_lock_that_would_need_a_journal_of_both_files(tmp_path: Path) -> None:
    """SQLite commits two files that are open for writing with a third one, which a kill would leave beside them."""
    source, target = await run(tmp_path / "a.run", some(1)), tmp_path / "m.run"
    new_file(target).close()
    connection, other = connect(target, LAYOUT), connect(source, LAYOUT, busy_seconds=0)
    try:
        with attached(connection, target, source):
            other.execute("BEGIN IMMEDIATE")  # refused if the merge may write
            assert other.in_transaction
            other.execute("ROLLBACK")
    finally:
        connection.close()
        other.close()
