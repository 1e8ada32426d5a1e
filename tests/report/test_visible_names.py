"""What a reader sees has words of people: no name of the program's own inside."""

import contextlib
import html
import json
import re
import shutil
import sqlite3
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.rounds import LABELLING, labels_file

import ragstone
from ragstone import bench, diagnose, evaluate, run
from ragstone.api import read_run
from ragstone.cli import run as command_line
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.error_text import kind_in
from ragstone.messages import error_texts
from ragstone.metrics import METRICS
from ragstone.runs.scoring import describe
from ragstone.structs import to_json
from ragstone.types import Score
from ragstone.web.app import create_app
from ragstone.web.library import Library

_NAMES = {name for name, _ in METRICS}
_SNAKE = re.compile(r"[a-z]+(_[a-z0-9]+)+")
# Ids of passages that a benchmark makes, hashes, and ids of cases that end in a code, wherever they stand in a text.
_MADE = re.compile(
    r"\b(?:positive|negative|wrong|fake|original|chunk)[:-]\d|#oracle|\S#\d|\b(?:c|text)-[0-9a-f]{10}"
    r"|/(?:as_is|again|gold_only|closed_book|r\d|s\d)\b"
)
_WORDS = {"rumour", "related", "RUN", "EVAL", "as_is", "none", "None", "null", "control", "retrieved", "00010", "10000"}
_CODES = {*CONDITIONS, "again", "intervention", "noise", "counterfactual", "rejection", "balanced", "True", "False"}
# What is written as code and is no name of the program's own: a column of the user's data, a program, a paper's metric.
_PUBLIC = {"gold_ids", "trec_eval", "Acc_doc"}
_COMMAND = re.compile(r"`[^`]*`|--where\s+\S+|\bragstone [a-z]+ (?:\S*(?:[=./]|--)\S*\s*)*")
_CODE = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)+|[A-Za-z]\w*_\w+|[a-z]\w+=\w")
_FILE = re.compile(r".*\.(?:run|html|md|csv|jsonl?|toml|py|example)")
_DATA = {f"{language}_{name}" for language in ("en", "zh") for name in ("refine", "int", "fact")}  # as RGB calls them


class Visible(HTMLParser):
    """The texts that a reader sees before opening what is folded at the end: how a page was made."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("style", "script", "code", "pre", "title")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("style", "script", "code", "pre", "title")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.texts.append(" ".join(data.split()))


def codes(text: str, own: set[str]) -> list[str]:
    """The names inside the program that stand anywhere in a text, options of commands and metrics left out."""
    found = _CODE.findall(_COMMAND.sub(" ", text))
    return [code for code in found if code not in own | _NAMES | _PUBLIC and not _FILE.fullmatch(code)]


def named_alone(text: str, own: set[str]) -> bool:
    """Whether a text that stands alone, as in a cell, is a name inside the program."""
    if text in own or text.partition("@")[0] in _NAMES:
        return False
    return bool(text in _WORDS | _CODES or _SNAKE.fullmatch(text) or _MADE.search(text))


def internal(page: str, own: set[str], *, made: bool = False) -> list[str]:
    """The texts of a page that are names inside the program. `own`: the user's; `made`: how it is made, too."""
    visible = Visible()
    visible.feed(page if made else page.partition('<section id="made">')[0])
    found = []
    for text in visible.texts:
        found += [text] if named_alone(text, own) else codes(text, own)
    return sorted(set(found))


ROWS = [
    {"id": f"q-{at}", "question": f"How long is leave {at}?", "answer": f"{at} days.", "reference": f"{at % 3} days",
     "contexts": [f"Leave {at} is {at % 3} days."]} for at in range(9)
]  # fmt: skip


def ask(question: str, passages: list[str] | None = None) -> str:
    return "3 days."


def made(kind: str, path: Path) -> None:
    small: dict[str, Any] = {"model": "local/extractive", "run": path}
    if kind == "eval":
        evaluate(ROWS, ["answer_match", "token_f1"], run=path)
    elif kind == "run":
        run(ROWS, ask, ["answer_match"], run=path)
    elif kind == "diagnose":
        diagnose(ROWS, ask, run=path)
    elif kind == "rgb":
        bench("rgb", limit=12, fictional_size=12, **small)
    elif kind == "mirage":
        bench("mirage", retrievers="bm25", limit=8, fictional_size=8, **small)
    else:
        bench("niah", lengths=[500, 1000], depths=[0, 100], **small)


def visited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """The viewer's pages of the runs of a folder, in both languages: the list, a run, a comparison, and a trend."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    pages: dict[tuple[str, str], str] = {}
    for language in ("en", "zh"):
        app = create_app(Library([folder], None), language=language)
        with TestClient(app, base_url="http://127.0.0.1:8720") as client:
            for address in ("/", "/run?run=a.run", "/compare?run=a.run&run=b.run", "/trend"):
                page = client.get(address)
                assert page.status_code == 200, page.text
                pages[address, language] = page.text
    return pages


def listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """The list of the cases of a run, and the page of a case of each condition that it offers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    pages: dict[tuple[str, str], str] = {}
    for language in ("en", "zh"):
        app = create_app(Library([folder], None), language=language)
        with TestClient(app, base_url="http://127.0.0.1:8720") as client:
            first = "/cases?run=a.run"
            lists = [first, *dict.fromkeys(_linked(client.get(first).text, r"/cases\?[^\"]*(?:c\.|group)[^\"]*"))]
            for address in lists:
                pages[address, language] = client.get(address).text
                for case in _linked(pages[address, language], r"/case\?[^\"]+")[:1]:
                    pages[case, language] = client.get(case).text
                    for beside in _linked(pages[case, language], r"/beside\?[^\"]+")[:1]:
                        pages[beside, language] = client.get(beside).text
    return pages


def _linked(page: str, address: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(f'href="({address})"', page)]


# The axis of a trend shortens the names of runs.
OWN = {str(row["id"]) for row in ROWS} | _DATA | {"a.run", "b.run", "a.ru", "b.ru"}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("run", "diagnose", "rgb", "mirage", "niah")]


@pytest.mark.parametrize("kind", ["eval", *SLOW])
def test_no_page_shows_a_name_of_the_program(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, own = tmp_path / "a.run", OWN | {tmp_path.name}
    made(kind, path)
    with read_run(path) as opened:
        pages = {
            language: opened.write_report(tmp_path / f"{language}.html", language=language).read_text("utf-8")
            for language in ("en", "zh")
        }
    assert {language: internal(page, own) for language, page in pages.items()} == {"en": [], "zh": []}
    shutil.copy(path, tmp_path / "b.run")
    compared = {language: internal(comparison(tmp_path, language), own) for language in ("en", "zh")}
    assert compared == {"en": [], "zh": []}
    viewed = visited(tmp_path, monkeypatch)
    assert {place: found for place, page in viewed.items() if (found := internal(page, own))} == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_page_of_labelling_shows_a_name_of_the_program(language: str, tmp_path: Path) -> None:
    app = create_app(Library([tmp_path], labels_file(tmp_path / "labels.sqlite")), language=language)
    with TestClient(app, base_url="http://127.0.0.1:8720") as client:
        pages = {address: client.get(address) for address in LABELLING}
    assert {page.status_code for page in pages.values()} == {200}
    assert all(len(page.text) > 1_000 for page in pages.values())
    found = {address: internal(page.text, OWN | {"labels.sqlite"}) for address, page in pages.items()}
    assert {address: names for address, names in found.items() if names} == {}


def kinds() -> list[str]:
    """Every kind of failure that a run file may hold: of our errors, of what a user's system does, and of an exception
    of somebody else."""
    found, classes, bases = {"error", "unstorable", "value_error"}, {"RagstoneError"}, dict[str, str]()
    for path in Path(ragstone.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        found.update(re.findall(r'SystemFailed\(\s*"(\w+)"', text))
        found.update(re.findall(r'^    kind = "(\w+)"$', text, re.MULTILINE) if path.name == "errors.py" else ())
        bases.update(re.findall(r"^class (\w+)\((\w+)\):", text, re.MULTILINE))
    del bases["ModelError"]  # its kinds have names of their own
    while more := {name for name, base in bases.items() if base in classes} - classes:
        classes |= more
    found.update(describe(type(name, (Exception,), {})()).partition(":")[0] for name in classes)
    return sorted(found)


def failing(path: Path) -> None:
    """A run in which an answer and a score have failed in every way."""
    ways = kinds()
    names = [f"q-{at}" for at in range(2 * len(ways))]
    evaluate([ROWS[1] | {"id": name, "question": f"How long is {name}?"} for name in names],
             ["answer_match", "token_f1"], run=path)  # fmt: skip
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        for at, way in enumerate(ways, 1):
            answer, scored = f"{at:06}", f"{at + len(ways):06}"
            told = f"{way}: it ended" if at % 2 else f"The embedder: {way}: it ended"
            file.execute("UPDATE records SET response = NULL, error = ? WHERE case_id = ?",
                         (json.dumps(f"{way}: it ended"), answer))  # fmt: skip
            file.execute("DELETE FROM scores WHERE case_id = ?", (answer,))
            file.execute("UPDATE scores SET status = 'failed', payload = ? WHERE case_id = ? AND metric = 'token_f1'",
                         (to_json(Score.failed(told)), scored))  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_kind_of_failure_has_words(language: str) -> None:
    known = error_texts(language)["failures"]
    named = {kind: kind_in(kind, language) for kind in kinds() if kind != "value_error"}
    assert len(named) > 30
    assert {kind: words for kind, words in named.items() if kind not in known or "_" in words} == {}
    assert known.keys() == error_texts("en")["failures"].keys()


def test_pages_and_terminal_name_failures_of_every_kind_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, own = tmp_path / "a.run", OWN | {tmp_path.name} | {f"q-{at}" for at in range(100)}
    failing(path)
    with read_run(path) as opened:
        pages = {
            language: opened.write_report(tmp_path / f"{language}.html", language=language).read_text("utf-8")
            for language in ("en", "zh")
        }
    assert {language: internal(page, own) for language, page in pages.items()} == {"en": [], "zh": []}
    for language, words in (("en", "server error"), ("zh", "服务端出错")):
        assert words in pages[language]
        assert command_line(["show", str(path), "--language", language]) == 0
        told = capsys.readouterr()
        assert len(told.err.splitlines()) >= 3
        assert codes(told.out + told.err, own) == []
    shutil.copy(path, tmp_path / "b.run")
    viewed = {place: internal(page, own) for place, page in visited(tmp_path, monkeypatch).items()}
    cases = asked_for(tmp_path, "/cases?run=a.run&status=failed", "/cases?run=a.run")
    viewed |= {place: internal(page, own, made=True) for place, page in cases.items()}
    assert {place: found for place, found in viewed.items() if found} == {}


def asked_for(folder: Path, *lists: str) -> dict[tuple[str, str], str]:
    """Lists of cases, and the page of each case on them, in both languages."""
    pages: dict[tuple[str, str], str] = {}
    for language in ("en", "zh"):
        app = create_app(Library([folder], None), language=language)
        with TestClient(app, base_url="http://127.0.0.1:8720") as client:
            for address in lists:
                pages[address, language] = client.get(address).text
                for case in _linked(pages[address, language], r"/case\?[^\"]+"):
                    pages[case, language] = client.get(case).text
    return pages


def comparison(folder: Path, language: str) -> str:
    """The page of a comparison of the runs of a folder."""
    words = ["compare", "a.run", "b.run", "--language", language, "--report", "c.html"]
    with contextlib.chdir(folder):
        assert command_line(words) == 0
    return (folder / "c.html").read_text("utf-8")


@pytest.mark.parametrize("kind", ["eval", "diagnose", *(param for param in SLOW if param.values != ("diagnose",))])
def test_no_case_shows_a_name_of_the_program(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(kind, tmp_path / "a.run")
    pages = listed(tmp_path, monkeypatch)
    assert len(pages) >= 4
    shown = {place: internal(page, OWN, made=True) for place, page in pages.items()}
    assert {place: found for place, found in shown.items() if found} == {}
