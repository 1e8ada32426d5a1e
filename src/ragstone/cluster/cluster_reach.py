"""Whether a Ray cluster can be reached: that Ray answers there, that it takes our token, and that it goes on answering.

Ray itself tries for half a minute and longer, and does not say why."""

import asyncio
import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ragstone.errors import Unfinished, UsageError

T = TypeVar("T")

REACH_SECONDS = 10.0
# Between two looks at the head, how long one waits, and how many in a row find nobody before it is gone.
PAUSE_SECONDS, LOOK_SECONDS, LOOKS = 1.0, 3.5, 3
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of HTTP/2, which Ray speaks, begins: the preface and empty settings. The server's settings follow."""
# A call that each kind of port knows: that of `ray://`, and that of the head itself.
_CALLS = {True: "/ray.rpc.RayletDriver/ClusterInfo", False: "/ray.rpc.NodeInfoGcsService/GetClusterId"}


def check_reachable(address: str) -> None:
    """UsageError if nothing listens there, something else than Ray, or one that does not take our token."""
    place = place_of(address)
    if place is None:
        return
    try:
        with socket.create_connection(place, timeout=REACH_SECONDS) as connection:
            is_ray = os.environ.get("RAY_USE_TLS") == "1" or _speaks_http2(connection)
    except OSError as error:
        raise UsageError(
            f"--cluster {address}: nothing answers there ({error}). Start Ray with `ray start --head`, or use "
            "--cluster local."
        ) from error
    if not is_ray:
        raise UsageError(
            f"--cluster {address}: what answers there is not Ray. Start Ray with `ray start --head`, or use --cluster "
            "local."
        )
    token = _token()
    if _is_refused(address, place, token):
        problem = "wants another token" if token else "wants a token"
        raise UsageError(
            f"--cluster {address}: the cluster {problem}. Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token of "
            "its head, then run this again."
        )


def place_of(address: str) -> tuple[str, int] | None:
    """Host and port of an address; None if it has none."""
    place = address
    if address == "auto":
        with contextlib.suppress(OSError, ValueError):  # where Ray notes the cluster that was started last
            place = (Path(tempfile.gettempdir()) / "ray" / "ray_current_cluster").read_text(encoding="ascii").strip()
        place = os.environ.get("RAY_ADDRESS") or place
    host, colon, port = place.removeprefix("ray://").rpartition(":")
    return (host.strip("[]"), int(port)) if colon and port.isdecimal() else None


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other side answers as HTTP/2 begins: with a frame (length, type, …) of type 4, its settings."""
    try:
        connection.sendall(_HELLO)
        return connection.recv(4)[3:] == b"\x04"
    except OSError:
        return False


def _token() -> str:
    """The token that Ray would show; "" if it shows none."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        return ""
    if token := os.environ.get("RAY_AUTH_TOKEN"):
        return token
    file = os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    with contextlib.suppress(OSError, ValueError):
        return Path(file).read_text(encoding="utf-8").strip()
    return ""


def _is_refused(address: str, place: tuple[str, int], token: str) -> bool:
    """Whether the cluster refuses whoever shows this token. Where that cannot be asked, Ray will say."""
    try:
        grpc: Any = import_module("grpc")  # Ray's own
    except ImportError:
        return False
    client = address.startswith("ray://") or os.environ.get("RAY_ADDRESS", "").startswith("ray://")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    host, port = place
    with grpc.insecure_channel(f"[{host}]:{port}" if ":" in host else f"{host}:{port}") as channel:
        try:
            channel.unary_unary(_CALLS[client])(b"", timeout=REACH_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            return bool(error.code() is grpc.StatusCode.UNAUTHENTICATED)
    return False


class Watch:
    """Looks at the head of a cluster while a command runs: one that died leaves Ray waiting for minutes."""

    def __init__(self, address: str, place: tuple[str, int] | None, ask: Callable[[], object] = lambda: None) -> None:
        """`ask`: something that only the head knows; behind `ray://` its address outlives it."""
        self._address, self._place, self._ask = address, place, ask
        self._lost = asyncio.Event()
        self._watching = asyncio.ensure_future(self._watch())

    @property
    def lost(self) -> bool:
        """Whether the head is gone."""
        return self._lost.is_set()

    async def _watch(self) -> None:
        missed = 0
        while self._place is not None and missed < LOOKS:
            await asyncio.sleep(PAUSE_SECONDS)
            missed = 0 if await _in_time(self._look) else missed + 1
        if self._place is not None:
            self._lost.set()

    def _look(self) -> None:
        assert self._place is not None
        socket.create_connection(self._place, timeout=LOOK_SECONDS).close()
        self._ask()

    async def value(self, call: Awaitable[T]) -> T:
        """What the call returns. Unfinished if the head is gone before."""
        asked, lost = asyncio.ensure_future(call), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not self.lost:
                return await asked
        finally:
            lost.cancel()
            asked.cancel()
        raise Unfinished(
            f"--cluster {self._address}: its head does not answer any more. What came home is kept: run the same "
            "command again when the cluster is back, and it asks for the rest."
        )

    def end(self) -> None:
        """Looks no more."""
        self._watching.cancel()


async def _in_time(look: Callable[[], None]) -> bool:
    """Whether this ends without an error within `LOOK_SECONDS`. It may go on in its thread, which nobody waits for."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    seen = list[bool]()

    def work() -> None:
        with contextlib.suppress(Exception):
            look()
            seen.append(True)
        with contextlib.suppress(RuntimeError):  # the command has ended
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=work, daemon=True).start()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ended.wait(), LOOK_SECONDS)
    return bool(seen)


def head_of(ray: Any, address: str) -> tuple[str, int] | None:
    """Where the head of the connected cluster answers this machine; None if Ray does not say."""
    if address.startswith("ray://"):
        return place_of(address)
    try:
        inside = not ray.util.client.ray.is_connected()
        return place_of(str(ray.get_runtime_context().gcs_address)) if inside else None
    except (AttributeError, RuntimeError):
        return None
