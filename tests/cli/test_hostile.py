"""What people give to `eval`, `compare`, `gate` and `data check` by mistake: nothing is lost, and a line tells why."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, command, environment, one_line
from tests.evaluation.test_evaluate import rows

from ragstone.api import read_run
from ragstone.errors import UsageError

Ragstone = Callable[..., Told]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    many = "".join(json.dumps(row) + "\n" for row in rows())
    (tmp_path / "answers.jsonl").write_text(many, encoding="utf-8")
    (tmp_path / "link.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    number = '{"question": "q?", "answer": ' + "9" * 5000 + ', "reference": "r"}\n'
    (tmp_path / "number.jsonl").write_text(number, encoding="utf-8")


@pytest.fixture
def a_run(ragstone: Ragstone) -> Path:
    told = ragstone("eval", "answers.jsonl", "--metrics", "token_f1", "--run", "a.run", "--quiet")
    assert told.code == 0, told.err
    return Path("a.run")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pipe",), ("pipe or a device", "Save them as a file")),
        (("/dev/zero",), ("pipe or a device",)),
        (("link.jsonl",), ("link to nothing",)),
        (("n" * 300 + ".jsonl",), ("is no path",)),
        (("number.jsonl",), ("308 digits", "as a text")),
        (("answers.jsonl", "--sheet", "x"), ("no workbook", "--sheet")),
        (("answers.jsonl", "--split", "x"), ("one file", "--split")),
        (("answers.jsonl", "--map", "answer=answer", "--map", "answer=topic"), ("--map names answer twice",)),
        (("answers.jsonl", "--map", "question=question", "--map", "answer=question"), ("both question and answer",)),
        (("answers.jsonl", "--map", "contexts=question"), ("no column is left", "'question' for contexts")),
        (("answers.jsonl", "--repeat", "100000000"), ("--repeat", "1000")),
        (("answers.jsonl", "--repeat", "2"), ("--repeat", "--judge PROVIDER/MODEL")),
        (("answers.jsonl", "--verify", "separate"), ("--verify separate", "--judge PROVIDER/MODEL")),
        (("answers.jsonl", "--prompts", "nowhere"), ("--prompts", "--judge PROVIDER/MODEL")),
        (("answers.jsonl", "--judge", "compat/x"), ("needs --judge-base-url",)),
        (("answers.jsonl", "--fail-under", "token_f1=80"), ("from 0 to 1", "token_f1=0.8")),
        (("answers.jsonl", "--fail-under", "token_f1=-0.1"), ("out of range",)),
        (("answers.jsonl", "--fail-under", "token_f1=0.1", "--fail-under", "token_f1=0.9"), ("token_f1 twice",)),
        (("answers.jsonl", "--report", "answers.jsonl"), ("not an HTML page",)),
    ],
)  # fmt: skip
def test_what_is_wrong_with_eval_is_told_before_anything_is_done(
    ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "k")
    before = {path.name for path in Path().iterdir()}
    one_line(ragstone("eval", *arguments, "--quiet"), *words)
    assert {path.name for path in Path().iterdir() if path.name != "home"} == before


@pytest.mark.usefixtures("a_run")
def test_a_report_or_an_export_never_takes_the_place_of_data_or_of_another_run(ragstone: Ragstone) -> None:
    told = ragstone("eval", "answers.jsonl", "--metrics", "token_f1,rouge_l", "--run", "b.run", "--quiet")
    assert told.code == 0
    kept = {name: Path(name).read_bytes() for name in ("answers.jsonl", "a.run")}
    for name in kept:
        one_line(ragstone("report", "b.run", "-o", name), name, "not an HTML page")
    one_line(ragstone("export", "b.run", "--format", "csv", "-o", "a.run"), "a.run", "another database")
    one_line(ragstone("export", "b.run", "--format", "csv", "-o", "answers.jsonl"), "answers.jsonl", "--force")
    with read_run("b.run") as run, pytest.raises(UsageError, match=r"add `force`\.$"):
        run.export("answers.jsonl", "jsonl")
    assert {name: Path(name).read_bytes() for name in kept} == kept
    for more in ((), (), ("--format", "jsonl")):  # an earlier export is what a new one is for, of another format too
        assert ragstone("export", "b.run", "--format", "csv", "-o", "b.csv", *more).code == 0
    assert ragstone("export", "b.run", "--format", "csv", "-o", "answers.jsonl", "--force").code == 0
    assert Path("answers.jsonl").read_bytes().startswith(b'\xef\xbb\xbf"system"')
    for _ in range(2):  # an earlier report is what a new one is for
        assert ragstone("report", "b.run", "-o", "r.html").code == 0


@pytest.mark.usefixtures("a_run")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "a.run", "a.run"), ("compared with itself", "another run file")),
        (("compare", "a.run", "link.run"), ("compared with itself", "another run file")),
        (("report", "a.run", "-o", "n" * 300 + ".html"), ("nnn", "cannot be written (File name too long)")),
        (("export", "a.run", "--format", "csv", "-o", "n" * 300), ("nnn", "cannot be written (File name too long)")),
        (("eval", "answers.jsonl", "--run", "new", "--report", "./new"), ("new is the run file itself",)),
        (("eval", "answers.jsonl", "--judge", "compat/m", "--judge-base-url", "ftp://x", "--dry-run"), ("ftp://x",)),
        (("bench", "os.path:join"), ("os.path:join is not a benchmark", "from_meta")),
        (("bench", "rgb", "--model", "compat/m", "--base-url", "http://[::1", "--dry-run"), ("'http://[::1'",)),
        (("bench", "rgb", "--model", "local/extractive", "--run", "new", "--report", "new"), ("the run file itself",)),
        (("bench", "rgb", "--model", "local/extractive", "--dataset", "en_int", "--ability", "noise"), ("--ability",)),
        (("compare", "a.run", "a.run", "--where", "topic=a", "--where", "topic=b"), ("--where names topic twice",)),
        (("gate", "a.run", "--fail-under", "token_f1=80"), ("from 0 to 1", "token_f1=0.8")),
        (("agreement", "protocols", "answers.jsonl", "--judge", "x/y", "--passages", "9" * 12), ("from 1 to 1000",)),
    ],
)
def test_what_is_wrong_with_other_commands_is_told(
    ragstone: Ragstone, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    Path("link.run").symlink_to("a.run")
    one_line(ragstone(*arguments), *words)
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.ragstone.gates]\ntoken_f1 = 80\n", ("pyproject.toml", "token_f1", "from 0 to 1")),
        ("[tool.ragstone.gates]\ntoken_f1 = nan\n", ("pyproject.toml", "token_f1", "expected a number")),
        ("tool = 5\n", ("No gate is set",)),
        ("[tool]\nragstone = 5\n", ("No gate is set",)),
        ("a = " + "[" * 5000, ("pyproject.toml", "nested too deeply")),
    ],
)
def test_what_is_wrong_with_the_gates_of_a_project_is_told(
    ragstone: Ragstone, a_run: Path, text: str, words: tuple[str, ...]
) -> None:
    Path("pyproject.toml").write_text(text)
    one_line(ragstone("gate", a_run), *words)


def test_data_check_tells_of_names_that_cannot_be_and_goes_on(ragstone: Ragstone) -> None:
    told = ragstone("data", "check", "n" * 300, "pipe", "answers.jsonl")
    assert told.code == 2
    assert "File name too long" in told.out
    assert "pipe or a device" in told.out
    assert told.out.startswith("answers.jsonl: ragstone, 6 rows (5 en, 1 zh)\n")


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_failed_gate_stays_failed_where_nobody_reads_the_output(
    tmp_path: Path, a_run: Path, as_json: list[str]
) -> None:
    gate = ("--fail-under", "token_f1=0.99999", "--gate", "point", *as_json)
    for asked in (("gate", a_run, *gate), ("eval", "answers.jsonl", "--metrics", "token_f1", "--quiet", "--run", a_run,
                                           *gate)):  # fmt: skip
        reading, writing = os.pipe()
        os.close(reading)
        told: Any = subprocess.run(
            command(*asked), cwd=tmp_path, env=environment(tmp_path), stdout=writing, stderr=subprocess.PIPE,
            timeout=120, check=False,
        )  # fmt: skip
        os.close(writing)
        assert told.returncode == 1, told.stderr
        assert b"Traceback" not in told.stderr


def test_a_folder_that_was_deleted_is_told_as_that(ragstone: Ragstone, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        one_line(ragstone("gate", "a.run", "--fail-under", "token_f1=0.1"), "no such file")
        one_line(
            ragstone("eval", tmp_path / "answers.jsonl", "--metrics", "token_f1"), "The current folder was deleted"
        )
    finally:
        os.chdir(tmp_path)
