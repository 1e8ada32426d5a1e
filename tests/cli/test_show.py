"""`ragstone show`: what a run's command printed at its end, again; and runs that nobody here can read."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.test_unfinished import Stopping, stopped
from tests.cli.tools import SMALL, Told, one_line, process
from tests.evaluation.test_evaluate import rows

from ragstone.commands.output import say_json
from ragstone.engine.open_run import OpenRun
from ragstone.evaluation.evaluate import evaluate
from ragstone.structs import to_json

MIRAGE = ("bench", "mirage", "--model", "local/extractive", "--setting", "base,oracle", "--fictional-size", "2")


def test_show_prints_what_bench_prints_at_its_end(ragstone: Callable[..., Told]) -> None:
    for arguments in (("bench", "rgb", "--model", "local/extractive", *SMALL), MIRAGE):
        for language in ("en", "zh"):
            bench = ragstone(*arguments, "--run", f"{arguments[1]}.run", "--language", language, "--quiet")
            assert bench.code == 0, bench.err
            show = ragstone("show", f"{arguments[1]}.run", "--language", language)
            assert (show.code, show.out) == (0, bench.out)
            assert "unfinished" not in show.out


def test_show_prints_the_scores_of_an_evaluation(ragstone: Callable[..., Told]) -> None:
    evaluate([row for row in rows() if row["reference"]], "token_f1", run="e.run")
    told = ragstone("show", "e.run")
    assert told.code == 0
    assert "token_f1" in told.out.split("Run file: e.run")[0]


def test_show_has_all_tables_or_the_leading_ones(ragstone: Callable[..., Told], run_file: Path) -> None:
    document = ragstone("show", run_file, "--json").document
    leading, every = (ragstone("show", run_file, *more).out for more in ((), ("--all",)))
    titles = {table["id"]: table["title"] for table in document["tables"]}
    assert titles["rgb-summary"] in leading
    hidden = [title for title in titles.values() if title not in leading]
    assert hidden
    assert all(title in every for title in titles.values())
    assert f"({len(hidden)} more tables, charts, answers)" in leading
    assert (document["benchmark"], document["unfinished"]) == ("rgb", {})
    assert all(one["planned"] == one["answered"] + one["failed"] for one in document["systems"].values())


@pytest.mark.parametrize(
    ("language", "rests"),
    [
        ("en", ["(charts, answers)", "(1 more table, charts, answers)", "(2 more tables, charts, answers)"]),
        ("zh", ["（图表和答案）", "（还有 1 张表格，以及图表和答案）", "（还有 2 张表格，以及图表和答案）"]),
    ],
)
def test_the_number_of_tables_that_are_not_shown_is_in_good_english(
    ragstone: Callable[..., Told], run_file: Path, monkeypatch: pytest.MonkeyPatch, language: str, rests: list[str]
) -> None:
    for hidden, rest in enumerate(rests):
        monkeypatch.setattr(OpenRun, "leading_tables", lambda run, n=hidden, **how: run.tables(**how)[n:])
        assert rest in ragstone("show", run_file, "--language", language).out


def test_json_has_the_text_itself_and_escapes_what_would_act_on_a_terminal(
    ragstone: Callable[..., Told], capsys: pytest.CaptureFixture[str]
) -> None:
    told = ragstone("cases", "rgb", "--fictional-size", 1, "--data-language", "zh", "--limit", 1)
    assert told.code == 0
    line = told.out.splitlines()[0]
    assert json.loads(line)["messages"][0]["content"] in line
    evil = {"text": "中文\x1b[2J\x9b\u202e\u2028\ud800\U000e0041"}
    capsys.readouterr()
    say_json(evil)
    printed = capsys.readouterr().out
    assert json.loads(printed) == evil
    assert "中文" in printed
    assert printed.replace("中文", "").isascii()


def test_json_is_ascii_where_standard_output_is(tmp_path: Path) -> None:
    arguments = ("cases", "rgb", "--fictional-size", 1, "--data-language", "zh", "--limit", 1)
    told = process(*arguments, folder=tmp_path, PYTHONIOENCODING="ascii")
    assert told.code == 0
    assert told.out.isascii()
    assert "人工智能" in json.loads(told.out.splitlines()[0])["messages"][0]["content"]


async def test_what_is_unfinished_is_said_first_and_once(ragstone: Callable[..., Told]) -> None:
    await stopped("rgb", Stopping(after=5, fails=1))
    told = ragstone("show", "a.run")
    assert told.out.startswith("5 of 12, unfinished (1 of them failed)")
    assert told.out.count("unfinished") == 1
    assert "failed: 1 × runtime error: out of order" in told.err
    assert ragstone("show", "a.run", "--language", "zh").out.startswith("12 例中已提问 5 例，未完成（其中 1 例失败）")
    document = ragstone("show", "a.run", "--json").document
    held = document["unfinished"]["my/system"]
    assert (held["asked"], held["total"], held["failed"]) == (5, 12, 1)
    assert document["systems"] == {"my/system": {"answered": 4, "failed": 1, "planned": 12}}


@pytest.fixture
def changed(tmp_path: Path, run_file: Path) -> Callable[[str, object], str]:
    """A copy of a run whose question says another benchmark."""

    def change(name: str, question: object) -> str:
        (tmp_path / name).write_bytes(run_file.read_bytes())
        with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'question'", (to_json(question),))
        return name

    return change


READERS = (("show",), ("report", "-o", "x.html"), ("export", "--format", "markdown"), ("export", "--format", "csv"),
           ("compare", "--system-a", "local/extractive", "--system-b", "SCRIPTED"))  # fmt: skip


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
def test_a_run_of_an_unknown_benchmark_is_refused_by_name(
    ragstone: Callable[..., Told], changed: Callable[[str, object], str], script: Path, reader: tuple[str, ...]
) -> None:
    command, *more = (f"scripted/{script}" if part == "SCRIPTED" else part for part in reader)
    for question, words in (
        (
            {"benchmark": "capitals", "version": 1},
            ("u.run is a run of 'capitals'", "mirage, niah, ragchecker, rgb, run"),
        ),
        ({"version": 1}, ("u.run does not say which benchmark it is a run of",)),
        ([], ("u.run",)),
    ):
        one_line(ragstone(command, changed("u.run", question), *more), *words)
        assert not Path("x.html").exists()


def test_a_run_of_another_benchmark_is_refused(ragstone: Callable[..., Told], run_file: Path) -> None:
    assert ragstone(*MIRAGE, "--run", "m.run", "--quiet").code == 0
    one_line(ragstone("compare", run_file, "m.run", "--system-a", "local/extractive"), "'rgb'", "'mirage'")
    gate = ragstone("gate", "m.run", "--fail-under", "needle.found=0.5")
    one_line(gate, "no scores of 'needle.found'", "answer_match")
    before = run_file.read_bytes()
    one_line(ragstone(*MIRAGE, "--run", run_file, "--quiet"), "(benchmark: 'rgb' in the file, 'mirage' now")
    assert run_file.read_bytes() == before
