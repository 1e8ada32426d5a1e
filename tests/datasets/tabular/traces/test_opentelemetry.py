"""Spans of OpenTelemetry with the attributes of OpenInference, in each form in which they are exported."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.datasets.tabular.samples import answer, texts

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.types import NO_ANSWER, Turn, Usage

DOCUMENTS = [
    {"document.content": "The ferry leaves at 8.", "document.id": "d1", "document.score": 0.9,
     "document.metadata": '{"source": "timetable.pdf"}'},
    {"document.content": "A ticket costs 2.40.", "document.id": "d2", "document.score": 0.4},
]  # fmt: skip
SPANS: list[dict[str, Any]] = [
    {"name": "query", "span_kind": "CHAIN", "context.trace_id": "t1", "context.span_id": "a", "parent_id": None,
     "start_time": "2025-03-04T10:00:00+00:00", "end_time": "2025-03-04T10:00:01.500000+00:00",
     "attributes.input.value": "When does the ferry leave?", "attributes.output.value": "At 8.",
     "attributes.session.id": "s1"},
    {"name": "retrieve", "span_kind": "RETRIEVER", "context.trace_id": "t1", "context.span_id": "b", "parent_id": "a",
     "start_time": "2025-03-04T10:00:00.1+00:00", "end_time": "2025-03-04T10:00:00.2+00:00",
     "attributes.input.value": "ferry", "attributes.retrieval.documents": DOCUMENTS},
    {"name": "llm", "span_kind": "LLM", "context.trace_id": "t1", "context.span_id": "c", "parent_id": "a",
     "start_time": "2025-03-04T10:00:00.3+00:00", "end_time": "2025-03-04T10:00:01.4+00:00",
     "attributes.input.value": '{"messages": []}', "attributes.output.value": "At 8.",
     "attributes.llm.model_name": "qwen-plus"},
    {"name": "query", "span_kind": "CHAIN", "context.trace_id": "t2", "context.span_id": "d", "parent_id": None,
     "start_time": "2025-03-04T11:00:00+00:00", "end_time": "2025-03-04T11:00:02+00:00",
     "attributes.input.value": "图书馆周一开放吗？", "attributes.output.value": "不开放。"},
]  # fmt: skip


def flat(span: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span of Phoenix, dotted to the end, as the SDK has them."""
    found: dict[str, Any] = {"openinference.span.kind": span["span_kind"]}
    for name, value in span.items():
        if not name.startswith("attributes."):
            continue
        short = name.removeprefix("attributes.")
        if isinstance(value, list):
            found |= {f"{short}.{place}.{key}": inner for place, one in enumerate(value) for key, inner in one.items()}
        else:
            found[short] = value
    return found


def nested(dotted: dict[str, Any]) -> dict[str, Any]:
    """Dotted names as objects in objects; numbers as places of lists."""
    root: dict[str, Any] = {}
    for name, value in dotted.items():
        *above, last = name.split(".")
        inner = root
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    documents = root.get("retrieval", {}).get("documents")
    if documents:
        root["retrieval"]["documents"] = [documents[str(place)] for place in range(len(documents))]
    return root


def sdk(span: dict[str, Any], *, deep: bool = False) -> dict[str, Any]:
    """A span as OpenTelemetry's SDK prints it."""
    attributes = flat(span)
    return {
        "name": span["name"],
        "context": {"trace_id": span["context.trace_id"], "span_id": span["context.span_id"]},
        "parent_id": span["parent_id"],
        "start_time": span["start_time"],
        "end_time": span["end_time"],
        "attributes": nested(attributes) if deep else attributes,
    }


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """Spans as OTLP sends them."""

    def typed(value: Any) -> dict[str, Any]:
        return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}

    def span_of(span: dict[str, Any]) -> dict[str, Any]:
        start = pd.Timestamp(span["start_time"]).value
        end = pd.Timestamp(span["end_time"]).value
        return {
            "traceId": span["context.trace_id"], "spanId": span["context.span_id"],
            "parentSpanId": span["parent_id"] or "", "name": span["name"],
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(end),
            "attributes": [{"key": key, "value": typed(value)} for key, value in flat(span).items()],
        }  # fmt: skip

    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(map(span_of, spans))}]}]}


def lines(values: list[Any]) -> str:
    return "\n".join(map(json.dumps, values))


FORMS = {
    "phoenix.jsonl": lines(SPANS),
    "phoenix.json": json.dumps(SPANS),
    "sdk.jsonl": lines([sdk(span) for span in SPANS]),
    "nested.jsonl": lines([sdk(span, deep=True) for span in SPANS]),
    "otlp.json": json.dumps(otlp(SPANS)),
    "otlp.jsonl": lines([otlp(SPANS[:2]), otlp(SPANS[2:])]),
    "backwards.jsonl": lines(SPANS[::-1]),
}


def assert_is_spans(data: EvalData) -> None:
    assert data.schema == "opentelemetry"
    items = sorted(data.items, key=lambda item: item.sample.id)
    assert [(item.sample.id, item.sample.question) for item in items] == [
        ("t1", "When does the ferry leave?"), ("t2", "图书馆周一开放吗？"),
    ]  # fmt: skip
    response = items[0].response
    assert response is not None
    assert response.answer == "At 8."
    assert [(one.id, one.text, one.score) for one in response.passages] == [
        ("d1", "The ferry leaves at 8.", 0.9), ("d2", "A ticket costs 2.40.", 0.4),
    ]  # fmt: skip
    assert response.passages[0].meta == {"source": "timetable.pdf"}
    extra = items[0].extra
    assert (extra["name"], extra["model"], extra["session.id"], extra["seconds"]) == ("query", "qwen-plus", "s1", 1.5)
    assert extra["start_time"] == 1741082400.0  # by which `trend --by day` splits


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_spans_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name])
    assert_is_spans(read_eval_data(tmp_path / name))


def test_spans_of_phoenix_as_a_frame_and_as_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame(SPANS)
    frame["start_time"] = pd.to_datetime(frame["start_time"], format="ISO8601")
    frame["end_time"] = pd.to_datetime(frame["end_time"], format="ISO8601")
    assert_is_spans(read_eval_data(frame))
    frame.to_parquet(tmp_path / "spans.parquet")
    assert_is_spans(read_eval_data(tmp_path / "spans.parquet"))


def test_integers_of_otlp_which_are_texts_in_json_are_numbers(tmp_path: Path) -> None:
    trace = otlp(SPANS)
    spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for attribute in spans[1]["attributes"]:
        if attribute["key"].endswith("document.score"):
            attribute["value"] = {"intValue": "-2" if ".0." in attribute["key"] else "7"}
    spans[0]["attributes"] += [
        {"key": "tag.retries", "value": {"intValue": "3"}},
        {"key": "tag.broken", "value": {"intValue": "many"}},
        {"key": "tag.many", "value": {"arrayValue": {"values": [{"intValue": "4"}]}}},
    ]
    (tmp_path / "otlp.json").write_text(json.dumps(trace))
    item = next(item for item in read_eval_data(tmp_path / "otlp.json").items if item.sample.id == "t1")
    assert item.response is not None
    assert [one.score for one in item.response.passages] == [-2.0, 7.0]
    assert (item.extra["tag.retries"], item.extra["tag.broken"]) == (3, "many")


def one(**attributes: Any) -> EvalData:
    """A trace of one span with these attributes."""
    dotted = {name.replace("__", "."): value for name, value in attributes.items()}
    return read_eval_data([{"trace_id": "t", "span_id": "s", "parent_id": None, "attributes": dotted}])


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("Plain?", "Plain?"),
        ('{"query": "In JSON?"}', "In JSON?"),
        ('{"question": "Q?", "chat_history": []}', "Q?"),
        ('{"something": "Only text?"}', "Only text?"),
        ('{"input": {"question": "Deep?"}}', "Deep?"),
        ("{not JSON?}", "{not JSON?}"),
        ('[{"role": "user", "content": "In a list?"}]', "In a list?"),
        ('{"messages": [["system", "Be brief."], ["user", "In pairs?"]]}', "In pairs?"),
        ('{"messages": [[{"type": "human", "content": "In a list in a list?"}]]}', "In a list in a list?"),
    ],
)
def test_the_question_is_found_in_what_programs_log(asked: str, question: str) -> None:
    data = one(input__value=asked, output__value='{"result": "A."}')
    assert data.items[0].sample.question == question
    assert answer(data).answer == "A."


def test_what_was_said_before_is_history() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Q?"},
    ]
    data = one(input__value=json.dumps({"messages": messages}), output__value="A.")
    assert data.items[0].history == (Turn("user", "Hi"), Turn("assistant", "Yes?"))


def test_a_reranker_has_the_last_word_and_repetitions_go() -> None:
    spans = [
        {"trace_id": "t", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A."}},
        {"trace_id": "t", "span_id": "2", "parent_id": "1", "start_time": 2,
         "attributes": {"retrieval.documents": [{"document": {"content": "b"}}, {"document": {"content": "a"}}]}},
        {"trace_id": "t", "span_id": "3", "parent_id": "1", "start_time": 1,
         "attributes": {"retrieval.documents": [{"document": {"content": "a"}}]}},
    ]  # fmt: skip
    assert texts(read_eval_data(spans)) == ["a", "b"]
    reranked = {"trace_id": "t", "span_id": "4", "parent_id": "1", "start_time": 3,
                "attributes": {"reranker.output_documents": [{"document": {"content": "b"}}]}}  # fmt: skip
    assert texts(read_eval_data([*spans, reranked])) == ["b"]


def test_a_root_that_was_asked_nothing_takes_the_question_below_it_or_is_left_out() -> None:
    spans = [
        {"trace_id": "t", "span_id": "1", "name": "POST /ask", "attributes": {"http.method": "POST"}},
        {"trace_id": "t", "span_id": "2", "parent_id": "1", "attributes": {"input.value": "Q?", "output.value": "A."}},
        {"trace_id": "u", "span_id": "3", "name": "GET /", "attributes": {"http.method": "GET"}},
    ]
    data = read_eval_data(spans)
    assert [(item.sample.id, item.sample.question) for item in data.items] == [("t", "Q?")]
    assert "1 of 2 traces were asked nothing (no input.value); left out." in data.warnings


def test_several_roots_of_one_trace_are_several_rows() -> None:
    span = {"trace_id": "t", "parent_id": "elsewhere", "attributes": {"input.value": "Q?", "output.value": "A."}}
    data = read_eval_data([{**span, "span_id": "1"}, {**span, "span_id": "2"}])
    assert [item.sample.id for item in data.items] == ["t", "t/2"]


def test_a_retriever_alone_is_scored_for_its_retrieval() -> None:
    data = one(input__value="Q?", retrieval__documents=[{"document.content": "a"}])
    assert (answer(data).finish_reason, texts(data)) == (NO_ANSWER, ["a"])


def test_a_reference_among_the_attributes_can_be_mapped() -> None:
    spans = [{"trace_id": "t", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A.",
                                                             "metadata": {"expected": "B."}}}]  # fmt: skip
    data = read_eval_data(spans, mapping={"reference": "metadata.expected"})
    assert data.items[0].sample.references == (("B.",),)


def test_of_spans_that_are_each_others_parents_the_earliest_is_the_root() -> None:
    spans = [
        {"trace_id": "t", "span_id": "1", "parent_id": "2", "start_time": 5, "attributes": {"input.value": "Q?"}},
        {"trace_id": "t", "span_id": "2", "parent_id": "1", "start_time": 4, "attributes": {"input.value": "R?"}},
        {"trace_id": "t", "span_id": "3", "parent_id": "3", "attributes": {"input.value": "S?", "output.value": "A."}},
    ]
    data = read_eval_data(spans)
    assert [item.sample.question for item in data.items] == ["S?", "R?"]
    assert data.warnings[0] == (
        "2 of 3 spans are each other's parents; the earliest of each circle is taken as its root."
    )


def test_errors_and_messages_of_phoenix_as_parquet(tmp_path: Path) -> None:
    messages = [{"message.role": "system", "message.content": "Use: The ferry leaves at 8."},
                {"message.role": "user", "message.content": "When does the ferry leave?"}]  # fmt: skip
    spans = [
        *SPANS[:2],
        {**SPANS[2], "attributes.llm.input_messages": messages, "attributes.llm.token_count.prompt": 12.0,
         "attributes.llm.token_count.completion": 3.0},
        {**SPANS[3], "attributes.output.value": None, "status_code": "ERROR", "status_message": "",
         "events": [{"name": "exception", "timestamp": "2025-03-04T11:00:01+00:00",
                     "attributes": {"exception.type": "KeyError", "exception.message": "tenant"}}]},
    ]  # fmt: skip
    frame = pd.DataFrame(spans)
    frame.to_parquet(tmp_path / "spans.parquet")
    for source in (frame, tmp_path / "spans.parquet"):
        asked, failed = sorted(read_eval_data(source).items, key=lambda item: item.sample.id)
        assert asked.response is not None
        assert [passage.id for passage in asked.response.passages] == ["d1"]
        assert asked.response.usage == Usage(prompt_tokens=12, completion_tokens=3, requests=1)
        assert (failed.response, failed.error) == (None, "KeyError: tenant")


def test_metadata_as_text_can_be_mapped_by_a_path() -> None:
    spans = [{"trace_id": "t", "span_id": "1", "attributes": {"input.value": "Q?", "output.value": "A.",
                                                             "metadata": '{"expected": "B."}'}}]  # fmt: skip
    data = read_eval_data(spans, mapping={"reference": "metadata.expected"})
    assert data.items[0].sample.references == (("B.",),)
