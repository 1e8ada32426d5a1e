"""Nobody listens at an address: every command says so and exits 2, with one question and with several."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told

DEAD = "http://127.0.0.1:9"
SYSTEM, MODEL = f"{DEAD}/ask", ("--model", "compat/m", "--base-url", f"{DEAD}/v1", "--quiet")
RGB = ("--fictional-size", "2", "--data-language", "en", "--noise", "0")
JUDGE = ("--judge", "compat/j", "--judge-base-url", f"{DEAD}/v1", "--metrics", "answer_match,faithfulness", "--quiet")


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "q.csv", "--system", SYSTEM, "--quiet"),
        ("diagnose", "q.csv", "--system", SYSTEM, "--quiet"),
        ("system", "check", SYSTEM, "--questions", "q.csv"),
        ("eval", "a.csv", *JUDGE),
        ("bench", "rgb", *MODEL, *RGB, "--limit", "COUNT"),
        ("bench", "niah", *MODEL, "--lengths", "600", "--depths", "50", "--repeat", "COUNT"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_every_command_exits_2(
    ragstone: Callable[..., Told],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    count: int,
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "k")
    rows = "".join(f"{n},Who is {n}?,Me,It is {n}.,It is me.\n" for n in range(count))
    (tmp_path / "a.csv").write_text(f"id,question,reference,answer,contexts\n{rows}")
    (tmp_path / "q.csv").write_text(
        f"id,question,reference\n{''.join(f'{n},Who is {n}?,Me{chr(10)}' for n in range(count))}"
    )
    told = ragstone(*(str(count) if word == "COUNT" else word for word in arguments))
    assert told.code == 2, told
    assert "Connection refused" in told.err + told.out
    assert "bug" not in told.err


def test_where_something_was_answered_it_exits_3(
    ragstone: Callable[..., Told], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system of one's own that answers one question, and has nobody behind it for the next."""
    (tmp_path / "app.py").write_text(
        "def ask(question):\n    if question == 'b':\n        raise ConnectionRefusedError('nobody')\n    return 'Me'\n"
    )
    (tmp_path / "q.csv").write_text("id,question,reference\n1,a,Me\n2,b,Me\n")
    monkeypatch.chdir(tmp_path)
    assert ragstone("run", "q.csv", "--system", "app.py:ask", "--quiet").code == 3
