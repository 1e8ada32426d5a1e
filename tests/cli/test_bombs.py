"""Small files that ask for gigabytes or hours end in one line, below 500 MB and 30 seconds of processor time."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.bombs import BOMBS
from tests.cli.tools import command, environment, process

MEMORY, SECONDS = 500, 30
# A small process that starts the command: the kernel counts the memory of whoever starts a process as its own.
LAUNCHER = """
import json, os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss, used.ru_utime + used.ru_stime]))
"""


def arguments(name: str) -> tuple[str, ...]:
    """The command that reads such a file."""
    if name.endswith((".xlsx", ".parquet", ".arrow")):
        return "eval", name, "--metrics", "answer_match"
    if name.endswith(".run.gz"):
        return "bench", "mirage", "--retriever", f"run:{name}", "--limit", "2", "--fictional-size", "8"
    if name.endswith(".json.gz"):
        return "build", "mirage", name, "--dump", "none.xml", "--model", "local/template", "-o", "out"
    return "build", "questions", name, "--model", "local/template", "-o", "out", "--size", "1"


@pytest.mark.slow
@pytest.mark.parametrize("make", BOMBS, ids=lambda make: make.__name__)
def test_a_bomb_ends_in_one_line_within_its_budget(tmp_path: Path, make: Callable[[Path], str]) -> None:
    name = make(tmp_path)
    assert (tmp_path / name).stat().st_size < 4_000_000
    (tmp_path / "none.xml").write_text("<mediawiki/>")
    line = [sys.executable, "-S", "-c", LAUNCHER, *command(*arguments(name))]
    ended = subprocess.run(line, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=True)
    code, kilobytes, seconds = json.loads(ended.stdout.splitlines()[-1])
    told = ended.stderr.decode().splitlines()
    assert (code, len(told)) == (2, 1), told
    assert name in told[0]
    assert kilobytes / 1024 < MEMORY
    assert seconds < SECONDS


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("letter", ["x", "中"])
def test_a_token_of_ten_megabytes_is_work_that_grows_with_its_length(tmp_path: Path, letter: str) -> None:
    """By the square it would take hours: 100,000 letters once took 42 seconds. `process` ends a command after two
    minutes, which is ten times what it takes."""
    token = letter * (10_000_000 // len(letter.encode()))
    said = "The fee of the pool is 7 euros per day. The pool opens at 9."
    (tmp_path / "docs.csv").write_text(f"title,text\nA,{token}\nB,{said}\n", "utf-8")
    (tmp_path / "rows.csv").write_text(f"question,answer,reference\nWhat is the fee?,{token},7 euros\n", "utf-8")
    (tmp_path / "q.csv").write_text("question,reference\nWhat is the fee of the pool?,7 euros\n", "utf-8")
    metrics = ("--metrics", "answer_match,token_f1,rouge_l,refusal")
    for words in (
        ("build", "questions", "docs.csv", "-o", "out", "--model", "local/template", "--size", "1"),
        ("run", "q.csv", "--system", "rag(k=1)", "--corpus", "docs.csv", "--metrics", "answer_match", "--run", "a.run"),
        ("eval", "rows.csv", *metrics, "--run", "e.run"), ("report", "e.run", "-o", "e.html"),
    ):  # fmt: skip
        told = process(*words, folder=tmp_path)
        assert told.code == 0, (words, told.err)
