"""What the terminal prints has words of people, in both languages: no name of the program's own inside."""

import contextlib
import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.report.test_visible_names import OWN, ROWS, SLOW, codes, named_alone

from ragstone.cli import run as command_line

APP = "def ask(question, passages=None):\n    return '3 days.'\n"
# What makes the run, and so prints what a command says of its own run.
MADE = {
    "eval": ("eval", "rows.jsonl", "--metrics", "answer_match,token_f1"),
    "run": ("run", "rows.jsonl", "--system", "app.py:ask", "--metrics", "answer_match"),
    "diagnose": ("diagnose", "rows.jsonl", "--system", "app.py:ask"),
    "rgb": ("bench", "rgb", "--model", "local/extractive", "--limit", "12", "--fictional-size", "12"),
    "mirage": ("bench", "mirage", "--model", "local/extractive", "--retriever", "bm25", "--limit", "8",
               "--fictional-size", "8"),
    "niah": ("bench", "niah", "--model", "local/extractive", "--lengths", "500,1000", "--depths", "0,100"),
}  # fmt: skip
READ = (
    ("show", "a.run", "--all"), ("show", "a.run", "--slices"), ("compare", "a.run", "b.run"),
    ("compare", "a.run", "b.run", "--fail-on-regression"), ("trend", "a.run", "b.run"),
    ("gate", "a.run", "--fail-under", "METRIC=0.9"),
)  # fmt: skip
_RULE = re.compile(r"^─+$", re.MULTILINE)


def cells(text: str) -> set[str]:
    """The cells of the bodies of tables; heads, which stand above a rule, are broken into words."""
    *heads, last = _RULE.split(text)
    bodies = [*(part.rpartition("\n\n")[0] for part in heads[1:]), last]
    return {cell.strip() for body in bodies for line in body.splitlines() for cell in re.split(r"\s{2,}", line)}


def internal(text: str, own: set[str]) -> set[str]:
    """The names inside the program that a reader of the terminal sees."""
    return {*codes(text, own), *(cell for cell in cells(text) if named_alone(cell, own))}


def test_the_names_that_are_looked_for_are_found() -> None:
    table = "misled by\n    rumour           wrong\n──────\nrelated           3\nanswer_match       4\n\n"
    assert internal(table + table.replace("related", "plainly"), set()) == {"related"}
    for text in ("where ability=rejection: 50%", "cause.k_too_small, cause.noise", "the field first_relevant is 0",
                 "needs gold_only", "门禁 closed_book"):  # fmt: skip
        assert internal(text, set()), text
    for text in ("answer_match and recall@5", "ragstone gate RUN --where ability=rejection --fail-under METRIC=0.8",
                 "in `gold_only` text", "see docs/diagnosis.md, a.run", "k=3", "5 km = 3.1 miles"):  # fmt: skip
        assert not internal(text, set()), text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["eval", "run", *(param for param in SLOW if param.values != ("run",))])
def test_the_terminal_shows_no_name_of_the_program(
    kind: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    Path("app.py").write_text(APP, "utf-8")
    shown, metric = {}, "needle.found" if kind == "niah" else "answer_match"
    for template in ((*MADE[kind], "--run", "a.run"), *READ):
        words = [word.replace("METRIC", metric) for word in template]
        code = command_line(words)
        told = capsys.readouterr()
        assert code in (0, 1, 3), told.err
        assert told.out
        shown[" ".join(words)] = internal(f"{told.out}\n{told.err}", OWN | {tmp_path.name})
        if words[0] == MADE[kind][0] and not Path("b.run").exists():
            shutil.copy("a.run", "b.run")
            with contextlib.closing(sqlite3.connect("b.run")) as file:
                file.execute("VACUUM")  # other bytes: a copy is no other run in a trend
    assert {words: found for words, found in shown.items() if found} == {}
