"""Clients that send or take too slowly are dropped; slow ones in time are served. Real sockets."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from tests.web.live import live

from ragstone.web import server

LARGE = 60_000_000
HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n"


class Large:
    """A page of 60 MB. `gone`: set when it need not be sent any more."""

    def __init__(self) -> None:
        self.gone = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(LARGE), "more_body": True})
        await send({"type": "http.response.body", "body": b""})  # waits until the page is taken
        self.gone.set()


@contextlib.contextmanager
def served(large: Large | None = None) -> Iterator[tuple[str, int]]:
    async def page(request: Request) -> Response:
        return PlainTextResponse(f"{len(await request.body())} bytes")

    app = Starlette(routes=[Route("/", page, methods=["GET", "POST"]), Route("/large", large or page)])
    with live(app) as address:
        yield "127.0.0.1", urlsplit(address).port or 0


def rest(client: socket.socket) -> bytes:
    """What the server still sends before it closes or resets the connection."""
    client.settimeout(60)
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(1 << 16):
            found += piece
    return bytes(found)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", HEAD + b"X-A: ", HEAD.replace(b"GET", b"POST") + b"Content-Length: 9\r\n\r\nabc"],
    ids=["nothing", "half a line", "half a header", "half a body"],
)
def test_a_client_that_does_not_finish_its_request_is_dropped(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)
    with served() as place, socket.create_connection(place) as client:
        client.sendall(sent)
        assert b" 200 " not in rest(client)


def test_a_second_request_that_is_not_finished_is_dropped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as place, socket.create_connection(place) as client:
        client.sendall(HEAD + b"\r\n")
        assert b" 200 " in client.recv(1 << 16)
        monkeypatch.setattr(server, "REQUEST_SECONDS", 0.05)
        client.sendall(HEAD)
        assert b" 200 " not in rest(client)


def test_a_client_that_does_not_take_its_page_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STALLED_SECONDS", 0.05)
    large = Large()
    with served(large) as place, socket.create_connection(place) as client:
        client.sendall(HEAD.replace(b"/ ", b"/large ") + b"\r\n")
        assert large.gone.wait(60)
        assert len(rest(client)) < LARGE


def test_of_many_idle_connections_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST", 2)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 600)
    with served() as place, contextlib.ExitStack() as stack:
        first, second, third, fourth = (stack.enter_context(socket.create_connection(place)) for _ in range(4))
        assert (rest(first), rest(second)) == (b"", b"")
        for client in (third, fourth):
            client.sendall(HEAD + b"Connection: close\r\n\r\n")
            assert b" 200 " in rest(client)


def test_a_client_that_is_slow_and_in_time_is_served() -> None:
    with served() as place, socket.create_connection(place) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in HEAD.replace(b"GET", b"POST") + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc":
            client.sendall(bytes([piece]))
        assert rest(client).endswith(b"3 bytes")
