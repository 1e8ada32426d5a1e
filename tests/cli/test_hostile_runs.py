"""A run file that somebody made to do harm, or that holds numbers beyond all reason: one line, no bug, no hang."""

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, command, environment

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def view(table: str, columns: str) -> str:
    return f"DROP TABLE {table}; CREATE VIEW {table} AS {ENDLESS} SELECT {columns} FROM n"


SCORE = 'UPDATE scores SET payload = \'{{"value":{},"status":"scored","reason":""}}\''
USAGE = "UPDATE records SET response = json_set(response, '$.usage', json('{{\"prompt_tokens\":{0},\"requests\":1}}'))"
HOSTILE = {
    "view of records": (view("records", "'s' system_id, x case_id, null response, '\"e\"' error, 0 retry"), "view"),
    "view of meta": (view("meta", "x key, '1' value"), "view"),
    "trigger": ("CREATE TRIGGER t AFTER INSERT ON leases BEGIN DELETE FROM records; END", "trigger"),
    "computed column": ("ALTER TABLE systems ADD COLUMN more TEXT AS (hex(zeroblob(400000000)))", "computed column"),
    "infinite score": (SCORE.format("1e999"), "damaged"),
    "huge score": (SCORE.format("1e308"), "1e+308"),
    "score of NaN": (SCORE.format("NaN"), "damaged"),
    "integer of 4000 digits": (SCORE.format("9" * 4000), "digits"),
    "tokens beyond int64": (USAGE.format("9" * 25), "tokens"),
    "tokens of 1e400": (USAGE.format("9" * 400), "digits"),
}
READERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "report": lambda run: ("report", run, "-o", "r.html"),
    "show": lambda run: ("show", run),
    "export": lambda run: ("export", run, "--format", "csv", "-o", "x.csv"),
    "compare": lambda run: ("compare", run, run),
    "gate": lambda run: ("gate", run, "--fail-under", "answer_match=0.1"),
    "resume": lambda run: ("bench", "rgb", "--model", "local/extractive", *SMALL, "--run", run, "--quiet"),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_run_file_is_told_in_one_line_and_nothing_hangs(
    tmp_path: Path, run_file: Path, name: str, reader: str
) -> None:
    check(tmp_path, run_file, name, reader)


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("view of records", "report"),
        ("huge score", "compare"),
        ("tokens beyond int64", "report"),
        ("trigger", "resume"),
    ],
)
def test_a_hostile_run_file_is_told_in_one_line(tmp_path: Path, run_file: Path, name: str, reader: str) -> None:
    check(tmp_path, run_file, name, reader)


def check(folder: Path, run_file: Path, name: str, reader: str) -> None:
    statements, word = HOSTILE[name]
    copy = folder / "hostile.run"
    copy.write_bytes(run_file.read_bytes())
    file = sqlite3.connect(copy)
    file.executescript(statements)
    file.close()
    ended = subprocess.run(
        command(*READERS[reader](copy.name)), cwd=folder, env=environment(folder), capture_output=True, timeout=100,
        check=False,
    )  # fmt: skip
    err = ended.stderr.decode()
    assert "Traceback" not in err
    assert "bug" not in err
    # What a command does not need of a file it does not read, and then it may well succeed.
    if ended.returncode == 0:
        assert word in ("damaged", "1e+308", "digits", "tokens"), name
        assert reader in ("resume", "gate", "show", "compare"), err
        return
    assert ended.returncode in (2, 3), err
    (line,) = [line for line in err.splitlines() if line.startswith("ragstone: ")]
    assert "hostile.run" in line
    assert word in line
