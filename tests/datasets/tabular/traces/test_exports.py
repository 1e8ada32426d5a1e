"""Exports of LangSmith and Langfuse: JSON, JSON lines and CSV, flat and nested."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.responses.stages import passages_at
from ragstone.types import Turn, Usage


def message(kind: str, content: str) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind],
            "kwargs": {"content": content, "type": "human"}}  # fmt: skip


RUNS: list[dict[str, Any]] = [
    {"id": "r1", "trace_id": "r1", "parent_run_id": None, "name": "chain", "run_type": "chain",
     "start_time": "2026-01-02T10:00:00", "end_time": "2026-01-02T10:00:04", "error": None,
     "inputs": {"question": "When does the ferry leave?"}, "outputs": {"answer": "At 8."},
     "extra": {"metadata": {"thread_id": "th1", "tenant": "north"}}, "session_id": "the-project"},
    {"id": "r2", "trace_id": "r1", "parent_run_id": "r1", "name": "VectorStoreRetriever", "run_type": "retriever",
     "start_time": "2026-01-02T10:00:01", "end_time": "2026-01-02T10:00:02", "inputs": {"query": "ferry"},
     "outputs": {"documents": [
         {"page_content": "The ferry leaves at 8.", "metadata": {"source": "ferry.md"}, "type": "Document"},
         {"page_content": "A ticket costs 2.40.", "metadata": {"source": "prices.md"}, "type": "Document"}]}},
    {"id": "r3", "trace_id": "r1", "parent_run_id": "r1", "name": "ChatModel", "run_type": "llm",
     "start_time": "2026-01-02T10:00:02", "end_time": "2026-01-02T10:00:04",
     "first_token_time": "2026-01-02T10:00:02.500", "prompt_tokens": 20, "completion_tokens": 3,
     "inputs": {"messages": [[message("SystemMessage", "Be brief."),
                              message("HumanMessage", "The ferry leaves at 8.\n\nWhen does the ferry leave?")]]},
     "outputs": {"generations": [[{"text": "At 8."}]]}, "extra": {"metadata": {"ls_model_name": "m-1"}}},
    {"id": "r4", "trace_id": "r4", "parent_run_id": None, "name": "chain", "run_type": "chain",
     "start_time": "2026-01-02T10:01:00", "end_time": "2026-01-02T10:01:01",
     "error": "KeyError('tenant')Traceback (most recent call last):\n …",
     "inputs": {"question": "图书馆周一开放吗？"}, "outputs": None, "extra": {"metadata": {"thread_id": "th1"}}},
]  # fmt: skip
OBSERVATIONS: list[dict[str, Any]] = [
    {"id": "o1", "traceId": "t1", "parentObservationId": None, "type": "SPAN", "name": "ask",
     "startTime": "2026-01-02T10:00:00.000Z", "endTime": "2026-01-02T10:00:04.000Z", "level": "DEFAULT",
     "input": "When does the ferry leave?", "output": "At 8.", "metadata": {"tenant": "north"}},
    {"id": "o2", "traceId": "t1", "parentObservationId": "o1", "type": "RETRIEVER", "name": "search",
     "startTime": "2026-01-02T10:00:01.000Z", "endTime": "2026-01-02T10:00:02.000Z", "level": "DEFAULT",
     "input": {"query": "ferry"},
     "output": [{"id": "ferry.md", "text": "The ferry leaves at 8."},
                {"id": "prices.md", "text": "A ticket costs 2.40."}]},
    {"id": "o3", "traceId": "t1", "parentObservationId": "o1", "type": "GENERATION", "name": "llm", "model": "m-1",
     "startTime": "2026-01-02T10:00:02.000Z", "endTime": "2026-01-02T10:00:04.000Z", "level": "DEFAULT",
     "completionStartTime": "2026-01-02T10:00:02.500Z", "usageDetails": {"input": 20, "output": 3, "total": 23},
     "input": [{"role": "user", "content": "The ferry leaves at 8.\n\nWhen does the ferry leave?"}], "output": "At 8."},
    {"id": "o4", "traceId": "t2", "parentObservationId": None, "type": "SPAN", "name": "ask",
     "startTime": "2026-01-02T10:01:00.000Z", "endTime": "2026-01-02T10:01:01.000Z", "level": "ERROR",
     "statusMessage": "KeyError('tenant')", "input": "图书馆周一开放吗？", "output": None, "metadata": {}},
]  # fmt: skip


def snake(record: dict[str, Any]) -> dict[str, Any]:
    return {"".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): value
            for name, value in record.items()}  # fmt: skip


def nested_runs() -> list[dict[str, Any]]:
    inner = [
        {key: value for key, value in run.items() if key not in ("trace_id", "parent_run_id")} for run in RUNS[1:3]
    ]
    return [{**RUNS[0], "child_runs": inner}, RUNS[3]]


def dotted_runs() -> list[dict[str, Any]]:
    """Runs that tell their parents only by `dotted_order`."""
    stamp = "20260102T100000000000Z"
    rest = [{key: value for key, value in run.items() if key != "parent_run_id"} for run in RUNS]
    orders = (f"{stamp}r1", f"{stamp}r1.{stamp}r2", f"{stamp}r1.{stamp}r3", f"{stamp}r4")
    return [{**run, "dotted_order": order} for run, order in zip(rest, orders, strict=True)]


def traces() -> list[dict[str, Any]]:
    """Langfuse's traces with their observations."""
    roots = [observation for observation in OBSERVATIONS if observation["parentObservationId"] is None]
    return [
        {"id": root["traceId"], "timestamp": root["startTime"], "name": "ask", "sessionId": "th1",
         "userId": "u1", "release": "7", "environment": "production", "public": False,
         "input": root["input"], "output": root["output"], "metadata": root["metadata"],
         "observations": [item for item in OBSERVATIONS if item["traceId"] == root["traceId"]]}
        for root in roots
    ]  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows if "wrapped" not in path.name else {"data": rows, "meta": {}}), "utf-8")
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, names)
            table.writeheader()
            for row in rows:
                table.writerow({name: json.dumps(value) if isinstance(value, dict | list) else value
                                for name, value in row.items()})  # fmt: skip
    return path


EXPORTS = {
    "runs.jsonl": RUNS, "runs.json": RUNS, "runs.csv": RUNS,
    "nested.jsonl": nested_runs(), "dotted.json": dotted_runs(),
    "observations.jsonl": OBSERVATIONS, "observations-wrapped.json": OBSERVATIONS, "observations.csv": OBSERVATIONS,
    "snake.jsonl": [snake(row) for row in OBSERVATIONS], "traces.json": traces(), "traces.jsonl": traces(),
}  # fmt: skip


def checked(data: EvalData) -> EvalData:
    first, second = data.items
    assert first.response is not None
    assert (first.sample.question, first.response.answer) == ("When does the ferry leave?", "At 8.")
    fetched = passages_at(first.response, "fetch") or ()
    assert [passage.id for passage in fetched] == ["ferry.md", "prices.md"]
    assert [(passage.id, passage.text) for passage in first.response.passages] == [
        ("ferry.md", "The ferry leaves at 8.")
    ]
    assert first.response.usage == Usage(prompt_tokens=20, completion_tokens=3, requests=1)
    assert first.response.model == "m-1"
    seconds = {step.name: step.seconds for step in first.response.steps}
    assert (seconds["fetch"], seconds["generate"], seconds["first token"]) == (1.0, 2.0, 2.5)
    assert (second.sample.question, second.response, second.error) == ("图书馆周一开放吗？", None, "KeyError('tenant')")
    assert first.extra["tenant"] == "north"
    return data


@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_gives_the_same_samples(tmp_path: Path, name: str) -> None:
    data = checked(read_eval_data(write(tmp_path / name, EXPORTS[name])))
    langsmith = name.startswith(("runs", "nested", "dotted"))
    assert data.schema == ("langsmith" if langsmith else "langfuse")
    if langsmith or name.startswith("traces"):
        asked = (Turn("user", "When does the ferry leave?"), Turn("assistant", "At 8."))
        assert data.items[1].history == asked  # the thread's


def test_traces_of_langfuse_without_their_observations(tmp_path: Path) -> None:
    rows = [{key: value for key, value in trace.items() if key != "observations"} for trace in traces()[:1]]
    (item,) = read_eval_data(write(tmp_path / "traces.csv", rows)).items
    assert item.response is not None
    assert (item.sample.id, item.sample.question, item.response.answer) == ("t1", "When does the ferry leave?", "At 8.")


def test_logs_with_a_session_are_no_traces_of_langfuse_and_keep_their_columns() -> None:
    row = {"timestamp": "2026-01-02T10:00:00Z", "session_id": "s", "input": "Q?", "output": "A.", "reference": "R.",
           "contexts": ["T."]}  # fmt: skip
    data = read_eval_data([row])
    assert data.items[0].sample.references == (("R.",),)
    assert data.items[0].response is not None
    assert [passage.text for passage in data.items[0].response.passages] == ["T."]


def test_a_reference_in_the_metadata_can_be_mapped(tmp_path: Path) -> None:
    rows = [{**RUNS[0], "extra": {"metadata": {"expected": "At eight."}}}]
    data = read_eval_data(write(tmp_path / "runs.jsonl", rows), mapping={"reference": "expected"})
    assert data.items[0].sample.references == (("At eight.",),)
