"""What commands print and write under `RAGSTONE_LANGUAGE=zh`: no English sentence of ragstone, whether they succeed or
fail."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told
from tests.report.test_visible_names import Visible

from ragstone.models.retry import Patience

Ragstone = Callable[..., Told]

APP = """
def ask(question, passages=None):
    return {"answer": "3 days", "contexts": ["Delivery: 3 days."]}
def broken(question):
    raise ValueError("no such tenant")
def nothing(question):
    return None
def long(question):
    return "x" * 3_000_000
def state(question):
    return {"a": "one", "b": "two"}
"""
DOCUMENTS = {"post.md": "# Post\n\nDelivery: 3 days.", "rooms.md": "# Rooms\n\nHall: 40 people."}
ROWS = [
    {"id": "a", "question": "How long does a parcel take?", "reference": "3 days", "answer": "3 days", "area": "post",
     "contexts": ["Delivery: 3 days."]},
    {"id": "b", "question": "How many people does the hall hold?", "reference": "40", "answer": "50", "area": "rooms",
     "contexts": ["Hall: 40 people."]},
    {"id": "c", "question": "Who founded the club?", "reference": "Ann Bell", "answer": "I do not know.",
     "area": "club", "contexts": ["Club: old."]},
]  # fmt: skip
NOBODY = "http://127.0.0.1:9"
# In this order: later commands read what earlier ones wrote.
COMMANDS = [
    "run q.jsonl --system app.py:ask --run ask.run --report ask.html",
    "run q.jsonl --system app.py:ask --run ask.run",
    "run q.jsonl --system app.py:broken --run broken.run --report broken.html",
    "run q.jsonl --system app.py:nothing --run nothing.run",
    "run q.jsonl --system app.py:long --run long.run",
    "run q.jsonl --system app.py:state --run state.run",
    f"run q.jsonl --system {NOBODY}/ask --run http.run",
    "run q.jsonl --system app.py:ask --limit 2 --dry-run",
    "run q.jsonl --system app.py:aks",
    "run q.jsonl --system gpt-4o",
    "run q.jsonl --system openai/gpt-4o-mini",
    "run bytes.csv --system app.py:ask",
    "run list.jsonl --system app.py:ask",
    "run torn.json --system app.py:ask",
    "run ask.run --system app.py:ask",
    "system check app.py:ask --questions q.jsonl",
    "system check app.py:broken --questions q.jsonl",
    "diagnose q.jsonl --system app.py:ask --corpus docs --run diagnosis.run --report why.html",
    "diagnose q.jsonl --system app.py:broken --run failed.run",
    "eval q.jsonl --metrics answer_match,token_f1 --run a.run --report a.html",
    "eval q.jsonl --metrics answer_match,token_f1,faithfulness --run b.run",
    "eval q.jsonl --metrics answer_match,token_f1 --map question=q",
    f"eval q.jsonl --judge compat/j --judge-base-url {NOBODY}/v1 --metrics faithfulness --run judged.run",
    "eval q.jsonl --judge opnai/j",
    "eval q.jsonl --judge scripted/none.jsonl",
    f"bench rgb --model compat/m --base-url {NOBODY}/v1 --limit 1 --fictional-size 2 --run rgb.run",
    "bench rgb --model local/extractive --limit 1 --fictional-size 2 --data-language en --run small.run",
    "bench niah --model local/extractive --lengths 100 --depths 0 --run niah.run",
    "bench niah --model local/extractive --lengths 400 --depths 0,100 --run niah.run",
    "show broken.run --all",
    "show ask.run --slices",
    "show judged.run",
    "show nothing.html",
    "report broken.run -o broken.html",
    "compare ask.run broken.run",
    "compare ask.run a.run",
    "compare ask.run diagnosis.run",
    "compare ask.run none.run",
    "trend ask.run a.run",
    "gate ask.run --fail-under answer_match=0.99",
    "gate ask.run --fail-under answer_match=0.99 --gate point",
    "gate ask.run --fail-under token_f2=0.5",
    "merge ask.run broken.run -o merged.run",
    "export ask.run --format csv -o ask.csv",
    "export ask.run --format cvs -o ask.csv",
    "data check q.jsonl",
    "data check list.jsonl",
    "metrics recal",
    "rubrics check none.toml",
    "agreement experts labels.csv --run ask.run",
    "agreement experts labels.csv --run a.run --metric token_f2",
    "build questions docs --model local/template --size 2 -o made.jsonl --run made.run",
    "trust none.toml",
    "doctor",
    "init --system app.py:ask --documents docs --questions q.jsonl --judge ''",
    "init --system app.py:ask",
]  # fmt: skip
_WORDS = re.compile(r"[A-Za-z][a-z']*(?: [a-z][a-z']*){2,}")  # three or more, the later ones in lower case
# Not ragstone's words, or what a reader types: code, options, files, addresses, names in quotes, errors of the system.
_CODE = re.compile(
    r"`[^`]*`|'[^']*'|“[^”]*”|ragstone [a-z]+( \S+)*|pip install .*|https?://\S+|\S*[/=]\S*|--\S+|\[Errno \d+\] [^:]*"
)
_OF_OTHERS = [
    "no such tenant",  # the exception of the application
    *(text for row in ROWS for text in (row["question"], row["answer"], *row["contexts"])),  # the user's data
]
_PAUSE = Patience.pause


def english(text: str) -> list[str]:
    """Runs of three English words outside of what is not ragstone's."""
    for foreign in _OF_OTHERS:
        text = text.replace(str(foreign), "")
    return [found[0] for line in text.splitlines() for found in _WORDS.finditer(_CODE.sub("", line))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    (tmp_path / "app.py").write_text(APP, "utf-8")
    (tmp_path / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / name).write_text(text, "utf-8")
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    (tmp_path / "bytes.csv").write_bytes(b"question\n\x81\x30\x81\n")
    (tmp_path / "list.jsonl").write_text("[1, 2]\n", "utf-8")
    (tmp_path / "torn.json").write_text('[{"question": "Why', "utf-8")
    (tmp_path / "labels.csv").write_text("id,expert,task,label\na,Ann,correct,1\n", "utf-8")
    return tmp_path


def test_runs_of_english_are_found() -> None:
    assert english("失败：the reply broke off") == ["the reply broke off"]
    assert english("不是 UTF-8 and not GB18030 编码") == []  # shorter ones: tests/test_errors_in_chinese.py finds them
    assert english("运行 `ragstone doctor is here now`，见 a/b c/d，--limit") == []
    assert english("抛出异常：ValueError: no such tenant (app.py, line 4, in broken)") == []


def test_commands_and_their_pages_have_no_english_sentence(
    ragstone: Ragstone, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Patience, "pause", lambda *call: 0 * _PAUSE(*call))
    found: dict[str, list[str]] = {}
    codes = set()
    for line in COMMANDS:
        told = ragstone(*(word.replace("''", "") for word in line.split()))
        codes.add(told.code)
        assert "出错（英文说明）" not in told.err, (line, told.err)
        found[line] = english(f"{told.out}\n{told.err}")
    pages = [*folder.glob("*.html")]
    for page in pages:
        visible = Visible()
        visible.feed(page.read_text("utf-8"))
        found[page.name] = english("\n".join(visible.texts))
    assert codes == {0, 1, 2, 3}
    assert len(pages) > 4
    assert {place: runs for place, runs in found.items() if runs} == {}


def test_warnings_of_caches_are_chinese(ragstone: Ragstone, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With progress and without: none is left to Python's own handler, in English."""
    (folder / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    retrieval = ("bench", "mirage", "--retriever", "bm25", "--fictional-size", "2")
    judged = ("eval", "q.jsonl", "--judge", "compat/j", "--judge-base-url", f"{NOBODY}/v1", "--metrics", "faithfulness")
    monkeypatch.setattr(Patience, "pause", lambda *call: 0 * _PAUSE(*call))
    for number, (words, said) in enumerate(
        (
            ((*retrieval, "--quiet"), "ragstone: 不使用 BM25 词缓存："),
            (retrieval, "不使用 BM25 词缓存："),
            ((*judged, "--quiet"), "ragstone: 回复缓存无法使用："),
        )
    ):
        told = ragstone(*words, "--run", f"{number}.run")
        assert [line for line in told.err.splitlines() if line.startswith(said)], told.err
        assert english(told.err) == []
