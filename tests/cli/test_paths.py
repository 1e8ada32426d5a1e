"""Names that no file can have, and paths that lead nowhere, in every option and argument that takes one."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.cli.tools import Told, commands
from tests.examples import naming

from ragstone.cli.main import app

Ragstone = Callable[..., Told]

LONG, DEEP = "n" * 300, "/".join(["d" * 200] * 30)
BENCH = ("--model", "local/extractive", "--quiet")
NEEDED = {
    "run": ("q.csv", "--system", "app.py:ask", "--quiet"), "eval": ("a.csv", "--quiet"),
    "diagnose": ("q.csv", "--system", "app.py:ask", "--quiet"), "report": ("a.run",), "show": ("a.run",),
    "export": ("a.run", "--format", "csv"), "compare": ("a.run", "a.run"), "merge": ("a.run", "-o", "m.run"),
    "gate": ("a.run", "--fail-under", "answer_match=0"), "trend": ("a.run", "a.run"), "data check": ("q.csv",),
    "bench rgb": (*BENCH, "--fictional-size", "1", "--limit", "1", "--noise", "0"), "system check": ("app.py:ask",),
    "bench niah": (*BENCH, "--lengths", "600", "--depths", "50"), "build questions": ("q.csv", "-o", "out"),
    "score rgb": ("q.csv", "--dataset", "en_fact"), "score niah": ("cells.json",), "rubrics check": ("r.toml",),
    "agreement experts": ("a.run",), "agreement judges": ("a.run", "a.run"),
}  # fmt: skip
SERVERS = ("annotate", "view", "trace serve")


def is_path(parameter: click.Parameter) -> bool:
    shown = parameter.make_metavar(click.Context(click.Command("any"))).upper()
    return isinstance(parameter.type, click.Path) or "PATH" in shown or "FILE" in shown


@pytest.fixture(autouse=True)
def files(tmp_path: Path, ragstone: Ragstone) -> None:
    (tmp_path / "app.py").write_text("def ask(question):\n    return {'answer': 'Me', 'contexts': ['It is me.']}\n")
    (tmp_path / "q.csv").write_text("id,question,reference\n1,Who?,Me\n")
    (tmp_path / "a.csv").write_text("id,question,reference,answer\n1,Who?,Me,Me\n")
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    assert ragstone("eval", "a.csv", "--run", "a.run", "--quiet").code == 0


@pytest.mark.parametrize(
    "path", [LONG, *(pytest.param(path, marks=pytest.mark.slow) for path in (DEEP, "file/x", "loop"))],
    ids=["long", "deep", "under a file", "loop"],
)  # fmt: skip
def test_what_cannot_be_a_file_is_told_in_our_words(ragstone: Ragstone, path: str) -> None:
    counted = 0
    for name, command in commands(app):
        if isinstance(command, click.Group) or name in SERVERS:
            continue
        for parameter in filter(is_path, command.params):
            needed = list(NEEDED.get(name, ()))
            if isinstance(parameter, click.Argument):
                words = [path, *(needed[1:] if needed and not needed[0].startswith("-") else needed)]
            else:
                words = [*needed, parameter.opts[0], path]
            with naming(name, parameter.opts[0]):
                told = ragstone(*name.split(), *words)
                assert told.code in (0, 1, 2), told
                for word in ("OSError", "Errno", "bug in ragstone", "Traceback"):
                    assert word not in told.err + told.out, told
            counted += 1
    assert counted > 60


def test_a_file_name_too_long_says_what_to_do(ragstone: Ragstone) -> None:
    for arguments in (
        ("eval", "a.csv", "--run", LONG),
        ("compare", LONG, "a.run"),
        ("diagnose", "q.csv", "--corpus", LONG),
    ):
        told = ragstone(*arguments)
        assert told.code == 2
        assert told.err == f"ragstone: {LONG}: cannot be used (File name too long). Choose a shorter name.\n"
    told = ragstone("eval", "a.csv", "--run", LONG, "--language", "zh")
    assert f"{LONG}：无法使用（" in told.err
    assert told.err.endswith("请换一个较短的名称。\n")


def test_a_score_of_needles_without_files_says_what_is_missing(ragstone: Ragstone) -> None:
    told = ragstone("score", "niah", "--run", "n.run")
    assert told.code == 2
    assert told.err.startswith("ragstone: Missing argument 'PATHS...'.")
