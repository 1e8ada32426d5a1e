"""Others' results become a run that can be tabulated, drawn and compared like one of ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.api import bench, compare
from ragstone.benchmarks.niah import needles
from ragstone.errors import DataError, RunMismatch, UsageError
from ragstone.evaluation.results import import_results
from ragstone.runs import is_run_file, open_run
from ragstone.types import Record

SANDWICH = needles.make_needle("sandwich", "en", None).needles[0]  # type: ignore[arg-type]
GOOD = "Eat a sandwich and sit in Dolores Park on a sunny day."


def cell(length: int, depth: float, score: float, *, version: int = 1, answer: str = "") -> dict[str, Any]:
    return {
        "model": "claude", "context_length": length, "depth_percent": depth, "version": version, "score": score,
        "needle": f"\n  {SANDWICH}\n", "model_response": answer or (GOOD if score == 10 else "It does not say."),
    }  # fmt: skip


def folder(path: Path, *rows: dict[str, Any]) -> Path:
    path.mkdir()
    for number, row in enumerate(rows):
        (path / f"{number}.json").write_text(json.dumps(row))
    return path


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Two versions over the same four cells; the second finds what the first missed. One cell was asked twice."""
    grid = [(1000, 0.0), (1000, 100.0), (2000, 0.0), (2000, 100.0)]
    first = [cell(*place, 1 if place == (2000, 0.0) else 10) for place in grid]
    return folder(tmp_path / "cells", *first, *(cell(*place, 10, version=2) for place in grid), cell(1000, 0.0, 1))


def test_each_model_and_version_is_a_system_with_its_scores_and_those_by_rule(published: Path, tmp_path: Path) -> None:
    with import_results("niah", [published], tmp_path / "o.run") as run:
        assert list(run.run.systems) == ["claude, version 1", "claude, version 2"]
        records = list(run.run.records(system="claude, version 1"))
        tables = {table.id: table for table in run.tables()}
    places = [tuple(one.case.condition[name] for name in ("length", "depth", "repeat")) for one in records]
    assert places == [(1000, 0.0, 0), (1000, 0.0, 1), (1000, 100.0, 0), (2000, 0.0, 0), (2000, 100.0, 0)]
    assert records[-1].case.condition == {
        "ability": "needle", "language": "en", "length": 2000, "depth": 100.0, "length_reached": 2000,
        "depth_reached": 100.0, "template": "", "needle": records[0].case.condition["needle"], "needles": 1,
        "repeat": 0, "tokenizer": "", "mode": "full",
    }  # fmt: skip
    assert [one.scores["needle.given"].value for one in records] == [1, 0, 1, 0, 1]
    assert [one.scores["needle.found"].value for one in records] == [1, 0, 1, 0, 1]
    rows = tables["niah-summary"].rows
    assert all(row.published for row in rows)
    # Of the cell that was asked twice the mean counts once: (0.5 + 1 + 0 + 1) / 4.
    assert rows[0].cells[1].value == pytest.approx(2.5 / 4)
    assert rows[1].cells[1].value == 1.0
    assert rows[0].cells[-1].value == pytest.approx(1 + 9 * 2.5 / 4)


def test_both_what_was_given_and_what_the_rule_finds_have_a_map(published: Path, tmp_path: Path) -> None:
    with import_results("niah", [published], tmp_path / "o.run") as run:
        titles = [chart.title for chart in run.benchmark.charts(run.run) if chart.kind == "heatmap"]
        page = run.write_report(tmp_path / "o.html").read_text(encoding="utf-8")
    assert titles[0] == "claude, version 1: the sandwich in San Francisco, Score as published (English)"
    assert len(titles) == 6  # of each version what was given and what the rule finds, and two of their differences
    assert titles[1] in page


def test_versions_are_compared_cell_by_cell(published: Path, tmp_path: Path) -> None:
    import_results("niah", [published], tmp_path / "o.run").close()
    found = compare(tmp_path / "o.run", on="common")
    row = next(row for row in found.rows if "needle.given" in (row.metric, *row.aliases))
    assert (row.n, row.a, row.b) == (4, 0.75, 1.0)


def test_a_list_without_answers_has_its_scores_alone(tmp_path: Path) -> None:
    rows = [{"token_limit": length, "depth_percent": 0, "score": score} for length, score in ((500, 10), (1000, 3))]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    with import_results("niah", [tmp_path / "list.json"], tmp_path / "o.run") as run:
        records = list(run.run.records())
        tables = {table.id: table for table in run.tables()}
    assert [set(one.scores) for one in records] == [{"needle.found", "needle.given", "needle.refused"}] * 2
    assert {one.scores["needle.found"].status for one in records} == {"not_applicable"}
    assert [cell.text for cell in tables["niah-effective"].rows[0].cells[1:]] == ["500 [500, –]", "500 [below 500, –]"]
    assert tables["niah-summary"].rows[0].cells[1].value is None


def test_a_low_score_is_explained_and_no_prompt_is_claimed(tmp_path: Path) -> None:
    rows = [{"token_limit": length, "depth_percent": 0, "score": score} for length, score in ((500, 10), (1000, 3))]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    with import_results("niah", [tmp_path / "list.json"], tmp_path / "o.run") as run:
        right, wrong = [run.benchmark.explain(record) for record in run.run.records()]
        assert run.benchmark.template.sampling.temperature is None
    assert right.right is True
    assert (wrong.right, wrong.cause, wrong.reason) == (False, "partly", "Its score was 3 out of 10.")


def place(record: Record) -> tuple[str, object]:
    return record.case.sample.id, record.case.condition["ability"]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A run of ours: a model that never says where the needle is."""
    (tmp_path / "m.jsonl").write_text('{"default": "I do not know."}\n')
    path = tmp_path / "ours.run"
    bench("niah", model=f"scripted/{tmp_path}/m.jsonl", lengths="600,1200", depths="0,1,100", run=path)
    return path


def test_a_run_of_ours_stands_beside_them(published: Path, ours: Path, tmp_path: Path) -> None:
    with open_run(ours) as run:
        before = {place(record): record for record in run.records()}
    with import_results("niah", [published, ours], tmp_path / "o.run") as run:
        (mine,) = [name for name in run.run.systems if name.startswith("scripted/")]
        after = list(run.run.records(system=mine))
        rows = next(table for table in run.tables() if table.id == "niah-summary").rows
    assert len(after) == len(before) == 8
    for record in after:
        old = before[place(record)]
        assert record.response is not None
        assert old.response is not None
        assert record.response.answer == old.response.answer
    assert [row.published for row in rows] == [True, True, False]
    assert is_run_file(ours)
    assert not is_run_file(published)


def test_the_same_again_changes_nothing_and_other_results_of_the_name_are_refused(
    published: Path, tmp_path: Path
) -> None:
    target = tmp_path / "o.run"
    import_results("niah", [published], target).close()
    with import_results("niah", [published], target) as run:
        assert len(list(run.run.records())) == 9
    (published / "new.json").write_text(json.dumps(cell(4000, 0.0, 5)))
    with pytest.raises(RunMismatch):
        import_results("niah", [published], target)


def test_what_cannot_stand_there_is_told_in_one_line(published: Path, ours: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="both read and written"):
        import_results("niah", [ours], ours)
    with pytest.raises(UsageError, match="occurs twice"):
        import_results("niah", [ours, ours], tmp_path / "o.run")
    (published / "new.json").write_text(json.dumps(cell(4000, 0.0, 55)))
    with pytest.raises(DataError, match="not a score from 1 to 10"):
        import_results("niah", [published], tmp_path / "o.run")
    assert not (tmp_path / "o.run").exists()
