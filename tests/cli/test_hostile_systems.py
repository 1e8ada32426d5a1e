"""Systems that misbehave under `ragstone run`: each way has a name in the run, and the other questions are answered."""

from pathlib import Path

import pytest
from tests.cli.tools import process

from ragstone.runs import open_run

BAD = Path(__file__).parents[1] / "systems" / "apps" / "app.py"
# What the system does (`bad` in app.py), and what the run says of it; "" is an answer.
OUTCOMES = {
    "raise": "raised: ZeroDivisionError: division by zero (app.py, line ",
    "hang": "timed_out: No answer within 2 seconds",
    "none": "no_answer: The system returned None instead of an answer.",
    "number": "no_answer: The system returned int 42 instead of an answer.",
    "big": "too_long: The answer has 10,000,000 characters",
    "crash": "crashed: The system's process ended (exit code 3",
    "print": "",
    "fork": "",
    "ok": "",
}
APP = """
import itertools
numbers = itertools.count()
def moody(question):
    return f"Paris {next(numbers)}" if "France" in question else "Berlin"
def deaf(question, passages=None):
    return {"answer": "Paris", "contexts": ["Paris is the capital of France."]}
"""
QUESTIONS = "question,reference\nWhat is the capital of France?,Paris\nWhat is the capital of Germany?,Berlin\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "q.csv").write_text(QUESTIONS, "utf-8")
    return tmp_path


def test_each_way_to_misbehave_has_a_name_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,reference\n" + "".join(f"{kind} it,x\n" for kind in OUTCOMES), "utf-8")
    ended = process("run", "q.csv", "--system", f"{BAD}:bad", "--timeout", "2", "--json", "--quiet", "--run", "a.run",
                    folder=tmp_path)  # fmt: skip
    assert ended.code == 3, ended
    assert (ended.document["done"], ended.document["failed"]) == (3, 6)
    assert len(ended.out) + len(ended.err) < 20_000  # nothing that the system printed
    with open_run(tmp_path / "a.run") as run:
        errors = {record.case.query.question.split()[0]: record.error or "" for record in run.records()}
        answers = {record.response.answer for record in run.records() if record.response is not None}
    assert {kind: error[: len(OUTCOMES[kind])] for kind, error in errors.items()} == OUTCOMES
    assert all(bool(error) is bool(OUTCOMES[kind]) for kind, error in errors.items())
    assert answers == {"printed", "parent: True", "fine"}


def test_answers_that_change_each_time_are_counted(folder: Path) -> None:
    run = ("run", "q.csv", "--system", "app.py:moody", "--repeat", "3", "--run", "a.run", "--quiet")
    assert process(*run, folder=folder).code == 0
    for language, words in (
        ("en", "asked each question 3 times; 1 of 2 questions got different answers"),
        ("zh", "2 个问题中有 1 个得到不同的答案"),
    ):
        shown = process("show", "a.run", "--language", language, folder=folder, COLUMNS="400")
        assert words in shown.out


def test_given_passages_that_are_ignored_are_named_and_a_run_needs_none(folder: Path) -> None:
    checked = process("system", "check", "app.py:deaf", "--json", folder=folder)
    assert checked.document["interventions"]["passages"]["outcome"] == "ignored"
    diagnosed = process("diagnose", "q.csv", "--system", "app.py:deaf", "--quiet", folder=folder)
    assert "The system ignores the passages that it is given" in diagnosed.out + diagnosed.err
    ended = process("run", "q.csv", "--system", "app.py:deaf", "--json", "--quiet", folder=folder)
    assert (ended.code, ended.document["done"]) == (0, 2)
