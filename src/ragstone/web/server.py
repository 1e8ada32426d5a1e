"""The viewer as a server: a free port, its address, and a quiet end. Connections are dropped whose other side sends or
takes a page too slowly, or not at all."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable, Iterator

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragstone.errors import UsageError
from ragstone.runs import finish_on_interrupt

_GRACE_SECONDS = 1  # for answers that are being sent when the server ends
REQUEST_SECONDS = 20.0  # to send a whole request
STALLED_SECONDS = 30.0  # to take the next LEAST bytes of a reply
LEAST = 32_768
MOST = 256  # connections at a time: then the one that has waited longest for its request is dropped


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


class Connection(H11Protocol):
    """A connection whose other end has limited time."""

    _request: asyncio.TimerHandle | None = None  # runs while a request is incomplete; the earliest was begun first
    _stalled: asyncio.TimerHandle | None = None  # runs while a reply waits for the client

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._request = self.loop.call_later(REQUEST_SECONDS, transport.abort)
        others = [
            other for other in self.connections if isinstance(other, Connection) and not other.transport.is_closing()
        ]
        if len(others) > MOST and (waiting := [other for other in others if other._request is not None]):
            min(waiting, key=lambda other: other._request.when() if other._request else 0.0).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_complete = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if is_complete and self._request is not None:
            self._request.cancel()
            self._request = None
        elif not is_complete and self._request is None:
            self._request = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _watch(self, before: int | None = None) -> None:
        """Drops a client that has taken less than LEAST bytes since this was last called."""
        size = self.transport.get_write_buffer_size()
        if before is not None and size > before - LEAST:
            self.transport.abort()
        else:
            self._stalled = self.loop.call_later(STALLED_SECONDS, self._watch, size)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(STALLED_SECONDS, self.transport.abort)  # for what is not taken

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._request, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
