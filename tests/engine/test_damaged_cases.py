"""A run file whose conditions or notes have values of another type than its benchmark writes: one line, exit 2."""

import itertools
import json
import sqlite3
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.examples import naming

import ragstone
from ragstone.benchmarks import BENCHMARKS
from ragstone.cli import run as cli
from ragstone.comparison.compare import compare
from ragstone.engine.gates import check_gates
from ragstone.engine.open_run import read_run
from ragstone.errors import DataError

# Each needs every field of its condition and notes in some case.
RUNS: dict[str, Callable[[Path], object]] = {
    "rgb": lambda run: ragstone.bench(
        "rgb", model="local/extractive", data_languages="en", fictional_size=1, abilities="noise", noise_ratios=0,
        run=run,
    ),
    "mirage": lambda run: ragstone.bench(
        "mirage", model="local/extractive", retrievers="bm25", fictional_size=2, limit=1, ks=1, settings="retrieved",
        run=run,
    ),
    "niah": lambda run: ragstone.bench(
        "niah", model="local/extractive", lengths="600", depths="50", retrievers="bm25", control="none", run=run
    ),
    "eval": lambda run: ragstone.evaluate(
        [{"question": "Who?", "answer": "Ada", "reference": "Ada", "topic": "people"}], metrics="answer_match", run=run
    ),
}  # fmt: skip
WRONG = {"text": "x", "number": 1.5, "truth": True, "list": [[]], "nothing": None}


def wrong_values(kind: Any) -> Iterator[object]:
    """A value of each kind that the field does not have."""
    alternatives = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    right = {{str: "text", float: "number", bool: "truth", types.NoneType: "nothing"}.get(one) for one in alternatives}
    return (value for name, value in WRONG.items() if name not in right)


def set_field(path: Path, place: str, field: str, value: object) -> None:
    """Puts a value into the condition or the notes of the only case of a run file."""
    with sqlite3.connect(path) as connection:
        ((case_id, payload),) = connection.execute("SELECT case_id, payload FROM cases LIMIT 1").fetchall()
        case = json.loads(payload)
        fields = case["condition"] if place == "condition" else case["sample"].setdefault("meta", {})
        fields[field] = value
        connection.execute("UPDATE cases SET payload = ? WHERE case_id = ?", (json.dumps(case), case_id))
    connection.close()


def readers(path: Path, good: Path, metric: str) -> dict[str, Callable[[], object]]:
    """What the five commands do with a run."""

    def opened(use: Callable[[Any], object]) -> None:
        with read_run(path) as run:
            use(run)

    return {
        "show": lambda: opened(lambda run: run.tables()),
        "report": lambda: opened(lambda run: run.write_report(path.with_suffix(".html"))),
        "export": lambda: opened(lambda run: run.export(path.with_suffix(".csv"), "csv")),
        "compare": lambda: compare(path, good),
        "gate": lambda: check_gates(path, {metric: 0.5}),
    }


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RUNS)
def test_every_field_of_another_type_is_named_by_every_command(name: str, every: bool, tmp_path: Path) -> None:
    """Each wrong value with each command; in the fast tests with one of them, in turn."""
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    RUNS[name](good)
    with read_run(good) as run:
        record = next(run.run.records())
    metric = next(iter(record.scores))
    plugin = BENCHMARKS.get(name)
    declared = [
        (place, field, kind)
        for place, kinds in (("condition", plugin.condition_types), ("sample.meta", plugin.note_types))
        for field, kind in kinds.items()
    ]
    assert declared
    # What the benchmark writes is declared: a field that is forgotten would be read unchecked.
    assert {*record.case.condition, *record.case.sample.meta} <= {field for _, field, _ in declared}
    turn = itertools.count()
    for place, field, kind in declared:
        for value in wrong_values(kind):
            bad.write_bytes(good.read_bytes())
            set_field(bad, place, field, value)
            commands = list(readers(bad, good, metric).items())
            for command, read in commands if every else [commands[next(turn) % len(commands)]]:
                with naming(command, place, field, value), pytest.raises(DataError) as error:
                    read()
                assert str(bad) in str(error.value)
                assert record.case.id in str(error.value)
                assert f"{place}.{field}" in str(error.value)
                assert "xpected `" in str(error.value)


@pytest.mark.parametrize(
    "command", ["show BAD", "report BAD -o r.html", "export BAD --format csv", "compare BAD GOOD", "gate BAD"]
)
def test_such_a_file_ends_a_command_in_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    RUNS["rgb"](good)
    capsys.readouterr()
    bad.write_bytes(good.read_bytes())
    set_field(bad, "condition", "noise_ratio", "x")
    words = command.replace("BAD", "bad.run").replace("GOOD", "good.run").split()
    code = cli([*words, *(["--fail-under", "answer_match=0.5"] if words[0] == "gate" else [])])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    (line,) = printed.err.splitlines()
    assert line.startswith("ragstone: bad.run, field 'condition.noise_ratio': the file is damaged: ")
    _, _, advice = line.partition(": case 'noise/en_refine/0/0000': expected `float`, got `str`. ")
    saving = "save what can be read: ragstone merge bad.run -o NEW.run --recover."
    assert advice == f"Restore the file from a copy, or {saving}"


def test_a_planned_condition_of_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    RUNS["rgb"](path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            'UPDATE cells SET condition = replace(condition, \'"noise_ratio":0.0\', \'"noise_ratio":"x"\')'
        )
    connection.close()
    with read_run(path) as run, pytest.raises(DataError, match=r"condition\.noise_ratio.*a planned case of"):
        run.tables()


def test_runs_of_another_needle_program_are_checked_when_they_are_imported(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    RUNS["niah"](path)
    set_field(path, "condition", "length", "q")
    read = BENCHMARKS.get("niah").import_results
    assert read is not None
    with pytest.raises(DataError, match=r"condition\.length"):
        read([path])


@pytest.mark.parametrize("status", ["bogus", "failed", "not_applicable", "", "SCORED"])
@pytest.mark.parametrize("command", ["show BAD", "report BAD -o r.html", "export BAD --format csv", "compare BAD GOOD",
                                     "gate BAD --fail-under answer_match=0.5"])  # fmt: skip
def test_a_score_whose_status_was_altered_is_named(
    command: str, status: str, altered: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    altered(f"UPDATE scores SET status = '{status}' WHERE rowid_of_first")
    capsys.readouterr()
    code = cli(command.replace("BAD", "bad.run").replace("GOOD", "good.run").split())
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    (line,) = printed.err.splitlines()
    assert line.startswith("ragstone: bad.run: the file is damaged: the score 'answer_match' of case 'noise/en_refine/")
    assert f"has the status {status!r}, but is 'scored'. Restore the file from a copy" in line


def test_a_status_that_no_score_has_is_named_in_its_content_too(
    altered: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    altered("UPDATE scores SET status = 'bogus', payload = json_set(payload, '$.status', 'bogus') WHERE rowid_of_first")
    capsys.readouterr()
    assert cli(["show", "bad.run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ragstone: bad.run: the file is damaged: a score of case 'noise/en_refine/")
    assert "'bogus'" in line


@pytest.fixture
def altered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Changes one score of answer_match of bad.run, a copy of good.run."""
    monkeypatch.chdir(tmp_path)
    RUNS["rgb"](Path("good.run"))

    def change(statement: str) -> None:
        Path("bad.run").write_bytes(Path("good.run").read_bytes())
        first = "metric = 'answer_match' AND case_id = (SELECT min(case_id) FROM scores WHERE status = 'scored')"
        connection = sqlite3.connect("bad.run")
        with connection:
            assert connection.execute(statement.replace("rowid_of_first", first)).rowcount > 0
        connection.close()

    return change
