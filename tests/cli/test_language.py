"""One `--language` for what is printed and written: asked for once, remembered by the run, else the environment's."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from tests.cli.tools import ROOT, SMALL, Told, commands

import ragstone as package
from ragstone.cli.main import app
from ragstone.messages import messages

Ragstone = Callable[..., Told]
SOURCE = Path(package.__file__).parent
ANSWERS = str(ROOT / "examples" / "answers.jsonl")
BENCH = ("bench", "rgb", "--model", "local/extractive", *SMALL, "--quiet")
EVAL = ("eval", ANSWERS, "--metrics", "token_f1", "--quiet")


def chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


@pytest.mark.parametrize("arguments", [BENCH, EVAL])
def test_a_run_remembers_its_language_and_later_commands_use_it(arguments: tuple[str, ...], ragstone: Ragstone) -> None:
    assert chinese(ragstone(*arguments, "--run", "a.run", "--language", "zh").out)
    assert chinese(ragstone(*arguments, "--run", "a.run").out)  # resumed
    assert chinese(ragstone("show", "a.run").out)
    assert chinese(ragstone("export", "a.run", "--format", "markdown").out)
    assert ragstone("report", "a.run", "-o", "a.html").code == 0
    assert '<html lang="zh' in Path("a.html").read_text(encoding="utf-8")
    assert not chinese(ragstone("show", "a.run", "--language", "en").out)
    assert not chinese(ragstone(*arguments, "--run", "a.run", "--language", "en").out)
    assert not chinese(ragstone("show", "a.run").out)


def test_a_run_without_a_language_follows_its_reader(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not chinese(ragstone(*EVAL, "--run", "a.run").out)
    monkeypatch.delenv("RAGSTONE_LANGUAGE")
    monkeypatch.setenv("LANGUAGE", "")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert chinese(ragstone("show", "a.run").out)


def test_compare_speaks_the_language_of_the_first_run(ragstone: Ragstone) -> None:
    ragstone(*EVAL, "--run", "a.run", "--name", "mine", "--language", "zh")
    ragstone(*EVAL, "--run", "b.run", "--name", "mine")
    assert chinese(ragstone("compare", "a.run", "b.run").out)
    assert not chinese(ragstone("compare", "b.run", "a.run").out)


def test_metrics_are_named_by_commas_and_by_repeating_everywhere(ragstone: Ragstone) -> None:
    several = ("--metrics", "token_f1,rouge_l", "--metrics", "exact_match,token_f1")
    told = ragstone("eval", ANSWERS, *several, "--run", "a.run", "--quiet", "--json")
    assert set(told.document["scores"]) == {"token_f1", "rouge_l", "exact_match"}
    ragstone("eval", ANSWERS, *several, "--run", "b.run", "--quiet", "--name", "mine")
    asked = ("--metrics", "rouge_l,exact_match", "--metrics", "token_f1")
    compared = ragstone("compare", "a.run", "b.run", *asked, "--json")
    assert {row["metric"] for row in compared.document["metrics"]} == {"rouge_l", "exact_match", "token_f1"}


def test_an_option_has_one_meaning_in_all_commands() -> None:
    meanings: dict[str, set[str]] = {}
    for _, command in commands(app):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for flag in parameter.opts:
                    choices = getattr(parameter.type, "choices", None)
                    meanings.setdefault(flag, set()).add(str(choices and tuple(choices)))
    assert "--tables" not in meanings
    assert meanings["--metric"] <= meanings["--metrics"]  # of trend, which follows one metric as often as several
    assert meanings["--judge-protocol"] == {"('matrix', 'ragas')"}
    assert meanings["--protocol"] == {"None"}  # a benchmark's, with a check of its own


@pytest.fixture
def reader_of_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")


@pytest.mark.usefixtures("reader_of_chinese")
@pytest.mark.parametrize(
    "arguments",
    [
        ("bench", "rgb", "--model", "openai/m", *SMALL, "--dry-run", "--price", "1/2", "--judge", "openai/j"),
        ("bench", "rgb", "--model", "openai/m", *SMALL, "--dry-run"),
        ("bench", "mirage", "--retriever", "local/e5-small", "--fictional-size", "2", "--dry-run"),
        ("bench", "mirage", "--fictional-size", "2", "--retriever", "bm25", "--run", "m.run"),
        ("eval", ANSWERS, "--judge", "openai/j", "--metrics", "five", "--dry-run", "--price", "1/2"),
        ("eval", ANSWERS, "--metrics", "token_f1", "--run", "a.run", "--report", "a.html"),
    ],
    ids=" ".join,
)
def test_every_line_of_a_command_is_chinese(arguments: tuple[str, ...], ragstone: Ragstone) -> None:
    told = ragstone(*arguments)
    assert told.code == 0, told.err
    lines = [
        line for line in (*told.out.splitlines(), *told.err.splitlines()) if re.search("[A-Za-z]{3} [A-Za-z]", line)
    ]
    assert [line for line in lines if not chinese(line)] == []


@pytest.mark.usefixtures("reader_of_chinese")
def test_progress_and_what_compare_says_are_chinese(ragstone: Ragstone) -> None:
    assert "个用例" in ragstone(*BENCH[:-1], "--run", "r.run").err
    ragstone(*EVAL, "--run", "a.run", "--name", "mine")
    rows = [json.loads(line) for line in Path(ANSWERS).read_text(encoding="utf-8").splitlines()]
    Path("bad.jsonl").write_text("\n".join(json.dumps(row | {"answer": "no"}) for row in rows), encoding="utf-8")
    ragstone("eval", "bad.jsonl", "--metrics", "token_f1", "--quiet", "--run", "b.run", "--name", "mine")
    told = ragstone("compare", "a.run", "b.run", "--on", "common", "--fail-on-regression")
    assert all(map(chinese, told.err.splitlines())), told.err


def test_every_line_that_retrieval_logs_has_a_chinese_text() -> None:
    files = [*(SOURCE / "retrieval").glob("*.py"), *(SOURCE / "benchmarks").rglob("*.py")]
    formats = {text for path in files for text in re.findall(r'log\.info\("(.*?)"', path.read_text(encoding="utf-8"))}
    assert len(formats) >= 3
    assert formats - messages("ragstone.commands.progress", "zh").keys() == set()


@pytest.mark.usefixtures("reader_of_chinese")
def test_verdicts_of_gates_are_chinese(ragstone: Ragstone) -> None:
    ragstone(*EVAL, "--run", "a.run")
    for gate in ("token_f1=0.01", "token_f1=0.99"):
        told = ragstone("gate", "a.run", "--fail-under", gate)
        lines = [*told.out.splitlines(), *told.err.splitlines()]
        assert lines
        assert all(map(chinese, lines))
        assert "gate passed" in ragstone("gate", "a.run", "--fail-under", "token_f1=0.01", "--language", "en").out
