"""Files of spans that are broken, mixed or binary: what can be read is read, and the rest is told in a line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.datasets.tabular.traces.protobuf import requests_in
from ragstone.errors import DataError, MissingExtra


def request(trace: str, question: str = "Q?", answer: str = "A.") -> dict[str, Any]:
    attributes = [{"key": key, "value": {"stringValue": value}}
                  for key, value in (("input.value", question), ("output.value", answer))]  # fmt: skip
    span = {"traceId": trace * 32, "spanId": trace * 16, "name": "ask", "attributes": attributes,
            "startTimeUnixNano": "1767348000000000000", "endTimeUnixNano": "1767348001500000000"}  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}


def line(trace: str, **more: str) -> bytes:
    return json.dumps(request(trace, **more)).encode() + b"\n"


def read(path: Path, content: bytes) -> EvalData:
    path.write_bytes(content)
    return read_eval_data(path)


def traces(data: EvalData) -> str:
    return "".join(item.sample.id[0] for item in data.items)


@pytest.mark.parametrize(
    ("content", "found", "warning"),
    [
        (line("a") + line("b")[:70] + b"\n" + line("c"), "ac",
         "line 2: breaks off, the rest of the JSON is missing; skipped, the other spans are read."),
        (line("a") + line("b")[:-40], "a",
         "line 2: breaks off, the rest of the JSON is missing; skipped, the other spans are read."),
        (line("a") + b"started on port 8000\n" + line("b"), "ab",
         "line 2: not JSON; expected spans as JSON objects; skipped, the other spans are read."),
        (line("a") + line("b").replace(b"Q?", b"Q\xff") + line("c"), "ac",
         "line 2: byte 234 is not UTF-8; skipped, the other spans are read."),
        (line("a") + b"\n\x00\x00\n" + line("b"), "ab",
         "line 3: not JSON; expected spans as JSON objects; skipped, the other spans are read."),
        (line("a") + b"[" * 100_000 + b"\n" + line("b"), "ab", "line 2: is nested too deeply to be read; skipped"),
        (line("a") + b"17\n[18]\n" + line("b"), "ab", "line 2: not JSON"),
        (b"[" + line("a").strip() + b",\n" + line("b").strip() + b",\n" + line("c")[:50], "ab", "line 3: breaks"),
    ],
)  # fmt: skip
def test_a_broken_part_of_a_file_costs_only_its_own_spans(
    tmp_path: Path, content: bytes, found: str, warning: str
) -> None:
    data = read(tmp_path / "traces.jsonl", content)
    assert traces(data) == found
    assert any(note.startswith(warning) for note in data.warnings), data.warnings


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(request("a"), indent=4).encode() + b"\n" + json.dumps(request("b"), indent=4).encode(),
        json.dumps([request("a"), request("b")], indent=2).encode(),
        json.dumps([request("a"), request("b")]).encode(),
        b"\xef\xbb\xbf" + line("a") + b"\r\n" + line("b"),
        line("a").strip() + b" " + line("b"),
        json.dumps({"data": [request("a"), request("b")]}).encode(),
    ],
)
def test_json_of_any_layout(tmp_path: Path, content: bytes) -> None:
    data = read(tmp_path / "spans.txt", content)
    assert (traces(data), data.warnings) == ("ab", ())


def test_a_printed_span_that_breaks_off_does_not_take_the_next_with_it(tmp_path: Path) -> None:
    printed = [json.dumps(request(name), indent=4).encode() for name in "abc"]
    data = read(tmp_path / "console.txt", printed[0] + b"\n" + printed[1][:90] + b"\n" + printed[2])
    assert traces(data) == "ac"
    assert len(data.warnings) == 1


@pytest.mark.parametrize("content", [b'{"resourceSpans": [', b'{"resourceSpans": []}', b'{"resourceSpans": 7}'])
def test_a_file_without_a_readable_span_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path / "traces.jsonl", content)
    assert str(error.value).count("\n") == 0
    assert "traces.jsonl" in str(error.value)


def test_a_folder_of_traces_is_one_source(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(line("a") + line("b")[:70])
    (folder / "b.json").write_text(json.dumps(request("c")), "utf-8")
    (folder / "notes.txt").write_text("No traces here.", "utf-8")
    data = read_eval_data(folder)
    assert (traces(data), data.name, data.schema) == ("ac", "traces", "opentelemetry")
    assert data.warnings[0].startswith("a.jsonl line 2: breaks")


def protobuf(*names: str) -> list[bytes]:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    messages = []
    for name in names:
        message = service.ExportTraceServiceRequest()
        span = message.resource_spans.add().scope_spans.add().spans.add()
        span.trace_id, span.span_id, span.name = bytes.fromhex(name * 32), bytes.fromhex(name * 16), "ask"
        span.start_time_unix_nano, span.end_time_unix_nano = 10**18, 10**18 + 15 * 10**8
        for key, value in (("input.value", "几点？"), ("output.value", "八点。")):
            span.attributes.add(key=key).value.string_value = value
        messages.append(message.SerializeToString())
    return messages


def test_protobuf_one_request_or_many_with_their_lengths(tmp_path: Path) -> None:
    (one,) = protobuf("a")
    data = read(tmp_path / "trace.pb", one)
    assert data.items[0].response is not None
    assert (data.items[0].sample.id, data.items[0].sample.question) == ("a" * 32, "几点？")
    assert (data.items[0].response.answer, data.items[0].response.seconds) == ("八点。", 1.5)
    many = b"".join(len(message).to_bytes(4, "big") + message for message in protobuf("a", "b"))
    assert traces(read(tmp_path / "many.bin", many)) == "ab"
    torn = read(tmp_path / "torn.bin", many[:-5])
    assert traces(torn) == "a"
    assert torn.warnings[0].startswith("row 2: breaks off")


def test_without_the_extra_protobuf_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf.json_format", None)
    with pytest.raises(MissingExtra, match=r"needs opentelemetry-proto.*pip install 'ragstone\[traces\]'"):
        read(tmp_path / "t.pb", b"\x0a\x04\x0a\x00\x12\x00")


def test_bytes_that_are_no_request_are_a_problem_and_no_traceback() -> None:
    protobuf()
    (problem,) = requests_in(b"\x0a\x03\x0a\xff\xff\xff", "x.pb")
    assert isinstance(problem, str)
    assert problem.startswith("is no OTLP request in protobuf")
