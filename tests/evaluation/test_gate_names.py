"""A gate on a metric that will not be scored is refused before the system is asked anything."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

Ragstone = Callable[..., Told]

APP = """\
from ragstone.types import Need, Score

def ask(question):
    with open("asked.txt", "a") as file:
        file.write(question)
    return {"answer": "It is me.", "contexts": ["It is me."]}

class Brevity:
    name, version, needs = "brevity", 1, frozenset({Need.ANSWER})
    def score(self, case, response, /):
        return Score.of(1.0)

brevity = Brevity()
"""
RUN = ("run", "q.csv", "--system", "app.py:ask", "--metrics", "answer_match", "--quiet")
EVAL = ("eval", "a.csv", "--metrics", "answer_match", "--quiet")
DIAGNOSE = ("diagnose", "q.csv", "--system", "app.py:ask", "--quiet")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "q.csv").write_text("id,question,reference\n1,Who?,me\n2,What?,tea\n")
    (tmp_path / "a.csv").write_text("id,question,reference,answer\n1,Who?,me,me\n2,What?,tea,tea\n")


def untouched(folder: Path) -> bool:
    return not (folder / "asked.txt").exists() and not [*folder.glob("*.run")]


@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["asked", "dry"])
@pytest.mark.parametrize("name", ["unknown", "token_f1", "faithfulness", "brevity", "rubric.tone", "cause.no_such"])
@pytest.mark.parametrize("command", [RUN, EVAL, DIAGNOSE], ids=["run", "eval", "diagnose"])
def test_a_gate_on_what_is_not_scored_is_refused(
    ragstone: Ragstone, tmp_path: Path, command: tuple[str, ...], name: str, dry: tuple[str, ...]
) -> None:
    for option in ("--fail-under", "--fail-over"):
        told = one_line(ragstone(*command, *dry, option, f"{name}=0.1"))
        assert f"There is a gate for {name}, which is not scored here" in told or "values of" in told
    assert untouched(tmp_path)


@pytest.mark.parametrize("command", [RUN, EVAL, DIAGNOSE], ids=["run", "eval", "diagnose"])
def test_a_gate_of_the_file_on_a_metric_that_nothing_has_is_refused(
    ragstone: Ragstone, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "ragstone.toml").write_text("[gates]\nunknwon = 0.1\n")
    one_line(ragstone(*command), "The gates of ragstone.toml", "No metric named 'unknwon'")
    assert untouched(tmp_path)


def test_the_option_of_the_file_is_refused_too(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "ragstone.toml").write_text("[run]\nfail-under = { unknown = 0.1 }\n")
    one_line(ragstone(*RUN), "There is a gate for unknown")
    assert untouched(tmp_path)


def test_what_is_scored_may_have_a_gate(ragstone: Ragstone, tmp_path: Path) -> None:
    under = ("--gate", "point", "--fail-under")
    assert ragstone(*RUN, *under, "answer_match=0.1").code == 0
    own = ("run", "q.csv", "--system", "app.py:ask", "--metrics", "app.py:brevity", "--quiet")
    assert ragstone(*own, *under, "brevity=0.5").code == 0
    assert ragstone("eval", "a.csv", "--metrics", "lexical", "--quiet", *under, "rouge_l=0.5").code == 0
    assert ragstone(*DIAGNOSE, "--gate", "point", "--fail-over", "cause.unknown=0.9").code == 0


def test_what_an_earlier_command_scored_may_have_a_gate(ragstone: Ragstone, tmp_path: Path) -> None:
    kept = ("eval", "a.csv", "--quiet", "--run", "a.run", "--metrics")
    assert ragstone(*kept, "token_f1").code == 0
    one_line(ragstone(*kept, "answer_match", "--fail-under", "rouge_l=0.5"), "gate for rouge_l", "token_f1")
    assert ragstone(*kept, "answer_match", "--gate", "point", "--fail-under", "token_f1=0.5").code == 0
