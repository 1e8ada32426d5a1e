"""What `--cluster` refuses before it starts anything. Real clusters: tests/cluster/test_cluster.py."""

import contextlib
import socketserver
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

from ragstone.cluster.cluster import Cluster
from ragstone.errors import UsageError

QUESTIONS = "question,reference\nWhat is number 1?,7\n"


@pytest.fixture
def questions() -> str:
    Path("q.csv").write_text(QUESTIONS)
    Path("app.py").write_text("def ask(question):\n    return '7'\n")
    return "q.csv"


def test_a_wrong_address_is_one_line(ragstone: Callable[..., Told], questions: str) -> None:
    for address in ("everywhere", "ray://", "ray://host", "http://host:1/x"):
        told = ragstone("run", questions, "--system", "app.py:ask", "--cluster", address)
        one_line(told, "expected auto, local or ray://HOST:PORT")


def test_options_of_a_cluster_need_one(ragstone: Callable[..., Told], questions: str) -> None:
    one_line(ragstone("run", questions, "--system", "app.py:ask", "--workers", "2"), "--workers needs a --cluster")
    told = ragstone("bench", "rgb", "--model", "local/extractive", "--gpus-per-worker", "1")
    one_line(told, "--gpus-per-worker needs a --cluster")


@pytest.mark.parametrize("command", ["run", "diagnose", "eval", "bench", "build"])
def test_without_ray_one_line_says_which_extra(
    ragstone: Callable[..., Told], questions: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("data.jsonl").write_text('{"question": "?", "answer": "7", "reference": "7"}\n')
    Path("doc.txt").write_text("The plum harvest began late, in the year 1999, and ended in May.\n")
    words = {
        "run": ("run", questions, "--system", "app.py:ask"),
        "diagnose": ("diagnose", questions, "--system", "app.py:ask"),
        "eval": ("eval", "data.jsonl", "--metrics", "answer_match"),
        "bench": ("bench", "rgb", "--model", "local/extractive", "--fictional-size", "2"),
        "build": ("build", "questions", "doc.txt", "-o", "out", "--model", "local/template"),
    }[command]
    told = ragstone(*words, "--quiet", "--cluster", "local")
    one_line(told, "--cluster needs ray, which is not installed. Run: pip install 'ragstone[ray]'")


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_an_address_where_something_else_answers_is_told_at_once(
    ragstone: Callable[..., Told], questions: str, reply: bytes
) -> None:
    class Other(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1000)
            self.request.sendall(reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for scheme in ("ray://", ""):
            address = f"{scheme}127.0.0.1:{server.server_address[1]}"
            told = ragstone("run", questions, "--system", "app.py:ask", "--cluster", address)
            one_line(told, f"--cluster {address}: what answers there is not Ray. Start Ray with `ray start --head`")
        server.shutdown()
    assert not list(Path().glob("*.run*"))


class _Head:
    """Ray's functions that `Cluster` begins with: the head that answers them cannot start a server so many times."""

    def __init__(self, hangs: int) -> None:
        self.hangs, self.asked = hangs, 0

    def is_initialized(self) -> bool:
        return False

    def init(self, **_options: object) -> None:
        self.asked += 1
        if self.asked <= self.hangs:
            raise ConnectionAbortedError("Initialization failure from server:\nStarting Ray client server failed.")

    def shutdown(self) -> None:
        pass


@pytest.mark.parametrize(("hangs", "asked"), [(0, 1), (1, 2), (2, 2)])
def test_a_head_that_could_not_start_a_server_for_us_is_asked_once_more(
    hangs: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.cluster.cluster.check_reachable", lambda address: None)
    head = _Head(hangs)
    refused = pytest.raises(UsageError, match=r"no connection .Initialization failure from server: Starting")
    with refused if hangs > 1 else contextlib.nullcontext(), Cluster("ray://head:10001")._connected(head):
        pass
    assert head.asked == asked
