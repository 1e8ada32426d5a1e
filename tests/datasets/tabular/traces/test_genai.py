"""The GenAI conventions of OpenTelemetry: messages with parts, retrieval spans, tools, events."""

import json
from typing import Any

from ragstone.datasets.tabular import Item, read_eval_data
from ragstone.responses.stages import passages_at
from ragstone.types import Step, Turn, Usage

SECOND = 10**9


def span(name: str, parent: str, start: int, end: int, **attributes: Any) -> dict[str, Any]:
    dotted = {"gen_ai." + key.replace("__", "."): value for key, value in attributes.items()}
    return {"traceId": "t", "spanId": name, "parentSpanId": parent, "name": name,
            "startTimeUnixNano": str(1767348000 * SECOND + start * SECOND),
            "endTimeUnixNano": str(1767348000 * SECOND + end * SECOND), "attributes": dotted}  # fmt: skip


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


ASKED = json.dumps([text("user", "Hello"), text("assistant", "Hi."), text("user", "When does the ferry leave?")])
AGENT = span("agent", "", 0, 9, operation__name="invoke_agent", input__messages=ASKED, conversation__id="c1",
             output__messages=json.dumps([{**text("assistant", "At 8."), "finish_reason": "stop"}]))  # fmt: skip
RETRIEVAL = span("retrieval", "agent", 1, 2, operation__name="retrieval", retrieval__query__text="ferry times",
                 retrieval__documents=json.dumps([{"id": "d1", "score": 0.9, "content": "The ferry leaves at 8."},
                                                  {"id": "d2", "score": 0.4, "content": "A ticket costs 2.40."}]),
)  # fmt: skip
CHAT = span(
    "chat", "agent", 3, 6, operation__name="chat", request__model="m", response__model="m-2026", usage__input_tokens=40,
    usage__output_tokens=5, usage__cache_read__input_tokens=8, response__time_to_first_chunk=0.5,
    system_instructions=json.dumps([{"type": "text", "content": "Use: The ferry leaves at 8."}]),
    input__messages=ASKED, output__messages=json.dumps([text("assistant", "At 8.")]),
)  # fmt: skip


def only(*spans: dict[str, Any]) -> Item:
    (item,) = read_eval_data(list(spans)).items
    return item


def step(item: Item, name: str) -> Step:
    assert item.response is not None
    return next(step for step in item.response.steps if step.name == name)


def test_an_agent_with_a_retrieval_and_a_model() -> None:
    item = only(AGENT, RETRIEVAL, CHAT)
    assert item.response is not None
    assert (item.sample.question, item.response.answer) == ("When does the ferry leave?", "At 8.")
    assert item.history == (Turn("user", "Hello"), Turn("assistant", "Hi."))
    fetched = passages_at(item.response, "fetch") or ()
    assert [(passage.id, passage.text, passage.score) for passage in fetched] == [
        ("d1", "The ferry leaves at 8.", 0.9), ("d2", "A ticket costs 2.40.", 0.4),
    ]  # fmt: skip
    assert [passage.id for passage in item.response.passages] == ["d1"]  # the only one in the instructions
    assert step(item, "rewrite").output == ["ferry times"]
    assert step(item, "first token").seconds == 3.5
    assert item.response.usage == Usage(prompt_tokens=40, completion_tokens=5, cached_tokens=8, requests=1)
    assert (item.response.model, item.extra["session.id"]) == ("m-2026", "c1")


def test_documents_without_content_keep_their_ids() -> None:
    bare = {**RETRIEVAL, "attributes": {**RETRIEVAL["attributes"], "gen_ai.retrieval.documents": '[{"id": "d9"}]'}}
    item = only(AGENT, bare)
    assert item.response is not None
    assert [(passage.id, passage.text) for passage in item.response.passages] == [("d9", "")]


def test_results_of_tools_are_passages_where_nothing_else_was_retrieved() -> None:
    tool = span("tool", "agent", 1, 2, operation__name="execute_tool", tool__name="search",
                tool__call__result="The ferry leaves at 8.")  # fmt: skip
    alone = only(AGENT, tool)
    assert alone.response is not None
    assert [passage.text for passage in alone.response.passages] == ["The ferry leaves at 8."]
    beside = only(AGENT, tool, RETRIEVAL)
    assert beside.response is not None
    assert [passage.id for passage in beside.response.passages] == ["d1", "d2"]


def test_a_tool_that_returns_documents_is_a_retriever() -> None:
    result = json.dumps({"documents": [{"page_content": "Closed on Monday.", "metadata": {"source": "library.md"}}]})
    tool = span("tool", "agent", 1, 2, operation__name="execute_tool", tool__call__result=result)
    item = only(AGENT, tool)
    assert item.response is not None
    assert [(passage.id, passage.text) for passage in item.response.passages] == [("library.md", "Closed on Monday.")]


def test_messages_on_events_as_before_1_37() -> None:
    chat = span("chat", "", 0, 2, operation__name="chat", usage__input_tokens=3, usage__output_tokens=1)
    chat["events"] = [
        {"name": "gen_ai.system.message", "attributes": [{"key": "content", "value": {"stringValue": "Be brief."}}]},
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "几点开船？"}}]},
        {
            "name": "gen_ai.choice",
            "attributes": [{"key": "message", "value": {"stringValue": '{"content": "八点。"}'}}],
        },
    ]
    item = only(chat)
    assert item.response is not None
    assert (item.sample.question, item.response.answer) == ("几点开船？", "八点。")
    assert item.history == (Turn("system", "Be brief."),)


def test_a_call_of_a_tool_is_no_text_of_a_message() -> None:
    calls = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "search", "arguments": {}}]}]
    answered = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "At 8."}]}
    messages = json.dumps([text("user", "When?"), *calls, answered])
    item = only(span("chat", "", 0, 1, operation__name="chat", input__messages=messages,
                     output__messages=json.dumps([text("assistant", "At 8.")])))  # fmt: skip
    assert item.response is not None
    assert (item.sample.question, item.response.answer) == ("When?", "At 8.")
