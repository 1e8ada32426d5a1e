"""A run file whose notes (options, metrics, warnings…) are of another kind than ragstone writes: one line, no bug."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.test_hostile_runs import READERS
from tests.cli.tools import Told, one_line


def noted(key: str, value: str) -> str:
    return f"UPDATE meta SET value = '{value}' WHERE key = '{key}'"


OPTION = "UPDATE meta SET value = json_set(value, '$.{}', json('{}')) WHERE key = 'options'"
ALTERED = {
    "options": (noted("options", "[1]"), "its entry 'options' cannot be read"),
    "question": (noted("question", "null"), "its entry 'question' cannot be read"),
    "metrics": (noted("metrics", "[7]"), "its entry 'metrics' cannot be read"),
    "better": (noted("better", "[7]"), "its entry 'better' cannot be read"),
    "warnings": (noted("warnings", "[{}]"), "its entry 'warnings' cannot be read"),
    "system": ("UPDATE systems SET system_id = '\\q' || rowid", "is not the key of a name"),
}


@pytest.mark.parametrize("reader", [name for name in READERS if name != "resume"])
@pytest.mark.parametrize("name", ALTERED)
def test_notes_of_another_kind_are_one_line(
    ragstone: Callable[..., Told], run_file: Path, name: str, reader: str
) -> None:
    statements, message = ALTERED[name]
    if (name, reader) == ("system", "export"):  # answers are read first
        message = "which is none of its systems"
    one_line(ragstone(*READERS[reader](altered(run_file, statements))), "hostile.run", message, code=2)


@pytest.mark.parametrize("name", ["options", "question", "metrics", "better", "warnings"])
def test_a_run_is_not_resumed_on_notes_of_another_kind(
    ragstone: Callable[..., Told], run_file: Path, name: str
) -> None:
    statements, message = ALTERED[name]
    one_line(ragstone(*READERS["resume"](altered(run_file, statements))), "hostile.run", message, code=2)


@pytest.mark.parametrize(("option", "value"), [("noise_ratios", "5"), ("limit", '"x"')])
def test_an_option_of_another_kind_is_named_where_it_would_grow(
    ragstone: Callable[..., Told], run_file: Path, option: str, value: str
) -> None:
    copy = altered(run_file, OPTION.format(option, value))
    one_line(ragstone(*READERS["resume"](copy)), "hostile.run", f"its option {option}", code=2)


def test_a_benchmark_that_is_none_is_one_line(
    ragstone: Callable[..., Told], run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = altered(
        run_file,
        """UPDATE meta SET value = json_set(value, '$.benchmark', 'x') WHERE key = 'question';
        INSERT INTO meta VALUES ('benchmark_at', '"os.path:join"')""",
    )
    one_line(ragstone("show", copy), "hostile.run", "RAGSTONE_TRUST=os.path:join")
    monkeypatch.setenv("RAGSTONE_TRUST", "os.path:join")
    one_line(ragstone("show", copy), "hostile.run", "os.path:join is not a benchmark")


def altered(run_file: Path, statements: str) -> str:
    copy = Path("hostile.run")
    for path in (copy, Path("sound.run")):
        path.write_bytes(run_file.read_bytes())
    with closing(sqlite3.connect(copy)) as file:
        file.executescript(statements)
    return copy.name
