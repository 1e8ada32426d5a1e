"""The examples of docs/retrievers.md run, in both languages."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.registry import Registry
from ragstone.retrieval import RETRIEVERS, open_retriever
from ragstone.types import Passage

ROOT = Path(__file__).parents[1]
PAGES = ("docs/retrievers.md", "docs/retrievers.zh-CN.md")
POOL = [Passage("a", "The ferry leaves at nine."), Passage("b", "渡轮每天九点开。")]


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_both_pages_have_the_same_examples() -> None:
    first, second = (examples(page) for page in PAGES)
    assert first == second
    assert len(first) == 4


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, lambda lines: lines[0].endswith("One sentence. 第二句话。") and lines[1].endswith("And a third one.")),
        (1, lambda lines: [line[0] for line in lines] == ["a", "b"]),
        (
            2,
            lambda lines: any(
                line.startswith("noise_vulnerability_noise[local/extractive, bm25@3] ") for line in lines
            ),
        ),
    ],
)
def test_an_example_prints_what_it_should(number: int, printed: Callable[[list[str]], bool], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples(PAGES[0])[number]],
        cwd=tmp_path, env={"PATH": "", "HOME": str(tmp_path)}, capture_output=True, text=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert printed(done.stdout.splitlines()), done.stdout


async def test_the_example_of_a_retriever_is_one_file_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = examples(PAGES[0])[3] + '\nPLUGINS = {"newest": newest}\n'
    (tmp_path / "example_retrievers").mkdir()
    (tmp_path / "example_retrievers" / "__init__.py").write_text("")
    (tmp_path / "example_retrievers" / "search.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    opener: Any = Registry[Any](RETRIEVERS.kind, "example_retrievers", "ragstone.none").get("newest")
    monkeypatch.setitem(RETRIEVERS.__dict__, "_plugins", {"newest": opener})
    async with open_retriever("newest", POOL) as retriever:
        assert [[one.id for one in found] for found in await retriever.retrieve(["?"], k=1)] == [["b"]]
