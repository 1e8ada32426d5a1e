"""A run file that somebody made to do harm, or that holds numbers beyond all reason: one line, no bug, no hang."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, one_line, process

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
SLOW = "hex(zeroblob(400000000))"


def view(table: str, columns: str) -> str:
    return f"DROP TABLE {table}; CREATE VIEW {table} AS {ENDLESS} SELECT {columns} FROM n"


def rewritten(table: str, old: str, new: str) -> str:
    """A table whose definition was changed behind the back of SQLite, which would test its rows otherwise."""
    return (
        f"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}')"
        f" WHERE type = 'table' AND name = '{table}'; PRAGMA writable_schema=RESET"
    )


def altered(kind: str) -> str:
    return (
        f"hostile.run has {kind} that ragstone did not create: somebody altered this run file. Do not trust it; "
        "use the original."
    )


def damaged(what: str, reason: str) -> str:
    return (
        f"hostile.run: the file is damaged: {what} case 'counterfactual/en_fact/0/0000' cannot be read ({reason})."
        " Restore the file from a copy, or save what can be read: ragstone merge hostile.run -o NEW.run --recover."
    )


SCORE = 'UPDATE scores SET payload = \'{{"value":{},"status":"scored","reason":""}}\''
USAGE = "UPDATE records SET response = json_set(response, '$.usage', json('{{\"prompt_tokens\":{0},\"requests\":1}}'))"
# What is done to the file, and the one line that every command prints that reads it.
HOSTILE = {
    "view of records": (
        view("records", "'s' system_id, x case_id, null response, '\"e\"' error, 0 retry"),
        altered("a view ('records')"),
    ),
    "view of meta": (view("meta", "x key, '1' value"), altered("a view ('meta')")),
    "trigger": (
        "CREATE TRIGGER t AFTER INSERT ON leases BEGIN DELETE FROM records; END",
        altered("a trigger ('t')"),
    ),
    "computed column": (f"ALTER TABLE systems ADD COLUMN more TEXT AS ({SLOW})", altered("a table ('systems')")),
    "check that is slow": (
        rewritten("meta", "value TEXT NOT NULL", f"value TEXT NOT NULL CHECK ({SLOW} <> value)"),
        altered("a table ('meta')"),
    ),
    "index that is slow": (f"CREATE INDEX i ON leases ({SLOW})", altered("an index ('i')")),
    "default that is slow": (
        rewritten("records", "retry INTEGER NOT NULL DEFAULT 0", f"retry INTEGER NOT NULL DEFAULT ({SLOW})"),
        altered("a table ('records')"),
    ),
    "infinite score": (SCORE.format("1e999"), damaged("a score of", "1e999 is not a finite number")),
    "huge score": (SCORE.format("1e308"), damaged("a score of", "a score of 1e+308 is beyond 1e+30")),
    "times beyond reason": (
        "UPDATE records SET response = json_set(response, '$.seconds', -1e300)",
        damaged("the response to", "a time of -1e+300 seconds is beyond 1e+09"),
    ),
    "score of NaN": (SCORE.format("NaN"), damaged("a score of", "NaN is not a finite number")),
    "integer of 4000 digits": (SCORE.format("9" * 4000), damaged("a score of", "an integer of 4,000 digits")),
    "tokens beyond int64": (
        USAGE.format("9" * 25),
        damaged("the response to", "a count of tokens is beyond 9,007,199,254,740,992"),
    ),
    "tokens of 1e400": (USAGE.format("9" * 400), damaged("the response to", "an integer of 400 digits")),
}
BOTH = ("--system-a", "local/extractive", "--system-b", "local/extractive")
READERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "report": lambda run: ("report", run, "-o", "r.html"),
    "show": lambda run: ("show", run),
    "export": lambda run: ("export", run, "--format", "csv", "-o", "x.csv"),
    "compare": lambda run: ("compare", "sound.run", run, *BOTH),
    "compare, the other way round": lambda run: ("compare", run, "sound.run", *BOTH),
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
        ("times beyond reason", "show"),
        ("check that is slow", "resume"),
    ],
)
def test_a_hostile_run_file_is_told_in_one_line(tmp_path: Path, run_file: Path, name: str, reader: str) -> None:
    check(tmp_path, run_file, name, reader)


def check(folder: Path, run_file: Path, name: str, reader: str) -> None:
    statements, line = HOSTILE[name]
    copy = folder / "hostile.run"
    for path in (copy, folder / "sound.run"):
        path.write_bytes(run_file.read_bytes())
    file = sqlite3.connect(copy)
    file.executescript(statements)
    file.close()
    before = copy.read_bytes()
    assert one_line(process(*READERS[reader](copy.name), folder=folder), code=2) == f"ragstone: {line}\n"
    assert not (folder / "r.html").exists()
    assert not (folder / "x.csv").exists()
    if reader != "resume" or "altered" in line:  # a resumed run writes its plan before it reads the records
        assert copy.read_bytes() == before
