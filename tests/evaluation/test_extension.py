"""A run grows by new rows: of recorded answers and of questions; changed and missing rows are refused."""

from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate, run
from ragstone.errors import UsageError
from ragstone.runs import open_run

ROWS = [{"id": f"r{number}", "question": f"Q{number}?", "answer": f"A{number}.", "reference": f"A{number}."}
        for number in range(6)]  # fmt: skip


def scored(path: Path) -> dict[str, str]:
    """Sample → case id of the records that have a score."""
    with open_run(path) as opened:
        return {record.case.sample.id: record.case.id for record in opened.records() if record.scores}


def grown(path: Path, rows: list[dict[str, Any]], **more: Any) -> Any:
    return evaluate(rows, "exact_match", run=path, **more)


def test_new_rows_are_added_wherever_they_stand_and_only_they_are_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    first = grown(path, ROWS[1:4])
    assert (first.outcome.asked, scored(path)) == (3, {"r1": "000001", "r2": "000002", "r3": "000003"})
    more = grown(path, [ROWS[0], *ROWS[1:4][::-1], ROWS[4]])
    assert more.outcome.done - more.outcome.already == 2
    assert scored(path) == {"r1": "000001", "r2": "000002", "r3": "000003", "r0": "000004", "r4": "000005"}
    assert more.summary["exact_match"]["n"] == 5
    again = grown(path, [ROWS[0], *ROWS[1:4][::-1], ROWS[4]])
    assert again.outcome.done == again.outcome.already == 5


def test_a_changed_row_is_refused_by_name_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    grown(path, ROWS[:3])
    before = path.read_bytes()
    changed = [ROWS[0], {**ROWS[1], "answer": "Another."}, *ROWS[2:]]
    with pytest.raises(UsageError, match=r"1 has changed: 'r1' \(row 2\)\)\. A run grows only by new rows"):
        grown(path, changed)
    assert path.read_bytes() == before


def test_a_row_that_is_missing_now_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    grown(path, ROWS[:3])
    with pytest.raises(UsageError, match=r"2 have no counterpart now: 'r1', 'r2'"):
        grown(path, [ROWS[0], *ROWS[3:]])


def test_a_limit_and_new_rows_go_together(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    grown(path, ROWS[:4], limit=2)
    assert list(scored(path)) == ["r0", "r1"]
    grown(path, ROWS, limit=5)
    assert scored(path) == {f"r{number}": f"{number + 1:06d}" for number in range(5)}


def test_other_settings_are_refused_as_before(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    grown(path, ROWS[:3], data_language="en")
    with pytest.raises(UsageError, match=r"language: 'en' in the file"):
        grown(path, ROWS, data_language="zh")


def test_a_run_of_questions_grows_too_and_the_system_is_asked_only_the_new_ones(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "A."

    questions = [{key: row[key] for key in ("id", "question", "reference")} for row in ROWS]
    for count, repeat in ((2, 1), (4, 1), (4, 2)):
        run(questions[:count], ask, "exact_match", run=tmp_path / "a.run", repeat=repeat)
    assert sorted(asked) == sorted([*(f"Q{number}?" for number in range(4))] * 2)
    with pytest.raises(UsageError, match="'r0'"):
        run([{**questions[0], "reference": "B."}, *questions[1:]], ask, "exact_match", run=tmp_path / "a.run")


def test_two_systems_of_one_run_grow_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    for rows in (ROWS[:2], ROWS[:4]):
        for name in ("one", "two"):
            grown(path, rows, name=name)
    with open_run(path) as opened:
        assert [len(list(opened.records(system=name))) for name in ("one", "two")] == [4, 4]


def test_the_rows_are_no_part_of_what_a_reader_of_the_run_is_shown(tmp_path: Path) -> None:
    grown(tmp_path / "a.run", ROWS[:2])
    with open_run(tmp_path / "a.run") as opened:
        assert "rows" not in opened.meta
        assert set(opened.rows) == {"r0", "r1"}
