"""How a reply of promised form is asked for: every way works, and the one that an endpoint takes is found out once."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.fake_endpoint import Act, FakeEndpoint, asked_form, chat_reply

from ragstone.errors import RateLimited, Rejected
from ragstone.models import ModelOptions, open_model
from ragstone.models.client import Client
from ragstone.models.providers import Provider
from ragstone.models.structured import FORMS, Form, ParsedReply, ignored
from ragstone.types import Completion, Model, Request, Turn

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}},
    "required": ["ok", "why"],
    "additionalProperties": False,
}
SAID = {"ok": True, "why": "它写着“是”。"}
NOT_FOUND = {"error": {"message": "No endpoints found that support tool use.", "code": 404}}


def ask(text: str = "Is it so?", **more: Any) -> Request:
    return Request(messages=(Turn("user", text),), schema=SCHEMA, schema_name="verdict", **more)


def row(structured: Form) -> Provider:
    return Provider("row", "http://localhost/v1", "ROW_API_KEY", key_optional=True, structured=structured)


def answer(payload: Any) -> Any:
    """A model that keeps to a form only where it is held to it or the prompt has it."""
    held = asked_form(payload) in ("json_schema", "tools") or "JSON schema" in payload["messages"][-1]["content"]
    return SAID if held else "Yes, it is so."


@asynccontextmanager
async def opened(endpoint: FakeEndpoint, cache: Path | None = None, name: str = "compat/m") -> AsyncIterator[Model]:
    async with open_model(name, ModelOptions(base_url=endpoint.base_url, cache=cache)) as model:
        yield model


def forms(endpoint: FakeEndpoint) -> list[str]:
    return [asked_form(seen.body) for seen in endpoint.seen]


CASES: list[tuple[Collection[str], list[str]]] = [
    ([], ["json_schema"]),
    (["json_schema"], ["json_schema", "tools"]),
    (["json_schema", "tools"], ["json_schema", "tools", "json_object"]),
    (["json_schema", "tools", "json_object"], ["json_schema", "tools", "json_object", ""]),
]


@pytest.mark.parametrize("name", ["compat/m", "ollama/llama3.2", "vllm/Qwen/Qwen2.5-7B-Instruct"])
@pytest.mark.parametrize(("refused", "asked"), CASES)
async def test_an_endpoint_that_refuses_a_way_is_asked_in_the_next_and_then_always_so(
    name: str, refused: Collection[str], asked: list[str]
) -> None:
    async with FakeEndpoint(answer=answer, refuses=refused) as endpoint:
        async with opened(endpoint, name=name) as model:
            replies = [await model.generate(ask(str(number))) for number in range(3)]
        assert forms(endpoint) == [*asked, asked[-1], asked[-1]]
    assert [json.loads(reply.text) for reply in replies] == [SAID] * 3
    assert [reply.finish_reason for reply in replies] == ["stop"] * 3
    assert [reply.usage.requests for reply in replies] == [1] * 3


@pytest.mark.parametrize(
    ("ignores", "asked"),
    [
        (["json_schema"], ["json_schema", "tools"]),
        (["json_schema", "json_object"], ["json_schema", "tools"]),
        (["json_schema", "tools"], ["json_schema", "tools", "json_object"]),
    ],
)
async def test_an_endpoint_that_does_not_heed_a_way_is_asked_in_the_next(ignores: list[str], asked: list[str]) -> None:
    def model_alone(payload: Any) -> Any:
        form = asked_form(payload)
        return "Yes, it is so." if form in ignores and form != "json_object" else SAID

    async with FakeEndpoint(answer=model_alone, ignores=ignores) as endpoint:
        async with opened(endpoint) as model:
            first, second = [await model.generate(ask(str(number))) for number in range(2)]
        assert forms(endpoint) == [*asked, asked[-1]]
    assert json.loads(first.text) == json.loads(second.text) == SAID
    # Replies that were paid for are counted, also those that were of no use.
    assert (first.usage.requests, first.usage.prompt_tokens) == (len(asked), 11 * len(asked))
    assert (second.usage.requests, second.usage.prompt_tokens) == (1, 11)


@pytest.mark.parametrize("structured", FORMS)
async def test_a_providers_row_says_where_to_begin(structured: Form) -> None:
    async with FakeEndpoint(answer=answer) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with Client(row(structured), "m", options, key="") as client:
            assert json.loads((await client.generate(ask())).text) == SAID
        body = endpoint.seen[0].body
    asked = asked_form(body)
    assert asked == {"tool": "tools", "instruction": ""}.get(structured, structured)
    written = json.dumps(SCHEMA, sort_keys=True) in body["messages"][-1]["content"]
    assert written == (structured in ("json_object", "instruction"))


async def test_a_tool_is_one_that_must_be_called_with_the_schema_as_its_parameters() -> None:
    async with FakeEndpoint(answer=answer, refuses=["json_schema"]) as endpoint:
        async with opened(endpoint) as model:
            await model.generate(ask())
        body = endpoint.seen[1].body
    assert "response_format" not in body
    assert [tool["function"]["parameters"] for tool in body["tools"]] == [SCHEMA]
    assert body["tools"][0]["function"]["name"] == body["tool_choice"]["function"]["name"] == "verdict"


def called(*arguments: Any, finish: str = "tool_calls", content: str | None = None) -> dict[str, Any]:
    body = chat_reply("")
    calls = [{"type": "function", "function": {"name": "verdict", "arguments": one}} for one in arguments]
    body["choices"][0] = {"message": {"content": content, "tool_calls": calls}, "finish_reason": finish}
    return body


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (called('{"ok": true}'), '{"ok": true}', "stop"),
        (called('{"ok": true}', finish="stop"), '{"ok": true}', "stop"),
        (called('{"ok": true}', finish="tool_use", content="Let me see."), '{"ok": true}', "stop"),
        (called({"ok": True}), '{"ok": true}', "stop"),
        (called('{"ok": tr', finish="length"), '{"ok": tr', "length"),
        (called('{"ok": tr', finish="max_tokens"), '{"ok": tr', "length"),
        (called('{"ok": true}', '{"ok": false}'), '{"ok": true}\n{"ok": false}', "stop"),
    ],
)
async def test_the_arguments_of_the_call_are_the_reply_and_its_ending_is_kept(
    body: dict[str, Any], text: str, finish: str
) -> None:
    async with FakeEndpoint([Act("body", status=200, body=body)]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with Client(row("tool"), "m", options, key="") as client:
            reply = await client.generate(ask())
    assert (reply.text, reply.finish_reason) == (text, finish)


@pytest.mark.parametrize("form", FORMS)
async def test_a_cut_off_reply_is_told_whichever_way_was_asked(form: Form) -> None:
    body = called('{"ok": tr', finish="length") if form == "tool" else chat_reply('{"ok": tr')
    body["choices"][0]["finish_reason"] = "length"
    async with FakeEndpoint([Act("body", status=200, body=body)]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with Client(row(form), "m", options, key="") as client:
            reply = await client.generate(ask())
        assert len(endpoint.seen) == 1  # being cut off says nothing about the way
    assert (reply.text, reply.finish_reason) == ('{"ok": tr', "length")


async def test_while_the_way_is_not_known_one_request_is_under_way_at_a_time() -> None:
    at_once = 0
    before: list[int] = []

    async def attempt(form: Form, settled: bool) -> ParsedReply:
        nonlocal at_once
        at_once += 1
        if not settled:
            before.append(at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return ParsedReply(Completion(text=json.dumps(SAID), finish_reason="stop"), called=form == "tool")

    async with FakeEndpoint(answer=answer, refuses=["json_schema", "tools"], delay=0.01) as endpoint:
        async with opened(endpoint) as model:
            await asyncio.gather(*(model.generate(ask(str(number))) for number in range(20)))
        assert forms(endpoint)[:3] == ["json_schema", "tools", "json_object"]
        assert forms(endpoint)[3:] == ["json_object"] * 19
        assert endpoint.most_at_once > 1
    from ragstone.models.structured import FormNegotiator

    way = FormNegotiator("json_schema", b"")
    await asyncio.gather(*(way.ask(SCHEMA, attempt) for _ in range(20)))
    assert before == [1]


async def test_the_next_run_does_not_find_it_out_again(tmp_path: Path) -> None:
    async with FakeEndpoint(answer=answer, refuses=["json_schema", "tools"]) as endpoint:
        for number in range(3):
            async with opened(endpoint, tmp_path) as model:
                await model.generate(ask(str(number)))
        assert forms(endpoint) == ["json_schema", "tools", "json_object", "json_object", "json_object"]
        async with opened(endpoint, tmp_path, "compat/other") as model:  # another model is another question
            await model.generate(ask())
        assert forms(endpoint)[5:] == ["json_schema", "tools", "json_object"]


async def test_a_reply_is_found_again_whichever_way_it_came(tmp_path: Path) -> None:
    """The way is no part of the question, so that of a run that changes it nothing is asked twice."""
    async with FakeEndpoint(answer=answer, refuses=["json_schema"]) as endpoint:
        async with opened(endpoint, tmp_path) as model:
            first = await model.generate(ask())
        port, asked = endpoint.port, len(endpoint.seen)
    assert asked == 2
    changed = FakeEndpoint(answer=answer)
    await changed.start(port)
    try:
        async with opened(changed, tmp_path) as model:
            again = await model.generate(ask())
        assert (again.text, again.cached, len(changed.seen)) == (first.text, True, 0)
    finally:
        await changed.__aexit__()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {"error": {"message": "response_format json_schema is unavailable now", "type": "invalid_request_error"}},
        ),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "not permitted"}]}),
        (404, NOT_FOUND),
        (400, {"error": {"message": "This model does not support response format `json_schema`."}}),
        (400, [{"error": {"code": 400, "message": "Unknown name \"additionalProperties\" at 'response_schema'"}}]),
        (400, {"error": {"code": "1210", "message": "该模型不支持结构化输出"}}),
        (501, {"error": "structured output is not implemented"}),
        (500, {"error": {"message": "failed to parse grammar", "code": 500}}),
        (400, {"error": {"message": "Bad Request"}}),
        (400, {"detail": "Bad Request"}),
        (400, ""),
        (422, "Unprocessable Entity"),
        (400, [{"error": {"code": 400, "message": "Request contains an invalid argument."}}]),
    ],
)
async def test_refusals_are_understood_as_endpoints_word_them(status: int, body: Any) -> None:
    async with FakeEndpoint(answer=answer, refuses=["json_schema"], refusal=(status, body)) as endpoint:
        async with opened(endpoint) as model:
            assert json.loads((await model.generate(ask())).text) == SAID
        assert forms(endpoint) == ["json_schema", "tools"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens."),
        (401, "tools are not for this key"),
        (404, "The model m does not exist."),
        (400, "The temperature must be below 2."),
    ],
)
async def test_an_error_about_something_else_is_not_tried_in_other_ways(status: int, message: str) -> None:
    plan = [Act("status", status=status, body={"error": {"message": message}})]
    async with FakeEndpoint(plan, answer=answer) as endpoint, opened(endpoint) as model:
        with pytest.raises(Exception, match=message.split(maxsplit=1)[0]):
            await model.generate(ask())
        assert len(endpoint.seen) == 1


async def test_a_request_that_no_way_helps_does_not_spoil_the_way_of_the_others() -> None:
    def plan(number: int, payload: Any) -> Act:
        wrong = payload["messages"][0]["content"].startswith("wrong")
        return Act("status", status=400, body={"error": {"message": "Bad Request"}}) if wrong else Act()

    async with FakeEndpoint(plan, answer=answer) as endpoint, opened(endpoint) as model:
        with pytest.raises(Rejected, match="Bad Request"):
            await model.generate(ask("wrong"))
        await model.generate(ask("right"))
        assert forms(endpoint) == ["json_schema", "tools", "json_object", "", "json_schema"]
        # Now that this way is known to be taken, a vague word does not count against it.
        with pytest.raises(Rejected, match="Bad Request"):
            await model.generate(ask("wrong again"))
        assert len(endpoint.seen) == 6


async def test_a_schema_that_is_refused_later_moves_on_too() -> None:
    def plan(number: int, payload: Any) -> Act:
        refused = number > 0 and asked_form(payload) == "json_schema"
        told = {"error": {"message": "The schema is too deep for response_format."}}
        return Act("status", status=400, body=told) if refused else Act()

    async with FakeEndpoint(plan, answer=answer) as endpoint, opened(endpoint) as model:
        for number in range(3):
            assert json.loads((await model.generate(ask(str(number)))).text) == SAID
        assert forms(endpoint) == ["json_schema", "json_schema", "tools", "tools"]


async def test_a_fault_while_finding_out_is_retried_from_the_start() -> None:
    plan = [Act(), Act("rate_limit", retry_after="0"), Act("reset")]
    async with FakeEndpoint(plan, answer=answer, refuses=["json_schema"]) as endpoint, opened(endpoint) as model:
        assert json.loads((await model.generate(ask())).text) == SAID
        assert forms(endpoint) == ["json_schema", "tools", "json_schema", "json_schema", "tools"]


async def test_identical_requests_are_sent_once_also_without_a_cache() -> None:
    async with FakeEndpoint(answer=answer, delay=0.01) as endpoint, opened(endpoint) as model:
        replies = await asyncio.gather(*(model.generate(ask()) for _ in range(5)))
        assert len(endpoint.seen) == 1
    assert sorted(reply.cached for reply in replies) == [False, True, True, True, True]


async def test_a_models_refusal_is_not_the_endpoints() -> None:
    body = chat_reply("", refusal="I cannot help with that.")
    async with FakeEndpoint([Act("body", status=200, body=body)]) as endpoint, opened(endpoint) as model:
        assert (await model.generate(ask())).text == "I cannot help with that."
        assert len(endpoint.seen) == 1


async def test_plain_requests_wait_for_no_way() -> None:
    async with FakeEndpoint() as endpoint, opened(endpoint) as model:
        reply = await model.generate(Request(messages=(Turn("user", "Who?"),)))
        assert reply.text.startswith("answer")
        assert "tools" not in endpoint.seen[0].body


async def test_what_is_raised_at_the_end_is_the_error_of_the_call() -> None:
    plan = [Act("rate_limit", retry_after="0")] * 9
    async with FakeEndpoint(plan) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, attempts=2)
        async with open_model("compat/m", options) as model:
            with pytest.raises(RateLimited):
                await model.generate(ask())


@given(st.text(), st.sampled_from(FORMS), st.sampled_from(["", "stop", "length", "content_filter"]))
def test_any_reply_can_be_looked_at(text: str, form: Form, finish: str) -> None:
    reply = ParsedReply(Completion(text=text, finish_reason=finish))
    shown = ignored(form, SCHEMA, reply)
    assert isinstance(shown, bool)
    if finish in ("length", "content_filter") or form in ("json_object", "instruction"):
        assert not shown


@pytest.mark.parametrize(
    "written", ['{"ok": true, "why": "\\ud800"}', '{"ok": true, "why": "\ud800"}', '\ufeff{"ok": true, "why": "x"}']
)
async def test_a_lone_surrogate_or_a_byte_order_mark_in_a_reply_does_not_change_how_an_endpoint_is_asked(
    written: str,
) -> None:
    async with FakeEndpoint(answer=lambda _: written) as endpoint:
        async with opened(endpoint) as model:
            replies = [await model.generate(ask(str(number))) for number in range(2)]
        assert forms(endpoint) == ["json_schema", "json_schema"]
    assert [json.loads(reply.text)["ok"] for reply in replies] == [True, True]
