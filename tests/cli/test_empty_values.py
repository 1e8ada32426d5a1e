"""An empty value, mostly a variable of a script that is not set, is one line, whatever option it is of."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.cli.tools import Told, commands, one_line
from tests.examples import naming

from ragstone.cli.main import app

Ragstone = Callable[..., Told]
OPTIONS = [
    (name.split(), option)
    for name, command in commands(app)
    if not isinstance(command, click.Group)
    for parameter in command.params
    if isinstance(parameter, click.Option) and not parameter.is_flag
    for option in parameter.opts
]
ANSWERS = [(["init"], "--system"), (["init"], "--judge")]


def test_every_option_of_every_command_refuses_it(ragstone: Ragstone, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for command, option in OPTIONS:
        if (command, option) in ANSWERS:
            continue
        with naming(command, option):
            line = f"ragstone: {option} is empty: give a value, or leave the option out.\n"
            assert one_line(ragstone(*command, option, "")) == line
            if option.startswith("--"):
                assert one_line(ragstone(*command, f"{option}=")) == line
    assert len(OPTIONS) > 600
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "arguments", [("run", ""), ("eval", ""), ("bench", ""), ("",), ("run", "q.csv", ""), ("show", "--", "")]
)
def test_every_argument_refuses_it(ragstone: Ragstone, arguments: tuple[str, ...]) -> None:
    assert one_line(ragstone(*arguments)) == "ragstone: An argument is empty: give a value, or leave it out.\n"


def test_it_is_told_in_chinese(ragstone: Ragstone) -> None:
    one_line(ragstone("run", "--limit", "", "--language", "zh"), "--limit 的值为空：请写一个值，或去掉这个选项。")
    one_line(ragstone("run", "", "--language", "zh"), "有一个参数为空：请写一个值，或去掉它。")


def test_where_it_is_an_answer_it_is_taken(ragstone: Ragstone, tmp_path: Path) -> None:
    assert ragstone("init", "--system", "", "--judge=", "--no-run").code == 0
    assert "judge" not in (tmp_path / "ragstone.toml").read_text("utf-8")


def test_a_value_that_only_ends_so_is_no_empty_one(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,reference,answer\nWho?,a,a\n")
    one_line(ragstone("eval", "q.csv", "--map", "reference="), "expected NAME=VALUE")
    assert ragstone("eval", "q.csv", "--where=", "x").code == 2
    assert ragstone("eval", "q.csv", "--name", "a=", "--run", "a.run", "--metrics", "answer_match").code == 0
