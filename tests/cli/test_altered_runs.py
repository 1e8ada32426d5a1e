"""A run file with one altered value ends each reading command in one line that names file, cause and next step, or the
command says what is not as it was: it never shows another figure without a word, and never its own bug.

Each column of each table gets null, numbers, a text, bytes and nothing; of its JSON each key is removed and gets values
of other types."""

import contextlib
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told

Alteration = tuple[str, str, str, str, tuple[Any, ...]]  # table, column, what, SQL, its values

VALUES = {"null": None, "number": 7, "negative": -5, "text": "plum", "bytes": b"\xff\xfe", "huge": 10**18, "empty": ""}
JSON_VALUES = ("null", '"plum"', "7", "-3", "1e300", "[1]", '{"a": 1}')
WHOLE = ("{}", "[]", "5", "null", "{")
NEXT_STEPS = (
    "Restore the file from a copy", "Use a copy of", "use the original", "compare runs of", "a trend needs runs of",
    "run its command again", "name one with --system",
)  # fmt: skip
SAID = ("unfinished", "No metric could be compared", "Nothing could be tested", "differ", "changed", "not applicable")
# A value that is as good as another, or no scores at all: nobody can tell that it was altered.
FREE = {
    ("scores", ""),
    ("scores", "metric"),
    ("records", "response"),
    ("cases", "payload"),
    ("meta", "key"),
    ("systems", "spec"),
}


def commands(name: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("show", name, "--all"), ("report", name, "-o", "page.html"),
        ("export", name, "--format", "jsonl", "-o", "x.jsonl"), ("compare", "sound.run", name),
        ("trend", "night.run", name), ("annotate", name, "--labels", "l.sqlite", "--export", "labels.csv", "--force"),
    )  # fmt: skip


def alterations(path: Path) -> Iterator[Alteration]:
    with contextlib.closing(sqlite3.connect(path)) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            yield table, "", "dropped", f"DROP TABLE {table}", ()
            yield table, "", "emptied", f"DELETE FROM {table}", ()
            for _, column, *_ in file.execute(f"PRAGMA table_info({table})").fetchall():
                change = f"UPDATE OR IGNORE {table} SET {column} ="
                for what, value in VALUES.items():
                    yield table, column, what, f"{change} ?", (value,)
                found = file.execute(f"SELECT {column} FROM {table} WHERE {column} LIKE '{{%' LIMIT 1").fetchone()
                if found is None:
                    continue
                for text in WHOLE:
                    yield table, column, text, f"{change} ?", (text,)
                for key in json.loads(found[0]):
                    yield table, column, f"{key} removed", f"{change} json_remove({column}, ?)", (f'$."{key}"',)
                    for text in JSON_VALUES:
                        sql = f"{change} json_set({column}, ?, json(?))"
                        yield table, column, f"{key}={text}", sql, (f'$."{key}"', text)


def alter(path: Path, sql: str, values: tuple[Any, ...]) -> bool:
    """Whether SQLite did it, to one row at least."""
    try:
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            return file.execute(sql, values).rowcount != 0
    except sqlite3.Error:
        return False


def fault(told: Told, sound: Told) -> str:
    """What is wrong with how a command ended; "" for nothing."""
    if "bug in ragstone" in told.err or "Traceback" in told.out + told.err:
        return "bug"
    if told.code == 0:
        return "" if told.out == sound.out or any(words in told.out + told.err for words in SAID) else "silent"
    if len(told.err.splitlines()) != 1:
        return "lines"
    return "" if any(words in told.err for words in NEXT_STEPS) else "no next step"


@pytest.fixture
def run(ragstone: Callable[..., Told]) -> Path:
    rows = [
        {"id": f"a{n}", "question": f"What is the fee of {n}?", "answer": f"The fee is {n + n % 2} euros.",
         "reference": f"{n} euros", "contexts": [{"id": f"p{n}", "text": f"The fee of {n} is {n} euros."}]}
        for n in range(3)
    ]  # fmt: skip
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name in ("night.run", "sound.run"):  # a copy is no other run in a trend
        told = ragstone("eval", "rows.jsonl", "--metrics", "answer_match,token_f1,recall", "--run", name, "--quiet")
        assert told.code == 0, told.err
    return Path("sound.run")


def read(ragstone: Callable[..., Told], words: tuple[str, ...]) -> Told:
    for made in ("l.sqlite", "labels.csv"):
        Path(made).unlink(missing_ok=True)
    return ragstone(*words)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE scores SET case_id = 'plum' WHERE case_id = '000001'", "3 scores belong to no answer."),
        ("UPDATE scores SET system_id = 'plum'", "it has answers of 'plum', which is none of its systems."),
        ("UPDATE scores SET payload = json_set(payload, '$.value', 7) WHERE metric = 'answer_match'",
         "the score 'answer_match' of case '000001' is 7, but the metric is from 0 to 1."),
        ("UPDATE scores SET payload = json_set(payload, '$.value', -0.5) WHERE metric = 'token_f1'", "is -0.5, but"),
    ],
)  # fmt: skip
def test_scores_that_cannot_be_are_refused_with_cause_and_next_step(
    ragstone: Callable[..., Told], run: Path, sql: str, words: str
) -> None:
    shutil.copy(run, "a.run")
    assert alter(Path("a.run"), sql, ())
    for command in (("show", "a.run"), ("export", "a.run", "--format", "jsonl"), ("trend", "sound.run", "a.run")):
        told = ragstone(*command)
        assert (told.code, len(told.err.splitlines())) == (2, 1), (command, told)
        assert told.out == "" or command[0] == "export"  # which streams what it has read
        assert "a.run: the file is damaged: " in told.err
        assert words in told.err
        assert told.err.strip().endswith(
            "Restore the file from a copy, or save what can be read: ragstone merge a.run -o NEW.run --recover."
        )
    chinese = ragstone("show", "a.run", "--language", "zh").err
    assert "文件已损坏：" in chinese
    assert "请从副本恢复文件，或保存仍能读取的部分：ragstone merge a.run" in chinese
    saved = ragstone("merge", "a.run", "-o", "b.run", "--recover")
    assert saved.code == 0, saved.err
    assert "Left out of a.run, as it cannot be read: scores: " in saved.out
    assert ragstone("show", "b.run").code == 0


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM meta",
        "UPDATE meta SET value = '{\"group_by\": 7}' WHERE key = 'options'",
        "UPDATE meta SET value = '[7]' WHERE key = 'options'",
    ],
)
def test_a_gate_refuses_settings_that_show_refuses(ragstone: Callable[..., Told], run: Path, sql: str) -> None:
    gate = ("gate", "sound.run", "--fail-under", "answer_match=0.1", "--gate", "point")
    assert ragstone(*gate).code == 0
    assert alter(run, sql, ())
    shown, judged = ragstone("show", "sound.run"), ragstone(*gate)
    assert (judged.code, judged.out, judged.err) == (2, "", shown.err)
    assert len(judged.err.splitlines()) == 1


def test_answers_of_a_recovered_run_without_a_score_are_told_as_unfinished(
    ragstone: Callable[..., Told], run: Path
) -> None:
    assert "unfinished" not in ragstone("show", "sound.run").out
    spoilt = "UPDATE scores SET payload = '7' WHERE case_id = (SELECT max(case_id) FROM records)"
    assert alter(run, spoilt, ())
    assert ragstone("merge", "sound.run", "-o", "new.run", "--recover").code == 0
    for language, words in (("en", "2 of 3 scored by answer_match"), ("zh", "评分 2 例，未完成")):
        lines = ragstone("show", "new.run", "--language", language).out.splitlines()
        assert words in lines[0]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_altered_value_shows_another_figure_without_a_word(ragstone: Callable[..., Told], run: Path) -> None:
    shutil.copy(run, "a.run")
    sound = [read(ragstone, words) for words in commands("a.run")]
    assert [told.code for told in sound] == [0] * len(sound)
    faults, counts = [], Counter[str]()
    for table, column, what, sql, values in alterations(run):
        shutil.copy(run, "a.run")
        if not alter(Path("a.run"), sql, values):
            continue
        counts[table] += 1
        for words, whole in zip(commands("a.run"), sound, strict=True):
            told = read(ragstone, words)
            kind = fault(told, whole)
            if kind and not (kind == "silent" and (table, column) in FREE):
                faults.append((kind, table, column, what, words[0], told.err or told.out[:200]))
    assert faults == []
    assert counts.total() > 250
    assert {"meta", "systems", "cases", "records", "scores", "cells", "planned"} <= counts.keys()
