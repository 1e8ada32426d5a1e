"""The OTLP/HTTP receiver: both encodings, gzip, answers to bad requests, and a file that survives."""

import asyncio
import gzip
import json
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.datasets.tabular.traces.test_files import protobuf, request

from ragstone.datasets.tabular import read_eval_data
from ragstone.datasets.tabular.traces import receiver
from ragstone.datasets.tabular.traces.receiver import TraceFile, receiving
from ragstone.errors import UsageError

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
GZIP = {"Content-Encoding": "gzip"}


async def post(
    path: Path, *bodies: tuple[bytes, dict[str, str]], token: str = "", target: str = "/v1/traces"
) -> list[tuple[int, str, bytes]]:
    """Sends requests to a receiver that writes to this file: status, content type and body of each reply."""
    file, replies = TraceFile(path), []
    async with receiving(file, host="127.0.0.1", port=0, token=token) as address, aiohttp.ClientSession() as session:
        for body, headers in bodies:
            async with session.post(address + target, data=body, headers=headers) as reply:
                replies.append((reply.status, reply.content_type, await reply.read()))
    file.close()
    return replies


def body(*names: str) -> bytes:
    return json.dumps({"resourceSpans": [request(name)["resourceSpans"][0] for name in names]}).encode()


def found(path: Path) -> str:
    return "".join(item.sample.id[0] for item in read_eval_data(path).items)


async def test_json_and_protobuf_plain_and_compressed_become_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    c, d = protobuf("c", "d")
    replies = await post(path, (body("a"), JSON), (gzip.compress(body("b")), {**JSON, **GZIP}), (c, PROTOBUF),
                         (gzip.compress(d), {**PROTOBUF, **GZIP}))  # fmt: skip
    assert replies == [(200, JSON["Content-Type"], b"{}")] * 2 + [(200, PROTOBUF["Content-Type"], b"")] * 2
    assert len(path.read_bytes().splitlines()) == 4
    assert found(path) == "abcd"


async def test_counts_of_spans_and_traces(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "t.jsonl")
    assert file.append(json.loads(body("a", "b"))) == 2
    assert file.append(json.loads(body("a"))) == 1
    assert file.append({"resourceSpans": []}) == 0
    assert (file.spans, file.traces) == (3, 2)
    file.close()
    assert len((tmp_path / "t.jsonl").read_bytes().splitlines()) == 2  # nothing is written for nothing


@pytest.mark.parametrize(
    ("content", "headers", "status", "words"),
    [
        (b"{", JSON, 400, "is not JSON"),
        (b"[]", JSON, 400, "no OTLP request"),
        (b'{"resourceSpans": 7}', JSON, 400, "no OTLP request"),
        (b'{"resourceSpans": [7]}', JSON, 400, "a list `scopeSpans`"),
        (b'{"resourceSpans": [{"scopeSpans": 5}]}', JSON, 400, "a list `scopeSpans`"),
        (b'{"a": "\xff"}', JSON, 400, "is not UTF-8"),
        (b"[" * 200_000, JSON, 400, "nested too deeply"),
        (b"\x0a\x03\x0a\xff\xff\xff", PROTOBUF, 400, "no OTLP request in protobuf"),
        (b"no gzip", {**JSON, **GZIP}, 400, "is no gzip"),
        (gzip.compress(body("a"))[:-9], {**JSON, **GZIP}, 400, "breaks off"),
        (body("a"), {**JSON, "Content-Encoding": "br"}, 415, "gzip or none"),
        (body("a"), {"Content-Type": "text/plain"}, 415, "text/plain"),
    ],
)  # fmt: skip
async def test_a_bad_request_is_refused_with_a_reason_and_the_next_is_taken(
    tmp_path: Path, content: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    if headers is PROTOBUF:
        protobuf()
    path = tmp_path / "t.jsonl"
    bad, good = await post(path, (content, headers), (body("d"), JSON))
    assert (bad[0], words.encode() in bad[2]) == (status, True), bad
    assert bad[1] == ("application/x-protobuf" if headers is PROTOBUF else "application/json")
    assert good[0] == 200
    assert len(path.read_bytes().splitlines()) == 1


async def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "LARGEST_REQUEST", 100_000)
    bomb = gzip.compress(b" " * 100_001)
    several = gzip.compress(b" " * 60_000) * 2
    fits = gzip.compress(b" " * 50_000 + body("a"))
    replies = await post(tmp_path / "t.jsonl", *((content, {**JSON, **GZIP}) for content in (bomb, several, fits)))
    assert [reply[0] for reply in replies] == [413, 413, 200]


async def test_a_large_body_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver, "LARGEST_BODY", 10_000)
    replies = await post(tmp_path / "t.jsonl", (b" " * 10_001, JSON), (body("a"), JSON))
    assert [reply[0] for reply in replies] == [413, 200]


async def test_invalid_spans_are_rejected_in_part(tmp_path: Path) -> None:
    mixed: Any = json.loads(body("a", "b"))
    mixed["resourceSpans"][1]["scopeSpans"][0]["spans"][0]["traceId"] = "not hexadecimal"
    ((status, _, content),) = await post(tmp_path / "t.jsonl", (json.dumps(mixed).encode(), JSON))
    assert (status, json.loads(content)["partialSuccess"]["rejectedSpans"]) == (200, "1")
    assert found(tmp_path / "t.jsonl") == "a"


async def test_rejected_spans_in_protobuf_are_a_partial_success(tmp_path: Path) -> None:
    protobuf()
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

    message = service.ExportTraceServiceRequest()
    message.resource_spans.add().scope_spans.add().spans.add(name="without ids")
    ((status, _, content),) = await post(tmp_path / "t.jsonl", (message.SerializeToString(), PROTOBUF))
    partial = service.ExportTraceServiceResponse.FromString(content).partial_success
    assert (status, partial.rejected_spans) == (200, 1)
    assert "without a trace id" in partial.error_message


async def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with_token = {**JSON, "Authorization": "Bearer geheim"}
    replies = await post(
        tmp_path / "t.jsonl", (body("a"), JSON), (body("a"), {**JSON, "Authorization": "Bearer x"}),
        (body("a"), with_token), token="geheim",
    )  # fmt: skip
    assert [reply[0] for reply in replies] == [401, 401, 200]


async def test_a_name_that_leads_here_is_not_served(tmp_path: Path) -> None:
    content = body("a")
    ((status, _, _),) = await post(tmp_path / "t.jsonl", (content, JSON | {"Host": "evil.example"}))
    assert (status, (tmp_path / "t.jsonl").read_text()) == (421, "")
    for host in ("localhost:4318", "[::1]:4318"):
        ((status, _, _),) = await post(tmp_path / "t.jsonl", (content, JSON | {"Host": host}))
        assert status == 200


async def test_another_path_or_method_is_refused(tmp_path: Path) -> None:
    replies = await post(tmp_path / "t.jsonl", (body("a"), JSON), target="/v1/metrics")
    assert [reply[0] for reply in replies] == [404]


async def test_an_address_beyond_this_machine_needs_a_token_and_a_used_port_is_named(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "t.jsonl")
    with pytest.raises(UsageError, match="--token"):
        async with receiving(file, host="0.0.0.0", port=0):
            pass
    async with receiving(file, host="127.0.0.1", port=0) as address:
        with pytest.raises(UsageError, match="cannot be used"):
            async with receiving(file, host="127.0.0.1", port=int(address.rpartition(":")[2])):
                pass
    with pytest.raises(UsageError, match=r"--host nosuch\.invalid is no address of this machine"):
        async with receiving(file, host="nosuch.invalid", port=0, token="t"):
            pass
    file.close()


async def test_a_torn_last_line_is_ended_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(body("a") + b"\n" + body("b")[:60])
    await post(path, (body("c"), JSON))
    assert found(path) == "ac"


async def test_a_full_disk_leaves_no_part_of_a_line_and_asks_for_the_request_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "t.jsonl", os.write
    full = [True]

    def short(file: int, data: bytes) -> int:
        return write(file, data[:20]) if full.pop() else write(file, data)

    file = TraceFile(path)
    async with receiving(file, host="127.0.0.1", port=0) as address, aiohttp.ClientSession() as session:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", short)
            async with session.post(address + "/v1/traces", data=body("a"), headers=JSON) as reply:
                assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
        assert path.read_bytes() == b""
        async with session.post(address + "/v1/traces", data=body("b"), headers=JSON) as reply:
            assert reply.status == 200
    file.close()
    assert found(path) == "b"


async def test_requests_at_once_are_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    file = TraceFile(path)
    async with receiving(file, host="127.0.0.1", port=0) as address, aiohttp.ClientSession() as session:

        async def send(number: int) -> int:
            sent = request("a", question=f"Q{number}?" + "x" * 20_000)
            sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = f"{number:02}" * 16
            content = json.dumps(sent).encode()
            async with session.post(address + "/v1/traces", data=content, headers=JSON) as reply:
                return reply.status

        assert await asyncio.gather(*map(send, range(60))) == [200] * 60
    file.close()
    asked = sorted(item.sample.question.partition("?")[0] for item in read_eval_data(path).items)
    assert asked == sorted(f"Q{number}" for number in range(60))
    assert (file.spans, file.traces) == (60, 60)
