"""What a needle run says to do: shorter contexts where they end, harder ones where nothing was missed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told

SYSTEM = """
import re


def ask(question, contexts):
    text = " ".join(contexts)
    found = re.findall(r"[^.]*\\d{5,}[^.]*\\.", text)
    return found[0] if found and len(text) < LIMIT else "I do not know."
"""


def test_answered_controls_come_before_harder_needles(ragstone: Callable[..., Told]) -> None:
    Path("reader.py").write_text(SYSTEM.replace("LIMIT", "90_000").replace("I do not know.", "It is 12345."))
    ended = ragstone(
        "bench", "niah", "--system", "reader.py:ask", "--lengths", "500:1000:2", "--depths", "0:100:3", "--run", "n.run"
    )
    text = " ".join(line.strip() for line in ended.out.splitlines())
    assert "2 of 2 controls without a needle were answered" in text
    assert "tell the model to refuse where the context lacks the answer" in text
    assert "Nothing was missed" not in text


@pytest.mark.parametrize(
    ("limit", "language", "said", "unsaid"),
    [
        (
            9_000,
            "en",
            "Too little is found beyond 2.25k tokens: keep contexts at 2.25k",
            "let the prompt",
        ),
        (9_000, "zh", "超过 2.25k 词元后找到的太少：把上下文控制在 2.25k 以内", "允许依据"),
        (90_000, "en", "Nothing was missed up to 4k tokens: ask longer contexts", "Too little"),
        (90_000, "zh", "直到 4k 词元都没有遗漏", "太少"),
    ],
)
def test_what_to_do_about_the_lengths(
    ragstone: Callable[..., Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, language: str,
    said: str, unsaid: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("reader.py").write_text(SYSTEM.replace("LIMIT", str(limit)))
    ended = ragstone(
        "bench", "niah", "--system", "reader.py:ask", "--lengths", "500:4000:5", "--depths", "0:100:5",
        "--run", "n.run", "--language", language,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    text = " ".join(line.strip() for line in ended.out.splitlines())
    assert said in text
    assert unsaid not in text
