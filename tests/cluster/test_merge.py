"""`ragstone merge` on real run files: two machines' halves, systems and metrics, and what is refused."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, command, environment, one_line
from tests.runs.doubles import shown

from ragstone.cluster.merge import merge
from ragstone.evaluation.evaluate import evaluate
from ragstone.runs.owners import mark

GRID = ("--fictional-size", "6", "--limit", "4", "--noise", "0,0.4", "--quiet")


def bench(ragstone: Callable[..., Told], name: str, *options: object) -> str:
    told = ragstone("bench", "rgb", *GRID, "--run", name, *options)
    assert told.code == 0, told.err
    return name


def exported(ragstone: Callable[..., Told], run: str) -> str:
    told = ragstone("export", run, "--format", "jsonl")
    assert told.code == 0, told.err
    return told.out


def test_halves_of_a_grid_and_of_its_systems_become_the_run_of_one_machine(
    ragstone: Callable[..., Told], script: Path
) -> None:
    halves = [
        bench(ragstone, "en.run", "--data-language", "en", "--model", "local/extractive"),
        bench(ragstone, "zh.run", "--data-language", "zh", "--model", "local/extractive"),
        bench(ragstone, "other.run", "--data-language", "en,zh", "--model", f"scripted/{script}"),
    ]  # fmt: skip
    for language, model in (("en", "local/extractive"), ("zh", "local/extractive"), ("en,zh", f"scripted/{script}")):
        bench(ragstone, "whole.run", "--data-language", language, "--model", model)
    told = ragstone("merge", *halves, "-o", "merged.run")
    assert told.code == 0, told.err
    assert told.out.startswith("merged.run: ")
    assert "systems: 2; files: 3." in told.out
    assert exported(ragstone, "merged.run") == exported(ragstone, "whole.run")
    shown = ragstone("show", "merged.run", "--all").out.replace("merged.run", "whole.run")
    assert shown == ragstone("show", "whole.run", "--all").out
    # It is a run like any other: the same command finds nothing left to ask, in any of its systems.
    again = ragstone("bench", "rgb", *GRID, "--run", "merged.run", "--data-language", "en,zh", "--model",
                     "local/extractive", "--json")  # fmt: skip
    assert again.document["asked"] == 0


def test_the_document_says_what_is_missing(ragstone: Callable[..., Told]) -> None:
    bench(ragstone, "en.run", "--data-language", "en", "--model", "local/extractive")
    shutil.copy("en.run", "again.run")
    document = ragstone("merge", "en.run", "again.run", "-o", "m.run", "--json").document
    assert (document["run"], document["unfinished"], document["differing"]) == ("m.run", {}, 0)
    assert document["repeated"] == document["records"] > 0


def answers(name: str, first: int, last: int, answer: str = "number {}") -> None:
    rows = [
        {"id": f"q{at}", "question": f"What is number {at}?", "reference": f"number {at}", "answer": answer.format(at)}
        for at in range(first, last)
    ]
    evaluate(rows, ["answer_match"], run=name)


def test_data_that_grew_includes_what_it_grew_from(ragstone: Callable[..., Told]) -> None:
    answers("small.run", 0, 10)
    answers("large.run", 0, 20)
    assert ragstone("merge", "large.run", "small.run", "-o", "m.run").code == 0
    assert exported(ragstone, "m.run") == exported(ragstone, "large.run")


def test_what_cannot_be_merged_is_refused_in_one_line(ragstone: Callable[..., Told]) -> None:
    answers("a.run", 0, 10)
    answers("b.run", 5, 15)
    answers("c.run", 0, 10, "nobody knows {}")
    Path("text.run").write_text("not a run")
    with sqlite3.connect("foreign.run") as file:
        file.execute("CREATE TABLE plums (n)")
    shutil.copy("a.run", "kept.run")
    before = Path("kept.run").read_bytes()
    one_line(
        ragstone("merge", "a.run", "b.run", "-o", "m.run"), "b.run was made with other settings than a.run (data: "
    )
    chinese = ragstone("merge", "a.run", "b.run", "-o", "m.run", "--language", "zh")
    one_line(chinese, "b.run 与 a.run 的实验设置不同（data：a.run 中为 ")
    assert " in a.run" not in chinese.err
    one_line(ragstone("merge", "a.run", "c.run", "-o", "m.run"), "c.run was made with other settings")
    one_line(ragstone("merge", "a.run", "-o", "kept.run"), "kept.run already exists")
    one_line(ragstone("merge", "a.run", "a.run", "-o", "a.run"), "a.run already exists")
    one_line(ragstone("merge", "a.run", "text.run", "-o", "m.run"), "text.run")
    one_line(ragstone("merge", "a.run", "foreign.run", "-o", "m.run"), "another program's SQLite database")
    one_line(ragstone("merge", "a.run", "none.run", "-o", "m.run"), "none.run: no such file")
    one_line(ragstone("merge", "a.run", ".", "-o", "m.run"), "is a folder")
    one_line(ragstone("merge", "a.run", "-o", "a.run/m.run"), "m.run")
    Path("linked.run").symlink_to("a.run")
    one_line(
        ragstone("merge", "a.run", "b.run", "a.run", "-o", "m.run"), "a.run is named twice. Name each run file once."
    )
    one_line(ragstone("merge", "a.run", "linked.run", "-o", "m.run"), "a.run and linked.run are one and the same file.")
    assert ragstone("merge", "-o", "m.run").code == 2
    assert Path("kept.run").read_bytes() == before
    assert sorted(path.name for path in Path().glob("*m.run*")) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from ragstone import merge

os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # when all is merged, and the file has no name yet
merge(["a.run"], "m.run")
"""


def test_a_killed_merge_leaves_no_file_of_its_name_and_the_next_one_clears_up(tmp_path: Path) -> None:
    answers("a.run", 0, 10)
    killed = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment(tmp_path), check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not os.path.lexists("m.run")
    left = list(Path().glob(".m.run.*.part"))
    assert len(left) == 1
    living = Path(f".m.run.{mark()}-00000000.part")  # another merge that is under way
    living.touch()
    merge(["a.run"], "m.run")
    assert [*Path().glob(".*.part*")] == [living]
    assert shown(Path("m.run")) == shown(Path("a.run"))


def test_the_next_command_in_the_folder_removes_what_a_killed_merge_left(tmp_path: Path) -> None:
    evaluate([{"id": "q", "question": "?", "reference": "7", "answer": "7"}], ["answer_match"], run="a.run")
    ended = subprocess.Popen(["true"])
    ended.wait()
    living = mark()
    gone = living.replace(f"-{os.getpid()}-", f"-{ended.pid}-")
    for marked in (gone, living):
        for end in ("part", "part-journal"):
            Path(f".m.run.{marked}-0badcafe.{end}").touch()
    Path(".other.part").touch()  # not of a merge
    shown = subprocess.run(
        command("show", "a.run"), cwd=tmp_path, env=environment(tmp_path), check=False, capture_output=True
    )
    assert shown.returncode == 0, shown
    left = {path.name for path in Path().glob(".*.part*")}
    assert left == {f".m.run.{living}-0badcafe.part", f".m.run.{living}-0badcafe.part-journal", ".other.part"}


def test_runs_of_two_benchmarks_are_told_apart_by_that_alone(ragstone: Callable[..., Told]) -> None:
    answers("a.run", 0, 4)
    bench(ragstone, "en.run", "--data-language", "en", "--model", "local/extractive")
    told = ragstone("merge", "a.run", "en.run", "-o", "m.run")
    one_line(told, "(benchmark: ", "in en.run", "in a.run)", "Only runs with the same settings")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_unfinished_work_is_said(ragstone: Callable[..., Told], language: str) -> None:
    answers("a.run", 0, 4)
    with sqlite3.connect("a.run") as file:
        file.execute("DELETE FROM scores WHERE case_id IN (SELECT min(case_id) FROM records)")
        file.execute("DELETE FROM records WHERE case_id IN (SELECT min(case_id) FROM records)")
    told = ragstone("merge", "a.run", "-o", "m.run", "--language", language)
    assert ("3 of 4" if language == "en" else "4") in told.out
    assert len(told.out.splitlines()) == 2


def test_text_that_is_not_utf8_is_damage_and_no_bug(ragstone: Callable[..., Told]) -> None:
    answers("a.run", 0, 4)
    shutil.copy("a.run", "b.run")
    with sqlite3.connect("b.run") as file:
        file.execute("UPDATE records SET response = CAST(x'fffe' AS TEXT)")
    for arguments in (
        ("show", "b.run"),
        ("merge", "a.run", "b.run", "-o", "m.run"),
        ("export", "b.run", "--format", "csv"),
    ):
        one_line(ragstone(*arguments), "b.run", "the file is damaged", "Could not decode to UTF-8")
    told = ragstone("merge", "b.run", "a.run", "-o", "m.run")
    one_line(told, "b.run: the file is damaged")
    assert not Path("m.run").exists()


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        ("UPDATE records SET response = '{}'", "the response to case '000002' cannot be read"),
        ("""UPDATE cases SET payload = '{"id": "q1"}'""", "case '000002': expected `object`, got `null`"),
        ("UPDATE records SET case_id = 'q9'", "case 'q9' is missing"),
        ("""UPDATE scores SET payload = '{"value": 1e999}'""", "a score of case '000002' cannot be read"),
        ("UPDATE cells SET condition = 'nothing'", "what was planned cannot be read"),
    ],
)
def test_a_damaged_record_is_found_while_its_file_is_known(ragstone: Callable[..., Told], harm: str, what: str) -> None:
    answers("a.run", 0, 2)
    shutil.copy("a.run", "b.run")
    with sqlite3.connect("b.run") as file:
        if "cells" not in harm:
            harm += " WHERE case_id = (SELECT max(case_id) FROM records)"
        file.execute(harm)
    for files in (("a.run", "b.run"), ("b.run", "a.run")):
        one_line(ragstone("merge", *files, "-o", "m.run"), "b.run", "the file is damaged", what)
    assert sorted(path.name for path in Path().iterdir() if "m.run" in path.name) == []


def test_a_name_that_is_too_long_is_one_line(ragstone: Callable[..., Told]) -> None:
    answers("a.run", 0, 4)
    long = f"{'n' * 300}.run"
    one_line(ragstone("merge", "a.run", "-o", long), "File name too long", "Choose a shorter name.")
    one_line(ragstone("merge", long, "-o", "m.run"), "File name too long")
    assert [path.name for path in Path().glob("*.run")] == ["a.run"]
