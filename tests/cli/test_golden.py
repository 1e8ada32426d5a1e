"""What commands print, figure by figure: one session of a user who has answers, and one who runs benchmarks."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.tools import ROOT, Told
from tests.golden import figures, golden

from ragstone.cli.main import app

Ragstone = Callable[..., Told]
EXAMPLE = ROOT / "examples" / "answers.jsonl"


def shown(told: Told, folder: Path, *asked: object) -> str:
    """How a command ended: its figures, without what differs from run to run (paths, rates)."""
    lines = [
        f"$ {' '.join(str(one).replace(str(ROOT), '.').replace(str(folder), '.') for one in asked)}",
        f"exit {told.code}",
    ]
    if "--json" in asked:
        lines.append(document(json.loads(told.out), folder))
    else:
        lines += [plain(line, folder) for line in told.out.splitlines()]
    return "\n".join([*lines, *(f"err: {plain(line, folder)}" for line in told.err.splitlines())])


def plain(line: str, folder: Path) -> str:
    line = line.replace(str(folder), "DIR").replace(str(ROOT), "ROOT")
    line = re.sub(r"\b[0-9a-f]{10,64}\b", "HASH", line)
    return figures(re.sub(r"[─━ ]{2,}", "  ", line)).rstrip()


def document(value: Any, folder: Path, indent: str = "") -> str:
    if isinstance(value, dict):
        return "".join(f"\n{indent}{key}:{document(one, folder, indent + ' ')}" for key, one in value.items())
    if isinstance(value, list):
        return "".join(f"\n{indent}-{document(one, folder, indent + ' ')}" for one in value)
    return f" {plain(value, folder) if isinstance(value, str) else figures(str(value))}"


@pytest.fixture
def session(ragstone: Ragstone, tmp_path: Path) -> Callable[..., str]:
    def run(*asked: object) -> str:
        told = ragstone(*asked)
        assert told.code != 2, told.err
        return shown(told, tmp_path, *asked)

    return run


@pytest.fixture
def answers(tmp_path: Path) -> None:
    """The example, and the same with every third answer cut to half."""
    rows = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    for name, every in (("a.jsonl", 0), ("b.jsonl", 3)):
        told = [row | {"answer": row["answer"][: len(row["answer"]) // 2]} if every and at % every == 0 else row
                for at, row in enumerate(rows * 2)]  # fmt: skip
        lines = [
            json.dumps(row | {"id": f"r{at}", "topic": "ab"[at % 2]}, ensure_ascii=False) for at, row in enumerate(told)
        ]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")


JUDGE = ("--judge", "openai/gpt-4o-mini", "--price", "1/2")
LEXICAL = ("--metrics", "token_f1,rouge_l,exact_match,answer_match", "--quiet")


@pytest.mark.usefixtures("answers")
def test_answers_are_scored_compared_and_gated(session: Callable[..., str]) -> None:
    told = [
        session("eval", "a.jsonl", *LEXICAL, "--run", "a.run"),
        session("eval", "b.jsonl", *LEXICAL, "--run", "b.run", "--group-by", "topic", "--json"),
        session("eval", "a.jsonl", *LEXICAL, "--run", "a.run", "--fail-under", "token_f1=0.99"),
        session("eval", "a.jsonl", *LEXICAL, "--limit", "5", "--dry-run"),
        session("eval", "a.jsonl", "--sample", "4", *JUDGE, "--dry-run", "--json"),
        session("compare", "a.run", "b.run", "--on", "common"),
        session("compare", "b.run", "a.run", "--on", "common", "--json", "--metrics", "token_f1"),
        session("compare", "a.run", "b.run", "--on", "common", "--fail-on-regression"),
        session("compare", "a.run", "b.run", "--on", "common", "--fail-on-regression", "--tolerance", "0.9"),
        session("gate", "a.run", "--fail-under", "token_f1=0.3", "--fail-under", "rouge_l=0.9"),
        session("gate", "a.run", "--fail-under", "token_f1=0.3", "--gate", "point"),
        session("gate", "b.run", "--fail-under", "token_f1=0.75", "--json"),
        session("gate", "b.run", "--fail-under", "exact_match=0.3", "--min-coverage", "1"),
        session("export", "b.run", "--format", "markdown"),
        session("show", "b.run"),
    ]  # fmt: skip
    golden("cli/answers", "\n\n".join(told))


@pytest.fixture
def model(script: Path, tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "m.jsonl").write_text(script.read_text())
    return "--model", "scripted/m.jsonl"


def test_rgb_is_counted_run_shown_and_compared(session: Callable[..., str], model: tuple[str, str]) -> None:
    few = (
        "--data-language",
        "en",
        "--limit",
        "4",
        "--fictional-size",
        "4",
        "--noise",
        "0,0.4",
        "--quiet",
        "--run",
        "r.run",
    )
    told = [
        session("bench", "rgb", *model, *few, "--dry-run"),
        session("bench", "rgb", *model, *few),
        session("bench", "rgb", *model, *few, "--dry-run"),
        session("bench", "rgb", "--model", "local/extractive", *few, "--json"),
        session("compare", "r.run", "--system-a", model[1], "--system-b", "local/extractive"),
    ]
    golden("cli/rgb", "\n\n".join(told))


def test_needles_are_counted_run_and_shown(session: Callable[..., str], model: tuple[str, str]) -> None:
    few = ("bench", "niah", *model, "--lengths", "600,1200", "--depths", "0:100:3", "--quiet", "--run", "n.run")
    told = [session(*few, "--dry-run", "--json"), session(*few), session("show", "n.run")]
    told.append(session(*few, "--retriever", "bm25", "--chunk", "60"))
    golden("cli/niah", "\n\n".join(told))


def test_mirage_is_counted_run_and_shown(session: Callable[..., str]) -> None:
    few = ("bench", "mirage", "--model", "local/extractive", "--limit", "6", "--quiet", "--run", "m.run")
    golden("cli/mirage", "\n\n".join((session(*few, "--dry-run"), session(*few), session("show", "m.run", "--json"))))


@pytest.mark.usefixtures("answers")
def test_data_are_checked(session: Callable[..., str]) -> None:
    golden(
        "cli/data", "\n\n".join((session("data", "check", "a.jsonl"), session("data", "check", "b.jsonl", "--json")))
    )


def declared(command: click.Command, name: str) -> Iterator[str]:
    """A line for each argument and option: its names, its type with its limits, its default, and how it is given."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            found = command.get_command(context, part)
            assert found is not None
            yield from declared(found, f"{name} {part}")
        return
    yield f"## {name}"
    for one in sorted(command.params, key=lambda param: (param.param_type_name, param.opts)):
        held = one.to_info_dict()
        told = [f"{key}={held['type'][key]}" for key in LIMITS if repr(held["type"].get(key)) not in NOTHING]
        told += [word for word in ("required", "multiple", "is_flag", "hidden") if held.get(word)]
        default = [] if repr(held.get("default")) in NOTHING else [f"default={held['default']!r}"]
        yield " ".join([*one.opts, *one.secondary_opts, *told, *default])


NOTHING = ("None", "False", "()")
LIMITS = ("choices", "min", "max", "min_open", "max_open")


def test_the_options_of_every_command() -> None:
    """The command line is stable: its names, limits and defaults change on purpose alone."""
    golden("cli/options", "\n".join(declared(app, "ragstone")))
