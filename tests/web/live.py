"""A viewer that a browser can open: a server in a thread, on a free port of this machine."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette

from ragstone.web.server import Connection

__all__ = ["live"]


@contextlib.contextmanager
def live(app: Starlette) -> Iterator[str]:
    """Serves an application until the block ends; gives its address."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", http=Connection, loop="asyncio", ws="none")
    server = uvicorn.Server(config)
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        app.state.stopping = asyncio.Event()
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
