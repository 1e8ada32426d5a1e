"""The index of cases follows its run: extension, retries, new scores, damage, and several processes at once."""

import multiprocessing
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.analysis.case_runs import Probe, add_scores, damage, finish, opened, record, write

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex
from ragstone.analysis.case_index_store import open_store
from ragstone.errors import StorageError
from ragstone.runs import open_run
from ragstone.types import Usage


def ids(index: CaseIndex, chosen: CaseFilter | None = None) -> list[str]:
    return sorted(row.case_id for row in index.page(chosen or CaseFilter(), size=1_000).rows)


def counts(index: CaseIndex, name: str) -> dict[str, int]:
    return {facet.value: facet.count for facet in index.facets(CaseFilter()).get(name, ())}


def test_records_that_arrive_are_found(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("b", scores={"right": 0.0}), record("d")])
    with opened(run, tmp_path / "cache") as index:
        write(run, [record("a", answer="new plum", scores={"right": 1.0}), record("c", "other")])
        assert not index.progress().finished
        finish(index)
        assert ids(index) == ["a", "b", "c", "d"]
        assert ids(index, CaseFilter(text="plum")) == ["a"]
        assert counts(index, "system") == {"s": 3, "other": 1}
        assert [row.case_id for row in index.page(CaseFilter(sort="id")).rows] == ["a", "b", "c", "d"]


def test_a_failure_that_is_retried_is_replaced(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a", answer=None, error="timed_out: slow"), record("b")])
    with opened(run, tmp_path / "cache") as index:
        assert counts(index, "status") == {"failed": 1, "unscored": 1}
        assert ids(index, CaseFilter(text="slow")) == ["a"]
        write(run, [record("a", answer="plum again", scores={"right": 0.0})])
        finish(index)
        assert counts(index, "status") == {"wrong": 1, "unscored": 1}
        assert counts(index, "cause") == {"plum": 1}
        assert ids(index, CaseFilter(text="slow")) == []
        assert ids(index, CaseFilter(text="plum")) == ["a"]
        assert index.usage() == {"s": Usage(20, 4, requests=2)}


def test_a_failure_that_fails_otherwise_is_noticed(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a", answer=None, error="timed_out: " + "slow " * 40)])
    with opened(run, tmp_path / "cache") as index:
        write(run, [record("a", answer=None, error="timed_out: " + "refused " * 40)])
        finish(index)
        assert ids(index, CaseFilter(text="refused")) == ["a"]
        assert ids(index, CaseFilter(text="slow")) == []


def test_scores_that_are_added_change_the_record_and_count_no_tokens_twice(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    items = [record(str(number), answer=f"plum {number}") for number in range(5)]
    write(run, items)
    with opened(run, tmp_path / "cache") as index:
        assert [*index.metrics] == ["seconds", "tokens"]
        add_scores(run, items[3], right=0.0, f1=0.25)
        add_scores(run, items[4], right=1.0)
        finish(index)
        assert [*index.metrics] == ["f1", "right", "seconds", "tokens"]
        assert counts(index, "status") == {"wrong": 1, "right": 1, "unscored": 3}
        assert ids(index, CaseFilter(metrics={"f1": (0.2, 0.3)})) == ["3"]
        assert index.usage()["s"] == Usage(50, 10, requests=5)
        assert index.page(CaseFilter()).rows[0].scores == {"right": 0.0, "f1": 0.25}


def test_a_cause_that_is_no_longer_true_is_forgotten(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    item = record("a", answer="plum", scores={"f1": 0.5, "right": None})
    write(run, [item])
    with opened(run, tmp_path / "cache") as index:
        assert counts(index, "status") == {"unscored": 1}
        add_scores(run, item, right=0.0)
        finish(index)
        assert (counts(index, "status"), counts(index, "cause")) == ({"wrong": 1}, {"plum": 1})


def test_nothing_is_read_again_when_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a"), record("b")])
    opened(run, tmp_path / "cache").close()

    def explain(*_: object, **__: object) -> None:
        raise AssertionError("a record was read again")

    monkeypatch.setattr(Probe, "explain", explain)
    with opened(run, tmp_path / "cache", update=False) as index:
        assert index.progress().finished
        assert index.update(1).finished
        assert ids(index) == ["a", "b"]


def test_the_run_file_is_never_written(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record(str(number)) for number in range(50)])
    before = run.read_bytes()
    with opened(run, tmp_path / "cache") as index:
        index.facets(CaseFilter(text="why"))
    assert run.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"a.run", "cache"}


def test_a_file_that_was_replaced_by_an_older_copy_is_indexed_again(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a"), record("b")])
    older = run.read_bytes()
    write(run, [record("c")])
    with opened(run, tmp_path / "cache") as index:
        assert ids(index) == ["a", "b", "c"]
    run.write_bytes(older)
    with opened(run, tmp_path / "cache") as index:
        assert ids(index) == ["a", "b"]
        assert counts(index, "system") == {"s": 2}


def test_copies_of_a_run_have_an_index_each(tmp_path: Path) -> None:
    write(tmp_path / "a.run", [record("a")])
    (tmp_path / "b.run").write_bytes((tmp_path / "a.run").read_bytes())
    write(tmp_path / "b.run", [record("b")])
    with opened(tmp_path / "a.run", tmp_path / "cache") as one, opened(tmp_path / "b.run", tmp_path / "cache") as other:
        assert (ids(one), ids(other)) == (["a"], ["a", "b"])


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 300, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_an_index_that_is_no_index_is_made_again(tmp_path: Path, content: bytes) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a")])
    with opened(run, tmp_path / "cache") as index:
        place = index.path
    place.write_bytes(content)
    with opened(run, tmp_path / "cache") as index:
        assert ids(index) == ["a"]


def test_an_index_that_is_damaged_in_the_middle_is_made_again(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record(str(number), answer="plum " * 50) for number in range(300)])
    with opened(run, tmp_path / "cache") as index:
        place = index.path
    damage(place)
    with opened(run, tmp_path / "cache") as index:
        assert len(ids(index)) == 300


def test_an_index_that_is_damaged_while_it_is_open_says_so_once(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record(str(number)) for number in range(20)])
    with opened(run, tmp_path / "cache") as index:
        with closing(sqlite3.connect(index.path)) as other:
            other.execute("UPDATE chunks SET data = x'09ff'")
            other.commit()
        with pytest.raises(StorageError, match="the index of the cases is damaged"):
            index.page(CaseFilter(status=("unscored",)))
        finish(index)
        assert len(ids(index, CaseFilter(status=("unscored",)))) == 20


@pytest.mark.parametrize("statement", ["DROP TABLE keys", "PRAGMA user_version=99", "CREATE TABLE more (x)"])
def test_an_index_of_another_layout_is_made_again(tmp_path: Path, statement: str) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a")])
    with opened(run, tmp_path / "cache") as index:
        place = index.path
    with closing(sqlite3.connect(place)) as other:
        other.execute(statement)
        other.commit()
    with opened(run, tmp_path / "cache") as index:
        assert ids(index) == ["a"]


def test_another_version_explains_every_record_again(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("a", answer="old", scores={"right": 0.0})])

    def causes(version: str) -> dict[str, int]:
        benchmark = Probe()  # type: ignore[abstract]
        benchmark.prefix = version
        with CaseIndex.open(open_run(run), benchmark, tmp_path / "cache", language="en", version=version) as index:
            finish(index)
            return counts(index, "cause")

    assert causes("1") == {"1old": 1}
    assert causes("2") == {"2old": 1}


def test_an_update_that_is_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "a.run"
    write(run, [record(f"{number:04d}") for number in range(400)])
    explained = list[str]()

    class Stopping(Probe):
        def explain(self, record, /, *, language="en"):  # type: ignore[no-untyped-def]
            if len(explained) == 250:
                explained.append("")
                raise KeyboardInterrupt
            explained.append(record.case.id)
            return super().explain(record, language=language)

    monkeypatch.setattr("ragstone.analysis.case_index_build._STEP_SECONDS", 0.0)
    index = CaseIndex.open(open_run(run), Stopping(), tmp_path / "cache", language="en")  # type: ignore[abstract]
    with pytest.raises(KeyboardInterrupt):
        index.update(60)
    assert 0 < index.progress().done < 400
    index.close()
    with opened(run, tmp_path / "cache") as again:
        assert ids(again) == [f"{number:04d}" for number in range(400)]


def _follow(run: Path, folder: Path, until: int) -> None:
    with opened(run, folder, update=False) as index:
        for _ in range(10_000):
            if index.update(0.05).finished and index.page(CaseFilter()).total >= until:
                return
    raise AssertionError("never finished")


def test_several_processes_may_index_a_run_that_grows(tmp_path: Path) -> None:
    run, folder = tmp_path / "a.run", tmp_path / "cache"
    write(run, [record(f"0/{number}") for number in range(100)])
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_follow, args=(run, folder, 500)) for _ in range(2)]
    for process in processes:
        process.start()
    for batch in range(1, 5):
        write(run, [record(f"{batch}/{number}", answer=f"plum{batch}") for number in range(100)])
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    with opened(run, folder) as index:
        assert len(set(ids(index))) == index.page(CaseFilter()).total == 500
        assert index.page(CaseFilter(text="plum3")).total == 100


def test_questions_are_answered_while_the_index_is_being_made(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record(f"{number:04d}", answer="plum") for number in range(600)])
    with opened(run, tmp_path / "cache", update=False) as index:
        maker = threading.Thread(target=finish, args=(index,))
        maker.start()
        totals = []
        while maker.is_alive():
            totals.append(index.page(CaseFilter(status=("unscored",))).total)
        maker.join()
        assert totals == sorted(totals)
        assert index.page(CaseFilter(text="plum")).total == 600


def test_ids_and_texts_may_hold_anything(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    names = ["", "a\0b", "\ud800", "q'; DROP TABLE rows; --", "ID\n2", "<b>", "…" * 300, "\\u0041", "A"]
    items = [
        record(name, system, question=f"{name} 李?", answer="\0\ud800 plum", condition={"x\0": "\udfff", "k" * 500: 1},
               columns={"": "empty", "c=d&e": "f=g&h"}, scores={"m\0": 0.5})
        for name in names
        for system in ("", "\ud800", "s" * 300, "s" * 299 + "t")
    ]  # fmt: skip
    write(run, items)
    with opened(run, tmp_path / "cache") as index:
        rows = index.page(CaseFilter(), size=1_000).rows
        assert {(row.system_id, row.case_id) for row in rows} == {(item.system_id, item.case.id) for item in items}
        for item in items:
            assert index.record(item.system_id, item.case.id) == replace(item)
        assert index.page(CaseFilter(text="李 plum")).total == len(items)
        assert index.page(CaseFilter(text="drop table")).total == 4
        assert index.page(CaseFilter(labels={"c=d&e": ("f=g&h",)})).total == len(items)
        keys = [(row.system_id, row.case_id) for row in rows]
        assert [index.neighbours(CaseFilter(), key)[1] for key in keys] == [*keys[1:], None]


def test_a_run_with_very_many_fields_and_values_is_indexed(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(
        run,
        [record(str(number), columns={f"column {number}": "x", "id": f"value {number}"}) for number in range(420)],
    )
    with opened(run, tmp_path / "cache") as index:
        facets = index.facets(CaseFilter(labels={"id": ("value 419",)}))
        assert len(facets) <= 400
        assert [facet.value for facet in facets["label.id"]][-1] == "value 419"
        assert ids(index, CaseFilter(labels={"id": ("value 419",)})) == ["419"]


def test_an_empty_run_has_no_cases(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [])
    with opened(run, tmp_path / "cache") as index:
        assert index.page(CaseFilter(text="plum", sort="f1", metrics={"f1": (0, 1)})).rows == ()
        assert index.facets(CaseFilter(status=("wrong",))) == {}
        assert index.neighbours(CaseFilter(), ("s", "a")) == (None, None)


def test_while_a_run_is_written_its_ids_are_ordered_only_now_and_then(tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    write(run, [record("b"), record("d")])
    with opened(run, tmp_path / "cache") as index:
        with closing(sqlite3.connect(run)) as other:
            other.execute("INSERT INTO leases VALUES ('s', 'case', 'x', 'elsewhere', 9e12)")
            other.commit()
        write(run, [record("a")])
        index._builder._next_rank = float("inf")
        finish(index)
        assert [row.case_id for row in index.page(CaseFilter(sort="id")).rows] == ["b", "d", "a"]
        with closing(sqlite3.connect(run)) as other:
            other.execute("DELETE FROM leases")
            other.commit()
        finish(index)
        assert [row.case_id for row in index.page(CaseFilter(sort="id")).rows] == ["a", "b", "d"]


@pytest.mark.parametrize(
    "text", ["00\0", "\0\0\0\0", '"', '""" OR "', "a* NOT b", "NEAR(a b)", "text:why", "'", "\\", "(((", "的\0"]
)
def test_no_text_that_is_searched_costs_the_index(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "a.run"
    write(run, [record(str(number)) for number in range(10)])
    monkeypatch.setattr("ragstone.analysis.case_index_text.MOST", 3)
    with opened(run, tmp_path / "cache") as index:
        before = index.path.stat().st_ino
        index.page(CaseFilter(text=text))
        index.facets(CaseFilter(text=text))
        finish(index)
        assert index.path.stat().st_ino == before
        assert index.page(CaseFilter()).total == 10


def test_an_index_opens_at_once_while_another_process_writes_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    with closing(open_store(path, "v1")) as builder:
        with builder.writing():
            builder.set_note("position", 5)
        with builder.writing(), closing(open_store(path, "v1")) as reader:
            assert reader.note("position") == 5


def test_an_index_that_is_locked_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.index"
    with closing(open_store(path, "v1")) as builder, builder.writing():
        builder.set_note("position", 5)
    monkeypatch.setattr("ragstone.analysis.case_index_store._BUSY_SECONDS", 0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="lock"):
            open_store(path, "v1")
    with closing(open_store(path, "v1")) as kept:
        assert kept.note("position") == 5
