"""Spans of a run at an OTLP endpoint: the round trip through our own receiver, and endpoints that fail."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.servers.threaded import ThreadedServer, serving

from ragstone import evaluate, evaluate_async
from ragstone.datasets.tabular import read_eval_data
from ragstone.datasets.tabular.traces.receiver import TraceFile, receiving
from ragstone.engine import otlp_export
from ragstone.engine.otlp_export import request_of
from ragstone.errors import UsageError
from ragstone.responses.stages import passages_at, stage_step
from ragstone.types import NO_ANSWER, Case, Passage, Query, Record, Response, Sample, Score, Step, Turn, Usage

PASSAGES = (Passage("ferry.md", "The ferry leaves at 8.", score=0.9), Passage("prices.md", "A ticket costs 2.40."),
            Passage("library.md", "图书馆周一闭馆。"))  # fmt: skip
RESPONSE = Response(
    "At 8.", PASSAGES[:1], usage=Usage(prompt_tokens=20, completion_tokens=3, requests=1), seconds=3.0, model="m-1",
    steps=(stage_step("fetch", PASSAGES, query="ferry", seconds=1.0), stage_step("rerank", PASSAGES[:2], seconds=0.5),
           stage_step("prompt", PASSAGES[:1])),
)  # fmt: skip


def record(response: Response | None = RESPONSE, **more: Any) -> Record:
    question = "When does the ferry leave?"
    history = (Turn("user", "Hello"), Turn("assistant", "Hi."))
    case = Case("000001", Sample("s1", question), {"topic": "town"}, Query(question, None, history))
    return Record("app", case, response, **more)


def read_back(path: Path, *records: Record) -> Any:
    path.write_text(json.dumps(request_of(records)), "utf-8")
    return read_eval_data(path).items


def test_the_spans_of_an_answer_are_read_as_that_answer(tmp_path: Path) -> None:
    scores = {"recall": Score.of(0.5), "faithfulness": Score.failed("no reply")}
    (item,) = read_back(tmp_path / "t.json", record(scores=scores))
    assert (item.sample.question, item.history) == ("When does the ferry leave?", (Turn("user", "Hello"),
                                                                                 Turn("assistant", "Hi.")))  # fmt: skip
    response = item.response
    assert (response.answer, response.usage, response.model) == ("At 8.", RESPONSE.usage, "m-1")
    assert response.seconds == pytest.approx(3.0, abs=1e-3)
    for stage in ("fetch", "rerank", "prompt"):
        read, written = passages_at(response, stage), passages_at(RESPONSE, stage)
        assert [(passage.id, passage.text, passage.score) for passage in read or ()] == [
            (passage.id, passage.text, passage.score) for passage in written or ()
        ]
    seconds = {step.name: step.seconds for step in response.steps}
    assert (seconds["fetch"], seconds["rerank"]) == (pytest.approx(1.0, abs=1e-3), pytest.approx(0.5, abs=1e-3))
    assert next(step for step in response.steps if step.name == "rewrite").output == ["ferry"]
    extra = item.extra
    assert (extra["ragstone.score.recall"], extra["ragstone.sample.id"], extra["ragstone.system"]) == (0.5, "s1", "app")
    assert extra["ragstone.condition.topic"] == "town"


def test_errors_empty_retrievals_and_searches_without_an_answer(tmp_path: Path) -> None:
    found = Response("", PASSAGES[:1], finish_reason=NO_ANSWER)
    failed, empty, search = read_back(
        tmp_path / "t.json", record(None, error="raised: KeyError: 'x'"), record(Response("No.", empty_retrieval=True)),
        record(found),
    )  # fmt: skip
    assert (failed.response, failed.error) == (None, "raised: KeyError: 'x'")
    assert (empty.response.answer, empty.response.empty_retrieval) == ("No.", True)
    assert (search.response.finish_reason, search.response.passages[0].id) == (NO_ANSWER, "ferry.md")


def test_scores_are_events_of_the_genai_conventions() -> None:
    request = request_of([record(scores={"recall": Score.of(0.5)})])
    root = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    (event,) = root["events"]
    assert event["name"] == "gen_ai.evaluation.result"
    values = {attribute["key"]: attribute["value"] for attribute in event["attributes"]}
    assert values["gen_ai.evaluation.name"] == {"stringValue": "recall"}
    assert values["gen_ai.evaluation.score.value"] == {"doubleValue": 0.5}


ROWS = [
    {"question": f"Q{number}?", "answer": f"A{number}." if number % 3 else "I do not know.", "reference": f"A{number}.",
     "contexts": [{"id": f"d{number}", "text": f"Text {number}."}, {"id": "other", "text": "Other."}],
     "reference_context_ids": [f"d{number}"] if number % 2 else ["other"]}
    for number in range(150)
]  # fmt: skip


async def test_the_received_traces_get_the_same_scores(tmp_path: Path) -> None:
    """150 answers are more than two requests."""
    file = TraceFile(tmp_path / "t.jsonl")
    async with receiving(file, host="127.0.0.1", port=0) as address:
        first = await evaluate_async(ROWS, run=tmp_path / "a.run", otlp=address)
    file.close()
    assert (file.traces, first.warnings) == (150, ())
    gold = [{key: row[key] for key in ("question", "reference", "reference_context_ids")} for row in ROWS]
    second = await evaluate_async(file.path, references=gold, run=tmp_path / "b.run")
    assert first.summary["recall"]["n"] == first.summary["exact_match"]["n"] == 150
    assert second.summary == first.summary


def test_a_dead_endpoint_is_one_note_and_takes_no_time_of_the_run(tmp_path: Path) -> None:
    plain = evaluate(ROWS, "exact_match", run=tmp_path / "a.run")
    started = time.monotonic()
    result = evaluate(
        ROWS, "exact_match", run=tmp_path / "b.run", otlp="http://user:geheim@127.0.0.1:9/otel?key=geheim"
    )
    assert time.monotonic() - started < 15
    assert result.summary == plain.summary
    (note,) = result.warnings
    assert note.startswith("The spans of 150 of 150 answers could not be sent to http://127.0.0.1:9/otel?key=*** (")
    assert "geheim" not in note
    assert b"geheim" not in (tmp_path / "b.run").read_bytes()


class _Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.seen.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def endpoint(*statuses: int) -> Iterator[Any]:
    """A server that answers with these statuses, the last one again and again."""
    server: Any = ThreadedServer(_Answering)
    server.seen, server.statuses = [], list(statuses)
    with serving(server):
        yield server


def test_a_busy_endpoint_is_asked_again_with_the_headers_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20geheim, x-project=mine")
    with endpoint(503, 200) as server:
        result = evaluate(ROWS[:3], "exact_match", run=tmp_path / "a.run", otlp=f"{server.address}/v1/traces")
    assert result.warnings == ()
    assert {path for path, _, _ in server.seen} == {"/v1/traces"}
    headers = server.seen[-1][1]
    assert (headers["Authorization"], headers["x-project"]) == ("Bearer geheim", "mine")


def test_a_refusing_endpoint_is_not_asked_for_ever(tmp_path: Path) -> None:
    with endpoint(401) as server:
        result = evaluate(ROWS, "exact_match", run=tmp_path / "a.run", otlp=server.address)
    assert len(server.seen) <= 3
    assert "150 of 150" in result.warnings[0]
    assert "HTTP 401" in result.warnings[0]


def test_an_endpoint_that_never_answers_delays_the_end_by_a_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_export, "_LAST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        result = evaluate(
            ROWS, "exact_match", run=tmp_path / "a.run", otlp=f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        assert time.monotonic() - started < 5
    assert "150 of 150" in result.warnings[0]
    assert result.outcome.done == 150


def test_what_is_no_address_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    for url in ("localhost:4318", "http://", "ftp://x/y", "http://x:99999"):
        with pytest.raises(UsageError, match="is no address"):
            evaluate(ROWS[:1], "exact_match", run=tmp_path / "a.run", otlp=url)
    assert not (tmp_path / "a.run").exists()


def test_steps_without_passages_do_no_harm(tmp_path: Path) -> None:
    response = Response("A.", steps=(Step("first token", seconds=0.1), Step("rewrite", "q", ["r"])))
    (item,) = read_back(tmp_path / "t.json", record(response))
    assert (item.response.answer, item.response.passages) == ("A.", ())
