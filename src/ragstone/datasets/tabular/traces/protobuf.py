"""OTLP requests in protobuf, as the JSON of the same request. Needs the extra `traces`."""

import base64
import importlib.util
from collections.abc import Iterator
from typing import Any

from ragstone.errors import DataError
from ragstone.optional import load

_IDS = ("traceId", "spanId", "parentSpanId")
_MESSAGE = 0x0A  # the tag of the first field, of length-delimited data: ResourceSpans
_INNER = (0x0A, 0x12)  # the tags that a ResourceSpans begins with
_PREFIX = 4  # bytes of the length before each request in a file of the OpenTelemetry Collector


def is_protobuf(head: bytes) -> bool:
    """Whether a file with these first bytes has OTLP requests in protobuf, with or without a length before each."""
    return _is_request(head) or (head[:1] == b"\x00" and _is_request(head[_PREFIX:]))


def requests_in(data: bytes, source: str) -> Iterator[dict[str, Any] | str]:
    """The requests in a file as JSON, or the problem of one. Raises MissingExtra; DataError if there is none."""
    if _is_request(data):
        yield _read(data)
        return
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + _PREFIX], "big")
        at += _PREFIX
        if size == 0 or at + size > len(data):
            yield "breaks off; the rest of the file is missing."
            return
        yield _read(data[at : at + size])
        at += size
    if at == 0:
        raise DataError(source, "is empty.", advice="Name a file with rows.")


def request_json(data: bytes) -> dict[str, Any]:
    """The JSON of an OTLP request. Raises ValueError if it is none, MissingExtra."""
    json_format, service = (
        load(module, extra="traces", purpose="Reading OTLP in protobuf", package="opentelemetry-proto")
        for module in ("google.protobuf.json_format", "opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    )
    try:
        message = service.ExportTraceServiceRequest.FromString(data)
        request: dict[str, Any] = json_format.MessageToDict(message)
    except Exception as error:  # DecodeError, and texts that are not UTF-8
        raise ValueError(f"is no OTLP request in protobuf ({' '.join(str(error).split())[:120]}).") from None
    _with_hex_ids(request)
    return request


def has_protobuf() -> bool:
    """Whether the extra `traces` is installed."""
    try:
        return importlib.util.find_spec("opentelemetry.proto.collector") is not None
    except ModuleNotFoundError:
        return False


def _read(data: bytes) -> dict[str, Any] | str:
    try:
        return request_json(data)
    except ValueError as error:
        return str(error)


def _is_request(head: bytes) -> bool:
    """Whether bytes begin with a ResourceSpans: its tag, its length, and the tag of what it begins with."""
    if head[:1] != bytes([_MESSAGE]):
        return False
    at = 1
    while at < len(head) and head[at] >= 0x80 and at < 6:
        at += 1
    return at + 1 < len(head) and head[at + 1] in _INNER


def _with_hex_ids(request: dict[str, Any]) -> None:
    """OTLP writes the ids of spans in hexadecimal, where protobuf's JSON has base64."""
    for package in request.get("resourceSpans", ()):
        for scope in package.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                for link in (span, *span.get("links", ())):
                    for name in _IDS:
                        if name in link:
                            link[name] = base64.b64decode(link[name]).hex()
