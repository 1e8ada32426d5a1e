"""A server of the standard library, with a thread for each connection. No test of its own."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["ThreadedServer", "serving"]


class ThreadedServer(ThreadingHTTPServer):
    """On a free port of this machine."""

    daemon_threads = True
    request_queue_size = 128  # by default 5 connections wait; the next ones are dropped, and try again for minutes

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def address(self) -> str:
        """`http://HOST:PORT`."""
        return f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def serving(server: ThreadedServer) -> Iterator[str]:
    """The address of the server, which answers inside."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
