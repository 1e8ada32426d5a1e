"""Errors of reading a file name the next step, in both languages."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

CASES = [
    ("a.csv", "", ("eval", "a.csv"), "is empty. Name a file with rows.", "文件为空。请指定有内容的文件。"),
    ("a.csv", "question,answer\n", ("eval", "a.csv"), "has no rows. Name a file with rows.", "请指定有内容的文件。"),
    ("a.run", "hello", ("show", "a.run"), "it is not an SQLite database. Name another file.", "请指定另一个文件。"),
    ("a.run", "hello", ("gate", "a.run"), "it is not an SQLite database. Name another file.", "请指定另一个文件。"),
]


@pytest.mark.parametrize(("name", "content", "arguments", "english", "chinese"), CASES)
def test_a_file_that_cannot_be_used_says_what_to_do(
    ragstone: Callable[..., Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, content: str, arguments: tuple[str, ...], english: str, chinese: str,
) -> None:  # fmt: skip
    (tmp_path / name).write_text(content)
    one_line(ragstone(*arguments), name, english)
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    one_line(ragstone(*arguments), name, chinese)
