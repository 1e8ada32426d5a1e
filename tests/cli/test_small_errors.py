"""Slips of a user that have a line of their own: what was named, why it cannot be, and what to do."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.tools import Told

NEEDLES = ("bench", "niah", "--model", "local/extractive", "--dry-run", "--lengths")


@pytest.fixture
def folder(tmp_path: Path, ragstone: Callable[..., Told]) -> Path:
    (tmp_path / "s.py").write_text("import os\nimport random as nosuchy\ndef ask(question):\n    return '3'\n")
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "question": "Which?", "reference": "7"}\n')
    assert ragstone("run", "rows.jsonl", "--system", "s.py:ask", "--run", "u1.run", "--quiet").code == 0
    return tmp_path


SLIPS = {
    "no steps": ((*NEEDLES, "1k:2k:0"), "the count 0 is not between 1 and 10,000.", "数量 0 不在 1 和 10,000 之间。"),
    "too long": ((*NEEDLES, "500,99999999"), "99,999,999 is not between 50 and 10,000,000.",
                 "99,999,999 不在 50 和 10,000,000 之间。"),
    "same run": (("trend", "u1.run", "./u1.run"), "u1.run is named 2 times. Name at least two different runs.",
                 "u1.run 写了 2 次。请至少指定两个不同的运行。"),
    "no such name": (("run", "rows.jsonl", "--system", "s.py:nosuch"),
                     "No system named 'nosuch'. It should be in s.py. It has: ask.",
                     "没有名为“nosuch”的系统。它应当在 s.py 中。现有：ask。"),
    "two colons": (("run", "rows.jsonl", "--system", "s.py:a:b"),
                   "'s.py:a:b' is not the location of a model: write package.module:name or file.py:name.",
                   "“s.py:a:b”不是模型的位置：请写 package.module:name 或 file.py:name。"),
    "lost index": (("show", "lost.run"),
                   "lost.run has lost its index 'failed_records'. Restore the file from a copy, or save what",
                   "lost.run 丢失了 索引“failed_records”。请从副本恢复文件，或保存仍能读取的部分："),
}  # fmt: skip


def test_each_slip_is_one_line_with_the_next_step(
    folder: Path, ragstone: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("lost.run").write_bytes(Path("u1.run").read_bytes())
    with closing(sqlite3.connect("lost.run")) as file, file:
        file.execute("DROP INDEX failed_records")
    for arguments, *told in SLIPS.values():
        for language, words in zip(("en", "zh"), told, strict=True):
            monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
            ended = ragstone(*arguments)
            assert (ended.code, len(ended.err.splitlines())) == (2, 1), ended
            assert words in ended.err
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "en")
    assert ragstone("merge", "lost.run", "-o", "new.run", "--recover").code == 0
    assert ragstone("show", "new.run").code == 0


def test_commands_in_a_markdown_export_are_code(folder: Path, ragstone: Callable[..., Told]) -> None:
    told = ragstone("export", "u1.run", "--format", "markdown")
    assert "`ragstone diagnose`" in told.out
    assert "\\`" not in told.out
