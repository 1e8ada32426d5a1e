"""What is read of a run by those who show or compare it: of very many records, no more than is needed."""

import io
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.commands.show import say_run
from ragstone.comparison.compare import compare_sides, opened_sides
from ragstone.comparison.compare_flips import flip_reader
from ragstone.engine.open_run import OpenRun, read_run
from ragstone.runs import RunReader, text_store
from ragstone.types import Record

ROWS, PASSAGES = 90, 3


def rows(*, wrong: Collection[int]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{number}", "question": f"Which colour has house {number}?", "reference": f"colour {number}",
            "answer": "no colour" if number in wrong else f"It is colour {number}.",
            "contexts": [f"House {number}, page {page}: {'a wall of stones ' * 30}" for page in range(PASSAGES)],
        }
        for number in range(ROWS)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs of the same questions: 60 answers of the first are wrong, and 50 of the second."""
    folder = tmp_path_factory.mktemp("runs")
    paths = folder / "a.run", folder / "b.run"
    for path, wrong in zip(paths, (range(60), range(50)), strict=True):
        ragstone.evaluate(rows(wrong=wrong), ["answer_match", "token_f1"], run=path, name="recorded")
    return paths


@pytest.fixture
def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are read from run files."""
    read: list[str] = []
    fetch = text_store.fetch

    def spy(connection: Any, digests: Iterable[str], **more: Any) -> dict[str, str]:
        read.extend(wanted := list(digests))
        return fetch(connection, wanted, **more)

    monkeypatch.setattr("ragstone.runs.record_pages.fetch", spy)
    return read


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The run file of each pass over all records."""
    read: list[Path] = []
    records = RunReader.records

    def spy(self: RunReader, **chosen: Any) -> Iterator[Record]:
        read.extend([self.path] if chosen.get("cases") is None else [])
        return records(self, **chosen)

    monkeypatch.setattr(RunReader, "records", spy)
    return read


def test_a_report_of_recorded_answers_reads_all_records_once(
    runs: tuple[Path, Path], passes: list[Path], tmp_path: Path
) -> None:
    with read_run(runs[0]) as run:
        run.write_report(tmp_path / "r.html")
        assert passes == [runs[0]]
        assert run.tables()
    assert passes == [runs[0]]


def test_what_eval_prints_at_its_end_reads_all_records_once(runs: tuple[Path, Path], passes: list[Path]) -> None:
    with read_run(runs[1]) as run:
        say_run(run, language="en")
    assert passes == [runs[1]]


def test_a_report_reads_the_texts_only_of_the_answers_that_it_shows(
    runs: tuple[Path, Path], texts_read: list[str], tmp_path: Path
) -> None:
    with read_run(runs[0]) as run:
        page = run.write_report(tmp_path / "r.html", cases_shown=5).read_text("utf-8")
    assert page.count("a wall of stones") >= 5 * PASSAGES
    assert len(texts_read) == 5 * PASSAGES


def test_tables_slices_and_a_comparison_read_no_texts(runs: tuple[Path, Path], texts_read: list[str]) -> None:
    with read_run(runs[0]) as run:
        assert run.tables()
        assert run.summaries()
        assert ragstone.slices(run)[0].samples == ROWS
    assert ragstone.compare(*runs).pairs == ROWS
    assert texts_read == []


def test_the_page_of_a_comparison_reads_the_texts_of_the_cases_on_it(
    runs: tuple[Path, Path], texts_read: list[str], passes: list[Path]
) -> None:
    with opened_sides(*runs, None, None) as sides:
        reader = flip_reader(sides)
        assert reader is not None
        comparison = compare_sides(*sides, flips=reader)
        assert comparison.pairs == ROWS
        assert passes == [*runs]  # once for the comparison and the flips
        flips = reader.flipped(comparison)
    assert flips is not None
    assert flips.flips.counts == {"won": 10, "lost": 0, "both_right": 30, "both_wrong": 50}
    assert len(texts_read) == 2 * PASSAGES * len(flips.cases) < 2 * PASSAGES * ROWS


def exported(run: OpenRun, kind: str) -> bytes:
    target = io.BytesIO()
    run.export(target, kind)
    return target.getvalue()


def test_only_an_export_with_the_passages_reads_their_texts(runs: tuple[Path, Path], texts_read: list[str]) -> None:
    with read_run(runs[0]) as run:
        for kind in ("csv", "junit", "markdown", "trec"):
            assert exported(run, kind)
        assert texts_read == []
        assert exported(run, "jsonl").count(b"House 7, page ") == PASSAGES
    assert len(texts_read) == ROWS * PASSAGES


def test_records_without_texts_are_the_same_but_for_the_long_ones(runs: tuple[Path, Path]) -> None:
    with read_run(runs[0]) as run:
        found = {record.case.id: record for record in run.run.records()}
        short = {record.case.id: record for record in run.run.records(texts=False)}
    assert found.keys() == short.keys()
    names = dict[str, str]()
    for case, record in found.items():
        assert (short[case].case, short[case].scores) == (record.case, record.scores)
        long, brief = record.response, short[case].response
        assert long is not None
        assert brief is not None
        for one, other in zip(long.passages, brief.passages, strict=True):
            assert (other.id, len(other.text) < 60) == (one.id, True)
            assert names.setdefault(one.text, other.text) == other.text  # the same text, the same name
    assert len({*names.values()}) == len(names) == ROWS * PASSAGES


def test_some_cases_come_in_the_order_of_all(runs: tuple[Path, Path]) -> None:
    with read_run(runs[0]) as run:
        wanted = {"000080", "000003", "000041", "no such case"}
        some = [record.case.id for record in run.run.records(system="recorded", cases=wanted)]
        assert some == ["000003", "000041", "000080"]
        assert [record.case.id for record in run.run.records(cases=wanted)] == some


def test_a_long_column_named_text_is_itself_also_where_texts_of_passages_are_not_read(tmp_path: Path) -> None:
    long = "一列很长的文字" * 20
    columns = [{**row, "text": long} for row in rows(wrong=())[:3]]
    found = ragstone.evaluate(columns, ["token_f1"], run=tmp_path / "t.run")
    assert [row["text"] for row in found.scores] == [long] * 3
    with read_run(tmp_path / "t.run") as opened:
        assert "texts:" not in "".join(str(record.case.sample.meta) for record in opened.run.records(texts=False))
