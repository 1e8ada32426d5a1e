"""Nothing that strangers wrote acts on a terminal: not in messages, notes, errors or tables, by whichever command."""

import codecs
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

import pytest
from tests.cli.tools import SMALL, Told, process
from tests.evaluation.test_evaluate import rows

import ragstone
from ragstone.cli.main import _for_terminal
from ragstone.commands.output import say_opening, say_tables
from ragstone.display import Bar, BarKind, Cell, Chart, Dot, Point, Row, Series, Summary, Table
from ragstone.report.opening_text import opening_text

Ragstone = Callable[..., Told]

FORGED = "gate faithfulness passed"
EVIL = f"\x1b]0;own\x07\x9b2J\u202egnp\u2066x\u200f\u2028\r\n{FORGED}\x7f"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def harmless(told: Told, *, shows: bool = True) -> Told:
    """Asserts that nothing printed acts or forges a line, and (`shows`) that the planted text was there to be made
    harmless."""
    for text in (told.out, told.err):
        assert ACTING.search(text) is None, text
        assert not [line for line in text.splitlines() if line.startswith(FORGED)], text
        assert "Traceback" not in text or "--debug" in text, text
    if shows:
        assert "]0;own" in told.out + told.err, told  # after a picture, or escaped by Python
    return told


@pytest.fixture
def evil_data() -> Path:
    """Answers in a file with an evil name, with an evil column, evil ids, and evil values in it."""
    many = [
        row
        | {
            "id": f"{number}{EVIL}",
            EVIL: EVIL,
            "question": f"{number} {row['question']}",
            "answer": row["answer"] + EVIL,
        }
        for number, row in enumerate(rows() * 4)
    ]
    path = Path(f"a{EVIL}.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    return path


@pytest.fixture
def evil_runs(ragstone: Ragstone, evil_data: Path) -> tuple[Path, Path]:
    """Two runs of systems with evil names: the second answers worse, one of its cases cannot be paired."""
    worse = [json.loads(line) | {"answer": "No." + EVIL} for line in evil_data.read_text("utf-8").splitlines()]
    Path(f"b{EVIL}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in worse), encoding="utf-8")
    found = []
    for name in ("a", "b"):
        run = Path(f"{name}{EVIL}.run")
        told = ragstone("eval", f"{name}{EVIL}.jsonl", "--metrics", "token_f1", "--run", run, "--name", f"{name}{EVIL}")
        assert harmless(told).code == 0
        found.append(run)
    return found[0], found[1]


def test_the_verdicts_on_a_strangers_run_do_not_act(ragstone: Ragstone, evil_runs: tuple[Path, Path]) -> None:
    a, b = evil_runs
    told = harmless(ragstone("compare", a, b, "--fail-on-regression", "--group-by", EVIL))
    assert told.code == 1
    assert "regression: token_f1" in told.err
    assert harmless(ragstone("compare", a, b, "--where", f"{EVIL}=nothing")).code == 2
    assert harmless(ragstone("compare", a, b, "--system-a", EVIL)).code == 2
    failed = harmless(ragstone("gate", b, "--fail-under", "token_f1=0.99", "--gate", "point"))
    assert failed.code == 1
    assert "decided by" in failed.out
    assert harmless(ragstone("gate", a, "--fail-under", "token_f1=0", "--system", EVIL)).code == 2
    for kind in ("csv", "jsonl", "junit", "markdown", "latex"):
        told = ragstone("export", a, "--format", kind)
        assert ACTING.search(told.out.removeprefix("\ufeff").replace("\r\n", "\n")) is None, kind
        assert told.code == 0
    harmless(ragstone("report", a, "-o", f"r{EVIL}.html"))
    for as_json in (("compare", a, b, "--json"), ("gate", a, "--fail-under", "token_f1=0", "--json")):
        harmless(ragstone(*as_json), shows=False)


def test_a_strangers_data_do_not_act_when_they_are_checked(ragstone: Ragstone, evil_data: Path) -> None:
    harmless(ragstone("data", "check", evil_data))
    Path(f"c{EVIL}.csv").write_text(f'question,answer\n"q{EVIL}\n', encoding="utf-8")
    assert harmless(ragstone("data", "check", f"c{EVIL}.csv")).code == 2
    assert harmless(ragstone("eval", f"c{EVIL}.csv")).code == 2
    assert harmless(ragstone("eval", evil_data, "--map", f"answer={EVIL}x")).code == 2
    Path(f"en_refine{EVIL}.json").write_text(json.dumps({"id": EVIL, "query": EVIL, "answer": EVIL}), encoding="utf-8")
    harmless(ragstone("data", "check", f"en_refine{EVIL}.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        (EVIL,), ("bench", EVIL), ("bench", "rgb", "--model", EVIL),
        ("bench", "rgb", "--model", "local/extractive", "--data", EVIL),
        ("bench", "niah", "--model", "local/extractive", "--needle", "file", "--needle-file", EVIL),
        ("bench", "rgb", f"--{EVIL}"),
        ("bench", "mirage", "--model", "local/extractive", "--retriever", EVIL), ("cases", "rgb", "--dataset", EVIL),
        ("cases", "mirage", "--retriever", EVIL), ("cases", "niah", "--needle", "file", "--needle-file", EVIL),
        ("score", "rgb", EVIL, "--dataset", "en_refine"), ("score", "niah", EVIL),
        ("score", "mirage", "--dataset", EVIL, "--base", EVIL), ("rubrics", "show", EVIL), ("rubrics", "check", EVIL),
        ("prompts", "show", EVIL), ("prompts", "check", EVIL), ("metrics", EVIL), ("export", EVIL, "--format", "csv"),
        ("export", "x", "--format", EVIL), ("report", EVIL, "-o", "r.html"), ("data", "pull", EVIL),
        ("data", "pull", "rgb", "--from", EVIL), ("build", "fictional", "-o", "x", "--dataset", EVIL),
        ("agreement", "protocols", EVIL, "--judge", "compat/x"),
    ],
)  # fmt: skip
def test_an_evil_argument_does_not_act_in_the_error_about_it(ragstone: Ragstone, arguments: tuple[str, ...]) -> None:
    assert harmless(ragstone(*arguments)).code == 2


def test_evil_folders_and_files_do_not_act_where_they_are_named(ragstone: Ragstone) -> None:
    told = harmless(ragstone("build", "fictional", "-o", f"d{EVIL}", "--dataset", "en_refine", "--size", "2"))
    assert told.code == 0
    harmless(
        ragstone("build", "fictional", "--format", "mirage", "-o", f"m{EVIL}", "--data-language", "en", "--size", "5")
    )
    harmless(ragstone("prompts", "copy", f"p{EVIL}"))
    harmless(ragstone("prompts", "check", f"p{EVIL}"), shows=False)
    harmless(ragstone("rubrics", "copy", "process_actionability", f"u{EVIL}"))
    harmless(ragstone("rubrics", "check", f"u{EVIL}"))


def test_an_evil_model_does_not_act_in_tables_notes_and_failures(ragstone: Ragstone) -> None:
    Path(f"m{EVIL}.jsonl").write_text(json.dumps({"default": f"It is 7{EVIL}"}) + "\n", encoding="utf-8")
    told = harmless(ragstone("bench", "rgb", "--model", f"scripted/m{EVIL}.jsonl", *SMALL, "--run", f"s{EVIL}.run"))
    assert told.code == 0
    Path("nothing.jsonl").write_text(json.dumps({"contains": "never", "text": "x"}) + "\n", encoding="utf-8")
    Path("e.jsonl").write_text(json.dumps({"default": "", "status": 400, "error": EVIL}) + "\n", encoding="utf-8")
    harmless(ragstone("bench", "rgb", "--model", "scripted/e.jsonl", *SMALL, "--run", "e.run"), shows=False)


def test_an_evil_name_does_not_act_in_a_traceback(ragstone: Ragstone) -> None:
    told = ragstone("--debug", "export", EVIL, "--format", "csv")
    assert "Traceback" in told.err
    assert ACTING.search(told.err) is None
    assert told.code == 2


def test_nothing_acts_in_a_process_of_its_own(tmp_path: Path) -> None:
    told = harmless(process("gate", EVIL, "--fail-under", "token_f1=1", folder=tmp_path))
    assert told.code == 2
    assert len(told.err.splitlines()) == 1


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


TABLE = Table("t", "A title", ("a",), (Row((Cell("b"),)),))


def printed(monkeypatch: pytest.MonkeyPatch) -> str:
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    say_tables([TABLE], language="en")
    say_opening({"": Summary("", "A verdict.")}, (), language="en")
    return screen.getvalue()


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("TERM", "unknown"), ("NO_COLOR", "1")])
def test_a_terminal_that_knows_no_escapes_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert printed(monkeypatch).count("\x1b[1m") >= 2
    monkeypatch.setenv(name, value)
    assert "\x1b" not in printed(monkeypatch)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_every_picture_has_plain_characters_where_the_terminal_lacks_its_own(encoding: str) -> None:
    codecs.register_error("ragstone.terminal", _for_terminal)
    shades = [sign * step / 4 for sign in (-1, 1) for step in range(5)]
    points = tuple(Point(at, value) for at, value in enumerate(shades))
    bars = tuple(Bar("b", 0.0, 0.5, kind, "50%") for kind in get_args(BarKind))
    dots = (Dot("a", 0.5, 0.2, 0.7, "0.5", gate=0.3, lower=True),)
    kinds: tuple[Literal["lines", "bars", "heatmap", "grid"], ...] = ("lines", "bars", "heatmap", "grid")
    charts = [
        Chart("c", "t", kind, (Series("s", points),), categories=tuple("abcdefghij"), signed=signed)
        for kind in kinds for signed in (False, True)
    ]  # fmt: skip
    texts = [opening_text({"": Summary("", "V.", bars=bars, dots=dots)}), opening_text({"": Summary("", "V.")}, charts)]
    plain = "\n".join(texts).encode(encoding, "ragstone.terminal").decode(encoding)
    assert "\\" not in plain
    pictures = [line.split()[-1] for line in plain.splitlines() if line.startswith("b  ")]
    assert len({line[-1] for line in pictures}) == len(bars)  # kinds of bars can still be told apart


def test_the_sentences_of_the_tool_have_plain_characters() -> None:
    codecs.register_error("ragstone.terminal", _for_terminal)
    for path in Path(ragstone.__file__).parent.rglob("messages_en.toml"):
        text = path.read_text(encoding="utf-8").encode("cp1252", "ragstone.terminal").decode("cp1252")
        assert not re.findall(r"\\u(?!4e2d|6587)[0-9a-f]{4}", text), path  # 中文 names itself
