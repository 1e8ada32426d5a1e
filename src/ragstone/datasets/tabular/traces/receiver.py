"""Receives spans over OTLP/HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and writes them to a file.

Each request becomes one line of OTLP JSON, appended whole. A kill at any moment leaves at most one torn line, which is
ended before the next one is written; readers skip it.
"""

import asyncio
import contextlib
import errno
import hmac
import json
import os
import socket
import threading
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from ragstone.datasets.tabular.traces.protobuf import request_json
from ragstone.errors import MissingExtra, UsageError

PATH = "/v1/traces"
LARGEST_BODY = 32 * 2**20
LARGEST_REQUEST = 128 * 2**20  # bytes after decompression
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HEX = frozenset("0123456789abcdefABCDEF")


class TraceFile:
    """A file to which lines are appended. `spans` and `traces` count what was written through this object."""

    def __init__(self, path: Path) -> None:
        """Opens or creates the file, and ends a torn last line. Raises UsageError."""
        self.path, self.spans, self._traces, self._lock = path, 0, set[int](), threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
            if os.fstat(self._file).st_size:
                os.lseek(self._file, -1, os.SEEK_END)
                if os.read(self._file, 1) != b"\n":
                    os.write(self._file, b"\n")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror or error}). Name another file.") from None

    @property
    def traces(self) -> int:
        """The number of different traces among the spans."""
        return len(self._traces)

    def append(self, request: dict[str, Any]) -> int:
        """Writes a request as one line and returns the number of its spans. Raises OSError; the file is as before."""
        spans = [span for scope in _scopes(request) for span in scope["spans"]]
        if not spans:
            return 0
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            before = os.fstat(self._file).st_size
            written = os.write(self._file, line)
            if written < len(line):  # the disk is full
                os.ftruncate(self._file, before)
                raise OSError("the disk is full")
            self.spans += len(spans)
            self._traces.update(int(span["traceId"][:16], 16) for span in spans)
        return len(spans)

    def close(self) -> None:
        """Waits until everything is on the disk."""
        with contextlib.suppress(OSError):  # a pipe
            os.fsync(self._file)
        os.close(self._file)


class _Refused(Exception):
    """A request that is answered with this HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Receiver:
    """Answers OTLP/HTTP requests and appends their spans to a file. `token`: the bearer token to ask for, or ""."""

    def __init__(self, file: TraceFile, token: str = "") -> None:
        self._file, self._token = file, token

    async def handle(self, request: web.Request) -> web.Response:
        """The response to one request, in its own content type."""
        kind = request.content_type
        try:
            self._check(request)
            body = await _body(request)
            rejected = await asyncio.to_thread(self._store, kind, request.headers.get("Content-Encoding", ""), body)
        except _Refused as refused:
            return _failure(kind, refused.status, str(refused))
        except web.HTTPRequestEntityTooLarge:
            return _failure(kind, 413, f"The request has more than {LARGEST_BODY:,} bytes. Send smaller batches.")
        if rejected:
            message = "A span without a trace id of 32 and a span id of 16 hexadecimal digits is left out."
            return _success(kind, rejected, message)
        return _success(kind)

    def _check(self, request: web.Request) -> None:
        if not self._token and _host(request.headers.get("Host", "")) not in _LOOPBACK:
            raise _Refused(421, "This host name is not served: send to 127.0.0.1, or start it with --token.")
        given = request.headers.get("Authorization", "")
        if self._token and not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise _Refused(401, "The token is missing or wrong: send the header Authorization: Bearer TOKEN.")
        if request.content_type not in (_JSON, _PROTOBUF):
            raise _Refused(415, f"The content type is {request.content_type}; expected {_PROTOBUF} or {_JSON}.")

    def _store(self, kind: str, encoding: str, body: bytes) -> int:
        """Writes the spans of a request; returns how many of them are invalid."""
        content = _decompressed(body, encoding.strip().lower())
        try:
            request = _parsed_json(content) if kind == _JSON else request_json(content)
        except MissingExtra as error:
            raise _Refused(415, f"{error}, or send JSON: OTEL_EXPORTER_OTLP_PROTOCOL=http/json.") from None
        except RecursionError:
            raise _Refused(400, "The body is nested too deeply.") from None
        except ValueError as error:
            raise _Refused(400, f"The body {error}") from None
        rejected = _without_invalid(request)
        try:
            self._file.append(request)
        except OSError as error:
            raise _Refused(503, f"The spans cannot be written ({error.strerror or error}). Send them again.") from None
        return rejected


def _host(header: str) -> str:
    """The name in a Host header. A page of another site may reach this machine by a name of its own that leads here."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


@contextlib.asynccontextmanager
async def receiving(file: TraceFile, *, host: str, port: int, token: str = "") -> AsyncIterator[str]:
    """Serves until the block ends; yields the address. Raises UsageError for an address beyond this machine without a
    token, and for one that cannot be used. Requests in flight at the end are answered."""
    if host not in _LOOPBACK and not token:
        raise UsageError(f"--host {host} can be reached from other machines: add --token '$NAME', or leave --host out.")
    app = web.Application(client_max_size=LARGEST_BODY)
    app.router.add_post(PATH, Receiver(file, token).handle)
    runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=5.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise UsageError(f"--host {host} is no address of this machine. Leave it out for 127.0.0.1.") from None
            advice = "Choose another one with --port, or 0 for any free one."
            raise UsageError(f"Port {port} of {host} cannot be used ({error.strerror or error}). {advice}") from None
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        yield f"http://{shown}:{address[1]}"
    finally:
        await runner.cleanup()


async def _body(request: web.Request) -> bytes:
    try:
        return await request.read()
    except (OSError, asyncio.IncompleteReadError) as error:  # the client is gone
        raise _Refused(400, f"The body breaks off ({error}).") from None


def _decompressed(body: bytes, encoding: str) -> bytes:
    """The body without its compression, as long as it is not larger than the limit."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise _Refused(415, f"The content encoding is {encoding}; expected gzip or none.")
    content = bytearray()
    while body:
        reader = zlib.decompressobj(wbits=31)
        try:
            content += reader.decompress(body, LARGEST_REQUEST + 1 - len(content))
        except zlib.error as error:
            raise _Refused(400, f"The body is no gzip ({error}).") from None
        if len(content) > LARGEST_REQUEST:
            raise _Refused(413, f"The request has more than {LARGEST_REQUEST:,} bytes after decompression.")
        if not reader.eof:
            raise _Refused(400, "The gzip of the body breaks off.")
        body = reader.unused_data
    return bytes(content)


def _parsed_json(content: bytes) -> dict[str, Any]:
    """The OTLP request in JSON. Raises ValueError."""
    try:
        value = json.loads(content)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start + 1}).") from None
    except ValueError as error:
        raise ValueError(f"is not JSON ({error}).") from None
    if not isinstance(value, dict) or not isinstance(value.get("resourceSpans", []), list):
        raise ValueError("is no OTLP request: expected an object with a list `resourceSpans`.")
    packages = value.get("resourceSpans", [])
    if any(
        not isinstance(package, dict) or not isinstance(package.get("scopeSpans") or [], list) for package in packages
    ):
        raise ValueError("is no OTLP request: expected `resourceSpans` to hold objects with a list `scopeSpans`.")
    return value


def _scopes(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a request that have a list of spans."""
    packages = request.get("resourceSpans", ())
    found = [scope for package in packages for scope in package.get("scopeSpans") or () if isinstance(scope, dict)]
    return [scope for scope in found if isinstance(scope.get("spans"), list)]


def _without_invalid(request: dict[str, Any]) -> int:
    """Removes the spans without valid ids; returns how many."""
    removed = 0
    for scope in _scopes(request):
        valid = [span for span in scope["spans"] if _is_valid(span)]
        removed += len(scope["spans"]) - len(valid)
        scope["spans"] = valid
    return removed


def _is_valid(span: Any) -> bool:
    ids = ((span.get("traceId"), 32), (span.get("spanId"), 16)) if isinstance(span, dict) else ()
    return bool(ids) and all(isinstance(text, str) and len(text) == size and set(text) <= _HEX for text, size in ids)


def _success(kind: str, rejected: int = 0, message: str = "") -> web.Response:
    if kind == _JSON:
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
        return web.json_response(partial)
    inner = b"\x08" + _varint(rejected) + _field(2, message.encode()) if rejected else b""
    return web.Response(body=_field(1, inner) if rejected else b"", content_type=_PROTOBUF)


def _failure(kind: str, status: int, message: str) -> web.Response:
    """A google.rpc.Status with the message."""
    headers = {"Retry-After": "5"} if status == 503 else {}
    if kind == _PROTOBUF:
        return web.Response(body=_field(2, message.encode()), status=status, content_type=_PROTOBUF, headers=headers)
    return web.json_response({"message": message}, status=status, headers=headers)


def _field(number: int, content: bytes) -> bytes:
    """A field of length-delimited data in protobuf."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + _varint(rest)
