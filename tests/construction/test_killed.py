"""Constructions that are killed go on where they were: a real process, SIGKILL in each pass and twice in one of them, a
model behind HTTP that counts what it is asked."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.cli.tools import command, environment
from tests.construction.test_mirage import dump, popqa, supporting
from tests.construction.test_questions import documents
from tests.construction.test_rgb import CHINESE, articles
from tests.servers.threaded import ThreadedServer, serving
from tests.waiting import until_elsewhere

from ragstone.construction.builders.template_model import TemplateModel
from ragstone.runs import open_run
from ragstone.types import Request, Turn

__all__ = ["dump", "popqa"]

Rule = Callable[[Mapping[str, Any], Any], Any]

pytestmark = [
    pytest.mark.slow, pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here"),
]  # fmt: skip


class CountingModel:
    """`local/template` behind HTTP, some of its replies changed by rules. After `left` answers it keeps all requests
    waiting and sets `holding`, so that its client can be killed."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules, self.template = rules, TemplateModel()
        self.answered = list[str]()
        self.left: int | None = None
        self.connections = 0
        self.lock, self.holding, self.killed = threading.Lock(), threading.Event(), threading.Event()

    def reply(self, body: Any) -> str | None:
        """The reply to a request, None for one that is not answered."""
        with self.lock:
            killed = self.killed
            if held := self.left == 0:
                self.holding.set()
            else:
                self.answered.append(json.dumps(body, sort_keys=True))
                self.left = None if self.left is None else self.left - 1
        if held:
            killed.wait()
            return None
        step = body["response_format"]["json_schema"]["name"]
        turns = tuple(Turn(turn["role"], turn["content"]) for turn in body["messages"])
        coroutine = self.template.generate(Request(turns, schema_name=step))
        with pytest.raises(StopIteration) as done:  # it waits for nothing
            coroutine.send(None)
        shown, reply = json.loads(turns[-1].content), json.loads(done.value.value.text)
        return json.dumps(self.rules[step](shown, reply) if step in self.rules else reply)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[tuple[CountingModel, str]]:
    """The model with the rules of the test, and its address."""
    counting = CountingModel(request.param)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            text = counting.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if text is None:
                self.close_connection = True
                return
            message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            data = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                               "choices": [message], "usage": usage}).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with serving(Watched(Handler, counting)) as address:
        yield counting, f"{address}/v1"


class Watched(ThreadedServer):
    """Counts the connections of the model that it has taken and not closed."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], counting: CountingModel) -> None:
        super().__init__(handler)
        self.counting = counting

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.counting.lock:
            self.counting.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self.counting.lock:
            self.counting.connections -= 1


def all_gone(counting: CountingModel, address: str) -> None:
    """Waits until the model has read whatever a killed client sent to it: connections are taken in their order, so that
    those of the client came before this one."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as last:
        last.sendall(b"OPTIONS / HTTP/1.0\r\n\r\n")
        while last.recv(4096):
            pass
    until_elsewhere(lambda: counting.connections == 0)


def recorded(path: Path) -> int:
    """How many replies a run file has."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM records").fetchone()[0])
    except sqlite3.Error:
        return 0


def killed_and_whole(
    model: tuple[CountingModel, str], folder: Path, arguments: Sequence[object], passes: Sequence[str]
) -> None:
    """Builds once to the end, and once with a kill in each pass and two in the longest; then compares the two."""
    counting, address = model
    words = ("build", *arguments, "--model", "compat/m", "--base-url", address, "--no-cache", "--concurrency", "3",
             "--quiet", "--json")  # fmt: skip
    run = folder / "killed" / "build.run"

    def start(output: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            command(*words, "-o", output), cwd=folder, env=environment(folder, COMPAT_API_KEY="k"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    whole = start("whole")
    _, errors = whole.communicate()
    assert whole.returncode == 0, errors.decode()
    with open_run(folder / "whole" / "build.run") as opened:
        counts = Counter(str(record.case.condition["pass"]) for record in opened.records())
    assert list(dict.fromkeys(passes)) == [name for name in passes if counts[name]]
    once, counting.answered = sorted(counting.answered), []
    for answers in _points([counts[name] for name in passes]):
        counting.left = answers - len(counting.answered)
        process = start("killed")
        until_elsewhere(lambda: counting.holding.is_set() or process.poll() is not None)  # noqa: B023
        until_elsewhere(lambda: recorded(run) == len(counting.answered) or process.poll() is not None)  # noqa: B023
        assert process.poll() is None, process.communicate()[1].decode()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        counting.killed.set()
        all_gone(counting, address)
        counting.holding, counting.killed = threading.Event(), threading.Event()
    counting.left = None
    last = start("killed")
    _, errors = last.communicate()
    assert last.returncode == 0, errors.decode()
    assert sorted(counting.answered) == once
    assert max(Counter(once).values()) <= 2  # two repeats of the reader are one request each
    assert contents(folder / "killed") == contents(folder / "whole")
    assert answers_of(run) == answers_of(folder / "whole" / "build.run")


def _points(counts: Sequence[int]) -> list[int]:
    """After how many answers the process is killed: at the middle of each pass, and once more in the longest one."""
    points = [sum(counts[:place]) + count // 2 for place, count in enumerate(counts)]
    longest = max(range(len(counts)), key=lambda place: counts[place])
    return sorted({*points, points[longest] + 1})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix not in (".run", ".sqlite")}


def answers_of(path: Path) -> dict[str, str]:
    with open_run(path) as run:
        return {record.case.id: record.response.answer for record in run.records() if record.response is not None}


def losing(shown: Mapping[str, Any], reply: Any) -> Any:
    """A reader that finds only heights that end in 1, 3 or 5, so that further rounds are needed."""
    lost = any(f"{digit} metres" in text for digit in "0246789" for text in shown["passages"].values())
    return {"answer": "", "found": False} if lost else reply


@pytest.mark.parametrize("model", [{"read": losing}], indirect=True)
def test_build_questions_killed_in_each_pass_asks_nothing_twice(
    model: tuple[CountingModel, str], tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for passage in documents(16):
        (folder / f"{passage.meta['document']}.md").write_text(f"# {passage.title}\n\n{passage.text}", "utf-8")
    killed_and_whole(
        model, tmp_path, ("questions", folder, "--size", 4, "--type", "single=1"),
        ["facts", "question", "elsewhere", "gold", "closed_book", "without_evidence", "paraphrase", "paraphrased"],
    )  # fmt: skip
    rejected = (tmp_path / "whole" / "rejected.jsonl").read_text("utf-8")
    assert rejected.count('"not_answerable_from_gold"') > 3  # more than the first round can lose: 4 of 7


@pytest.mark.parametrize("model", [{"read": CHINESE.knowing}], indirect=True)
def test_build_rgb_killed_in_each_pass_asks_nothing_twice(model: tuple[CountingModel, str], tmp_path: Path) -> None:
    killed_and_whole(
        model, tmp_path, ("rgb", articles(tmp_path, CHINESE), "--retriever", "bm25"),
        ["event", "check", "label", "join", "together", "known", "fake", "replaced"],
    )  # fmt: skip


@pytest.mark.parametrize("model", [{"answering": supporting}], indirect=True)
def test_build_mirage_killed_in_each_pass_asks_nothing_twice(
    model: tuple[CountingModel, str], dump: Path, popqa: Path, tmp_path: Path
) -> None:
    killed_and_whole(model, tmp_path, ("mirage", popqa, "--dump", dump), ["support", "inference"])
