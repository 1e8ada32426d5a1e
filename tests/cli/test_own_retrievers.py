"""A retriever of the user's own on the command line and from Python: it disturbs no output; its errors are lines."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import one_line, process
from tests.servers.threaded import ThreadedServer, serving

import ragstone
from ragstone.runs import open_run
from ragstone.systems.rag import RagTarget

CODE = """
print("noise " * 1000)
def search(query, k):
    print("asked", query)
    return [{"id": "own-1", "text": "Shipping to Norway costs 12 euros.", "score": 0.5}][:k]
class Last:
    def __init__(self, pool): self.pool = list(pool)
    def __call__(self, query, k): return [passage.id for passage in self.pool[::-1]][:k]
def broken(query, k):
    raise ValueError("no such tenant")
def longest(query, texts):
    return [len(text) for text in texts]
"""
SMALL = ("--fictional-size", "2", "--data-language", "en", "--limit", "2", "--top-k", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE, "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Goods may be returned within 30 days.", "utf-8")
    (tmp_path / "q.csv").write_text("question,reference\nWhat does shipping to Norway cost?,12 euros\n", "utf-8")
    return tmp_path


def test_it_is_the_retriever_of_rag_over_documents(folder: Path) -> None:
    name = "rag(retriever=hybrid(bm25,mine.py:search), k=2)"
    ended = process("run", "q.csv", "--corpus", "docs", "--system", name, "--json", "--quiet", folder=folder)
    assert ended.code == 0, ended
    assert ended.document["scores"]["answer_match"]["mean"] == 1.0
    assert "noise" not in ended.err
    assert "asked" not in ended.err


def test_a_retriever_with_documents_of_its_own_needs_no_corpus(folder: Path) -> None:
    name = "rag(retriever=rerank(mine.py:search,mine.py:longest))"
    ended = process("run", "q.csv", "--system", name, "--json", "--quiet", folder=folder)
    assert ended.code == 0, ended
    assert ended.document["scores"]["answer_match"]["mean"] == 1.0
    one_line(
        process("run", "q.csv", "--system", "rag(retriever=hybrid(bm25,mine.py:search))", folder=folder),
        "needs documents: name a folder or file with --corpus",
    )


def test_a_token_of_an_address_is_in_no_output_and_no_file(folder: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told = self.headers["Authorization"] == "Bearer s3cret-token"
            self.send_response(200 if told else 401)
            self.end_headers()
            reply = (
                [{"id": "x", "text": "Shipping to Norway costs 12 euros."}] if self.path == "/s" else {"error": "no"}
            )
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            return

    with serving(ThreadedServer(Handler)) as address:
        headers = 'headers={"Authorization": "Bearer $APP_TOKEN"}'
        for path in ("s", "wrong"):
            ended = process(
                "run", "q.csv", "--system", f"rag(retriever=http({address}/{path},{headers}))",
                "--run", f"{path}.run", "--report", f"{path}.html", "--quiet", folder=folder, APP_TOKEN="s3cret-token",
            )  # fmt: skip
            assert ended.code == (0 if path == "s" else 3), ended
            assert "s3cret-token" not in ended.out + ended.err
    assert "APP_TOKEN" in (folder / "s.run").read_bytes().decode("latin-1")
    assert not [path for path in folder.rglob("*") if path.is_file() and b"s3cret-token" in path.read_bytes()]


def test_its_exception_is_the_error_of_the_question_with_the_user_s_line(folder: Path) -> None:
    name = "rag(retriever=mine.py:broken)"
    ended = process("run", "q.csv", "--corpus", "docs", "--system", name, "--quiet", folder=folder)
    assert ended.code == 3
    assert "mine.py:broken: ValueError: no such tenant (mine.py, line 10, in broken)" in ended.err


def test_it_is_swept_with_others(folder: Path) -> None:
    retrievers = ("--retriever", "mine.py:Last", "--retriever", "bm25", "--retriever", "hybrid(bm25,mine.py:search)")
    ended = process("bench", "mirage", *retrievers, *SMALL, "--json", "--quiet", "--run", "a.run", folder=folder)
    assert ended.code == 0, ended
    shown = json.dumps(ended.document)
    assert all(name in shown for name in ("mine.py:Last", "bm25", "hybrid(bm25,mine.py:search)"))
    broken = process("bench", "mirage", "--retriever", "mine.py:broken", *SMALL, "--quiet", folder=folder)
    one_line(broken, "mine.py:broken: ValueError: no such tenant (mine.py, line 10, in broken)", code=3)


def test_a_password_in_an_address_is_in_no_output_and_no_file(folder: Path) -> None:
    for name in ("http(http://u:hunter2@127.0.0.1:9/s)", "dense(compat/e,url=http://u:hunter2@127.0.0.1:9/v1)"):
        calls = (
            ("run", "q.csv", "--corpus", "docs", "--system", f"rag(retriever=hybrid(bm25,{name}))"),
            ("bench", "mirage", "--retriever", name, *SMALL),
        )
        for call in calls:
            ended = process(*call, "--quiet", folder=folder)
            assert ended.code == 2
            one_line(ended, "must not contain a user name or password")
            assert "hunter2" not in ended.err + ended.out
    assert not [path for path in folder.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_live_objects_are_taken_from_python(folder: Path) -> None:
    def mine(query: str, k: int) -> list[dict[str, Any]]:
        return [{"id": "own-1", "text": "Shipping to Norway costs 12 euros."}]

    target = RagTarget(folder / "docs", retriever=mine)
    result = ragstone.run(folder / "q.csv", target, metrics="answer_match", run=folder / "a.run")
    assert (result.system, result.scores[0]["answer_match"]) == (
        "rag(retriever=mine, model=local/extractive, k=5)", 1.0,
    )  # fmt: skip
    swept = ragstone.bench(
        "mirage", model="local/retrieval", retrievers=(mine, "bm25"), fictional_size=2, limit=2, ks=1,
        run=folder / "b.run",
    )  # fmt: skip
    with open_run(swept.run) as run:
        assert {record.case.condition["retriever"] for record in run.records()} == {"mine", "bm25"}
