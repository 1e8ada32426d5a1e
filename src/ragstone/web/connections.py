"""Connections of the viewer: whoever sends or takes a page too slowly, or not at all, is dropped."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0  # to send a whole request
STALLED_SECONDS = 30.0  # to take the next LEAST bytes of a reply
LEAST = 32_768
MOST = 256  # connections at a time: then the one that has waited longest for its request is dropped


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
