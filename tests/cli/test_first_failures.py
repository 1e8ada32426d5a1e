"""A system that fails from the start is given up after some requests, whatever the failure, with one line that says
what to do; one that comes back is waited for. Counted in requests and in the longest pauses, not by the clock."""

import functools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told
from tests.servers.threaded import ThreadedServer, serving

from ragstone.models import endpoint
from ragstone.models.retry import Patience

Plan = Callable[[int], tuple[int, dict[str, str]]]
QUESTIONS = 60


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The longest that each pause may last; none is made."""
    found: list[float] = []

    def drawn(low: float, high: float) -> float:
        found.append(high)
        return 0.0

    async def slept(seconds: float) -> None:
        assert seconds >= 0

    monkeypatch.setattr(endpoint, "Patience", functools.partial(Patience, uniform=drawn, sleep=slept))
    return found


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    data = [{"id": f"hr-{n}", "question": f"Which day is {n}?", "reference": "Monday"} for n in range(QUESTIONS)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in data))
    return path


class Counted:
    """A server that answers its requests, which it counts from 1, as a plan says."""

    def __init__(self, plan: Plan) -> None:
        self.seen, lock = 0, threading.Lock()
        counted = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    counted.seen += 1
                    status, headers = plan(counted.seen)
                body = json.dumps({"answer": "Monday"} if status == 200 else {"error": "out of order"}).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadedServer(Handler)


def run(ragstone: Callable[..., Told], rows: Path, address: str, concurrency: int, *more: object) -> Told:
    return ragstone(
        "run", rows.name, "--system", address, "--body", '{"question": "{question}"}', "--run", "a.run",
        "--concurrency", concurrency, "--quiet", *more,
    )  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 16])
@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_that_always_fails_is_given_up_soon_with_the_next_step(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float], status: int, concurrency: int
) -> None:
    server = Counted(lambda _: (status, {}))
    with serving(server.server) as address:
        told = run(ragstone, rows, f"{address}/ask", concurrency)
    assert told.code == 3, told.err  # nothing of the input is wrong
    assert 10 <= server.seen <= 30 + concurrency
    if concurrency == 1:
        assert server.seen == 18  # ten with their repetitions, and the other eight questions of the first ten
        assert sum(pauses) <= 9.0
    (line,) = [line for line in told.err.splitlines() if "no more are" in line]
    assert ("too many requests" if status == 429 else f"{status} (") in line
    assert told.err.count("out of order") == 1  # not in a line of its own, too
    assert '({"error": "out of order"' in line
    assert "then run the same command again to resume" in line


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_server_that_drops_every_connection_is_given_up_as_one_that_is_there(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float], reply: bytes, concurrency: int
) -> None:
    """It was said to have refused ten requests, when it had dropped many more."""
    seen: list[int] = []

    class Dropping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(1)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.wfile.write(reply)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with serving(ThreadedServer(Dropping)) as address:
        told = run(ragstone, rows, f"{address}/ask", concurrency)
    assert told.code == 3, told.err
    assert 10 <= len(seen) <= 30 + concurrency
    (line,) = [line for line in told.err.splitlines() if "no more are" in line]
    assert "the first 10 questions all failed" in line
    assert "no connection" not in line
    assert ("the reply broke off" if reply else "the connection ended before a reply came") in line


def test_a_server_that_says_when_it_is_back_is_waited_for(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float]
) -> None:
    """More refusals than are counted of one that says nothing: 3 in 4 requests of each of the first questions."""
    server = Counted(lambda n: (503, {"Retry-After": "0"}) if n % 4 and n < 40 else (200, {}))
    with serving(server.server) as address:
        told = run(ragstone, rows, f"{address}/ask", 1)
    assert told.code == 0, told.err
    assert server.seen == QUESTIONS + 30


def test_a_server_that_fails_a_few_times_at_first_is_asked_all(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float]
) -> None:
    server = Counted(lambda n: (503, {}) if n <= 9 else (200, {}))
    with serving(server.server) as address:
        told = run(ragstone, rows, f"{address}/ask", 1)
        assert (told.code, server.seen) == (3, 9 + QUESTIONS - 1), told.err  # the first question failed six times
        assert run(ragstone, rows, f"{address}/ask", 1).code == 0


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine without names; the names that were looked up."""
    found: list[str] = []
    real = socket.getaddrinfo

    def unknown(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if name.endswith("example"):
            found.append(name)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    return found


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_name_that_nobody_knows_ends_it(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float], lookups: list[str], concurrency: int
) -> None:
    told = run(ragstone, rows, "http://rag.example/ask", concurrency)
    assert told.code == 2, told.err
    assert "its name cannot be looked up" in told.err
    assert 1 <= len(lookups) <= 10 + concurrency
    assert sum(pauses) <= 9.0


@pytest.fixture
def connections() -> Iterator[tuple[int, list[int]]]:
    """The port of a server that speaks no TLS, and its connections so far."""
    count: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                count.append(1)
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], count
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_server_without_tls_at_an_https_address_ends_it(
    ragstone: Callable[..., Told], rows: Path, pauses: list[float], connections: tuple[int, list[int]], concurrency: int
) -> None:
    port, count = connections
    told = run(ragstone, rows, f"https://127.0.0.1:{port}/ask", concurrency)
    assert told.code == 2, told.err
    assert "Check that it runs at this address" in told.err
    assert 1 <= len(count) <= 11 + concurrency  # one to see whether somebody listens
    assert sum(pauses) <= 9.0
