"""The viewer as a server: a free port, its address, and a quiet end."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.applications import Starlette

from ragstone.errors import UsageError
from ragstone.runs import finish_on_interrupt
from ragstone.web.connections import Connection

_GRACE_SECONDS = 1  # for answers that are being sent when the server ends


@contextlib.contextmanager
def listening(host: str, port: int | None, usual: int) -> Iterator[socket.socket]:
    """A socket that listens. `port` None: the `usual` one, or a free one if that is taken. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            _bind(listener, host, port, usual)
            listener.listen(128)
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                raise UsageError(f"Port {port} of {host} is in use: name another with --port, or 0 for a free one."
                                 ) from None  # fmt: skip
            raise UsageError(f"{host}:{port if port is not None else usual} cannot be listened at ({reason}): name "
                             "another --host or --port.") from None  # fmt: skip
        listener.setblocking(False)
        yield listener


def _bind(listener: socket.socket, host: str, port: int | None, usual: int) -> None:
    try:
        listener.bind((host, usual if port is None else port))
    except OSError as error:
        if port is not None or error.errno != errno.EADDRINUSE:
            raise
        listener.bind((host, 0))


class _Server(uvicorn.Server):
    """A server that leaves signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(app: Starlette, listener: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM. `ready` is called once pages can be asked for. `app.state.stopping` is an event
    that is set when the end begins, so that streams end, too."""
    try:
        asyncio.run(_serve(app, listener, ready))
    finally:
        app.state.pending.close()
        app.state.cache.close()
        app.state.library.close()


async def _serve(app: Starlette, listener: socket.socket, ready: Callable[[], None]) -> None:
    config = uvicorn.Config(
        app, log_config=None, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS, http=Connection, loop="asyncio",
    )  # fmt: skip
    server = _Server(config)
    app.state.stopping = asyncio.Event()
    async with finish_on_interrupt() as stop:
        serving = asyncio.create_task(server.serve([listener]))
        ready()
        await stop.wait()
        app.state.stopping.set()
        server.should_exit = True
        await serving
