"""The run file: one question, many systems, and a reader that never stands in the way."""

import json
import os
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.runs.doubles import QUESTION, Echo, Judge, Length, case, cases, new_file, records, shown

from ragstone.errors import DataError, RunMismatch, UsageError
from ragstone.runs import RunFile, open_run, run_cases
from ragstone.runs.config import differences
from ragstone.runs.schema import key_of, text_of
from ragstone.types import Case, Need, Response, Score


def changed(**changes: Any) -> dict[str, Any]:
    return {**QUESTION, **changes}


@pytest.mark.parametrize(
    ("question", "named"),
    [
        (changed(passages=7), {"passages": (5, 7)}),
        (changed(data={"sha256": "1" * 64}), {"data.sha256": None}),
        (changed(template={"name": "official"}), {"template": (None, '{"name": "official"}')}),
        ({"benchmark": "probe", "passages": 5}, {"data": None}),
        (changed(passages=True), {"passages": (5, True)}),
    ],
)
def test_another_question_is_refused_with_the_difference_named(
    tmp_path: Path, question: dict[str, Any], named: dict[str, Any]
) -> None:
    path = tmp_path / "a.run"
    new_file(path).close()
    before = path.read_bytes()
    with pytest.raises(RunMismatch, match="was made with different settings") as caught:
        new_file(path, question=question)
    assert set(caught.value.differences) == set(named)
    for key, value in named.items():
        assert value is None or caught.value.differences[key] == value
        assert key in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_changed_system_is_refused_and_a_new_one_extends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    new_file(path).close()
    with RunFile.create_or_open(path, question=QUESTION, info={}, systems={"other": {"kind": "echo"}}):
        pass
    spec = {"kind": "echo", "template": {"name": "official"}}
    with pytest.raises(RunMismatch) as caught:
        RunFile.create_or_open(path, question=QUESTION, info={}, systems={"scripted/echo": spec})
    assert caught.value.differences == {"systems.scripted/echo.template.name": ("paper", "official")}
    with open_run(path) as run:
        assert list(run.systems) == ["other", "scripted/echo"]
        assert run.systems["scripted/echo"] == Echo().spec


def test_long_values_are_shown_where_they_differ() -> None:
    (old, new) = differences({"prompt": "word " * 100 + "old end"}, {"prompt": "word " * 100 + "new end"})["prompt"]
    assert old != new
    assert max(len(old), len(new)) < 70
    assert "old end" in old
    assert differences({"a": 0}, {"a": 0.0}) == {}


def test_what_is_noted_beside_the_question_is_the_last_writers(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    new_file(path, version="1", licence="CC").close()
    new_file(path, version="2").close()
    with open_run(path) as run:
        assert run.meta == {"question": QUESTION, "version": "2", "licence": "CC"}
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        new_file(path, version=float("nan")).close()
    for key in ("question", "file_id"):
        with pytest.raises(UsageError, match=f"cannot have the key '{key}'"):
            RunFile.create_or_open(path, question=QUESTION, info={key: 1}, systems={})


async def test_going_on_with_a_finished_run_changes_no_byte(tmp_path: Path) -> None:
    path, echo, contents = tmp_path / "a.run", Echo(), set[bytes]()
    for _ in range(3):
        with new_file(path, echo) as file:
            await run_cases(file, cases(20), systems=[echo], metrics=[Length()])
        contents.add(shown(path, lambda run: [run.path.read_bytes().hex()]))
    assert len(echo.asked) == 20
    assert len(contents) == 1
    assert os.listdir(tmp_path) == ["a.run"]  # noqa: PTH208


@pytest.mark.parametrize(
    "text", ["plain", "", "a\0b", "\ud800", 'quote " and \\', "中文/…", "../../etc", "\u2028", "\\u0041", "😀"]
)
def test_every_id_has_a_key_of_its_own(text: str) -> None:
    assert text_of(key_of(text)) == text
    key_of(text).encode()
    assert "\0" not in key_of(text)


async def test_records_come_by_system_and_case_whatever_finished_first(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    systems = [Echo("zeta"), Echo("alpha")]
    with new_file(path, *systems) as file:
        await run_cases(file, lambda: reversed(list(cases(300)())), systems=systems, metrics=[Length(), Judge()])
    found = [(record.system_id, record.case.id) for record in records(path)]
    assert found == sorted(found)
    assert len(found) == 600
    with open_run(path) as run:
        only = list(run.records(system="zeta"))
    assert [record.case for record in only] == list(cases(300)())
    score = only[7].scores["judge"]
    assert score.evidence == {"reply": "It is 7.", "verdicts": [{"yes": True}, "raw \ud800"]}


async def test_a_reader_in_the_middle_of_a_page_does_not_stop_a_writer(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, cases(300), systems=[echo], metrics=[])
        with open_run(path) as run:
            stream = run.records()
            first = next(stream)
            await run_cases(file, cases(500), systems=[echo], metrics=[])
            assert first.case.id == "noise/en/00000"
            assert sum(1 for _ in stream) == 499


async def test_a_page_of_one_system_is_found_without_reading_the_pages_before_it(tmp_path: Path) -> None:
    path, echo, asked = tmp_path / "a.run", Echo(), list[str]()
    with new_file(path, echo) as file:
        await run_cases(file, cases(20), systems=[echo], metrics=[])
    with open_run(path) as run:
        connection = run._pages._connection
        connection.set_trace_callback(asked.append)
        assert sum(1 for _ in run.records(system=next(iter(run.systems)))) == 20
        connection.set_trace_callback(None)
        pages = [query for query in asked if "FROM records r" in query and "LIMIT" in query]
        assert len(pages) == 2
        for query in pages:
            plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
            assert any("(system_id=? AND case_id>?)" in step for step in plan), plan


async def test_reading_takes_no_more_memory_for_more_records(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        with open_run(path) as run:
            tracemalloc.start()
            assert sum(1 for _, _ in zip(run.records(), range(count), strict=False)) == count
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return most

    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, lambda: (case(n, text="x" * 5000) for n in range(2000)), systems=[echo], metrics=[])
    assert peak(2000) < 1.3 * peak(400)


async def test_counts_and_failures_say_what_went_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    echo = Echo(fails=lambda question: ValueError("odd") if question.endswith(("1?", "3?")) else None)
    with new_file(path, echo) as file:
        await run_cases(file, cases(10), systems=[echo], metrics=[Judge(fails=True)])
    with open_run(path) as run:
        counts = run.counts()["scripted/echo"]
        assert (counts.records, counts.answered, counts.failed, counts.unscored) == (10, 8, 2, 8)
        by_kind = {failure.kind: failure for failure in run.failures()}
    assert by_kind["value_error"].count == 2
    assert by_kind["value_error"].message == "value_error: odd"
    assert by_kind["value_error"].case_id == "noise/en/00001"
    assert by_kind["metric judge"].count == 8


async def test_a_tampered_file_is_one_line(tmp_path: Path) -> None:
    path, echo = tmp_path / "a.run", Echo()
    with new_file(path, echo) as file:
        await run_cases(file, cases(3), systems=[echo], metrics=[])
    for payload in ("{", '{"id":1}', "[" * 100_000 + "]" * 100_000, "null", b"\0", 5):
        connection = sqlite3.connect(path)
        connection.execute("UPDATE cases SET payload = ? WHERE case_id = 'noise/en/00001'", (payload,))
        connection.commit()
        connection.close()
        with pytest.raises(DataError, match="the file is damaged: case 'noise/en/00001'") as caught:
            records(path)
        assert len(str(caught.value).splitlines()) == 1


def test_a_run_file_opens_in_any_sqlite_tool(tmp_path: Path) -> None:
    new_file(tmp_path / "a.run").close()
    connection = sqlite3.connect(tmp_path / "a.run")
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    apart = {"packs", "texts", "planned", "cells", "rows"}
    assert names == {"meta", "systems", "cases", "records", "scores", "verdicts", "leases"} | apart

    def key(table: str) -> list[str]:
        rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
        return [row[1] for row in sorted(rows, key=lambda row: int(row[5])) if row[5]]

    assert key("records") == ["system_id", "case_id"]
    assert key("scores") == ["system_id", "case_id", "metric", "metric_version"]
    (question,) = connection.execute("SELECT value FROM meta WHERE key = 'question'").fetchone()
    assert json.loads(question) == QUESTION
    connection.close()


def test_an_empty_run_shows_nothing(tmp_path: Path) -> None:
    new_file(tmp_path / "a.run").close()
    assert records(tmp_path / "a.run") == []
    assert b"records=0" in shown(tmp_path / "a.run")


class _Judged:
    """A metric that is_async and rests on a verdict that others rest on, too."""

    version = 1
    needs = frozenset[Need]()

    def __init__(self, name: str) -> None:
        self.name = name

    async def score(self, case: Case, response: Response, /) -> Score:
        shared = {"step": "verify", "reply": "x" * 10_000, "of": case.id}
        return Score.of(1.0, evidence={"verdicts": [shared, {"only": self.name}]})


async def test_a_verdict_that_several_metrics_rest_on_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    metrics = [_Judged(f"metric {number}") for number in range(8)]
    with new_file(path) as file:
        await run_cases(file, cases(5), systems=[Echo()], metrics=metrics)
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute("SELECT count(*) FROM verdicts").fetchone()
    connection.close()
    assert count == 5 * (1 + 8)
    assert path.stat().st_size < 2 * 5 * 10_000 + 200_000
    with open_run(path) as reader:
        for record in reader.records():
            for metric in metrics:
                evidence = record.scores[metric.name].evidence
                assert [verdict.get("only") for verdict in evidence["verdicts"]] == [None, metric.name]
                assert evidence["verdicts"][0]["of"] == record.case.id
