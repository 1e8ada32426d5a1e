"""The client against a real local endpoint: what it sends, what it makes of what comes back."""

import asyncio
import json
import logging
import traceback
from typing import Any

import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint, chat_reply

from ragstone.errors import (
    BadReply,
    ContentBlocked,
    Dropped,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    TimedOut,
    Unauthorized,
    Unreachable,
    UsageError,
)
from ragstone.models.client import Client
from ragstone.models.options import ModelOptions
from ragstone.models.providers import PLUGINS, Provider
from ragstone.types import Completion, Request, Sampling, Turn, Usage

KEY = "a.key/of+no-known=form.4f9a"
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def row(name: str) -> Provider:
    provider = PLUGINS[name]
    assert isinstance(provider, Provider)
    return provider


def ask(text: str = "Who?", **more: Any) -> Request:
    return Request(messages=(Turn("user", text),), **more)


async def call(endpoint: FakeEndpoint, request: Request, provider: str = "openai", timeout: float = 5.0) -> Completion:
    options = ModelOptions(base_url=endpoint.base_url, timeout=timeout)
    async with Client(row(provider), "m-1", options, key=KEY) as client:
        return await client.generate(request)


async def answer(body: Any, status: int = 200, provider: str = "openai", request: Request | None = None) -> Completion:
    async with FakeEndpoint([Act("body", status=status, body=body)]) as endpoint:
        return await call(endpoint, request or ask(), provider)


async def sent(request: Request, provider: str) -> Any:
    async with FakeEndpoint() as endpoint:
        await call(endpoint, request, provider)
        return endpoint.seen[0].body


async def test_a_request_carries_messages_sampling_and_key_and_nothing_else() -> None:
    sampling = Sampling(temperature=0.2, top_p=0.9, max_tokens=7, seed=3, stop=("\n",))
    request = Request(messages=(Turn("system", "Be brief."), Turn("user", "Who?")), sampling=sampling)
    async with FakeEndpoint() as endpoint:
        await call(endpoint, request, "compat")
        seen = endpoint.seen[0]
    assert seen.path.endswith("/v1/chat/completions")
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert "Cookie" not in seen.headers
    assert seen.body == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
        "temperature": 0.2, "top_p": 0.9, "max_tokens": 7, "seed": 3, "stop": ["\n"],
    }  # fmt: skip


async def test_what_sampling_leaves_open_is_not_sent() -> None:
    assert await sent(ask(), "compat") == {"model": "m-1", "messages": [{"role": "user", "content": "Who?"}]}


async def test_openai_gets_the_field_that_its_reasoning_models_take() -> None:
    body = await sent(ask(sampling=Sampling(max_tokens=9)), "openai")
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


async def test_samples_of_a_seeded_request_get_different_seeds() -> None:
    seeds = [(await sent(ask(sampling=Sampling(seed=5), sample=number), "openai"))["seed"] for number in (0, 1)]
    assert seeds == [5, 6]


async def test_a_reply_keeps_text_reason_of_ending_model_name_and_usage() -> None:
    body = chat_reply("Paris", model="gpt-4o-mini-2024-07-18")
    body["choices"][0]["finish_reason"] = "length"
    reply = await answer(body)
    assert (reply.text, reply.finish_reason, reply.model) == ("Paris", "length", "gpt-4o-mini-2024-07-18")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens) == (11, 3, 5)
    assert reply.usage.requests == 1
    assert reply.seconds is not None
    assert reply.seconds > 0


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "<think>Hm.\nYes.</think>\n\nParis"}, "Paris", "Hm.\nYes."),
        ({"content": "Hm. Yes.</think>Paris"}, "Paris", "Hm. Yes."),
        ({"content": "<think>Hm, and never"}, "", "Hm, and never"),
        ({"content": "Paris", "reasoning_content": "Hm."}, "Paris", "Hm."),
        ({"content": "Paris", "reasoning": "Hm."}, "Paris", "Hm."),
        ({"content": "Write <think> to think."}, "Write <think> to think.", ""),
        ({"content": [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]}, "Paris", ""),
        ({"content": None, "refusal": "I cannot help."}, "I cannot help.", ""),
        ({"content": None}, "", ""),
    ],
)
async def test_reasoning_is_kept_apart_from_the_answer(message: dict[str, Any], text: str, reasoning: str) -> None:
    body = chat_reply("")
    body["choices"][0]["message"] = {"role": "assistant", **message}
    reply = await answer(body)
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": None}, {"prompt_tokens": "7"}, {"prompt_tokens": True}])
async def test_a_strange_usage_is_no_reason_to_lose_an_answer(usage: Any) -> None:
    reply = await answer({**chat_reply("Paris"), "usage": usage})
    assert (reply.text, reply.usage.prompt_tokens) == ("Paris", 0)


CACHED_USAGE: dict[str, dict[str, Any]] = {
    "openai": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
    "deepseek": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
    "a gateway to anthropic": {"prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 3},
    "anthropic": {
        "input_tokens": 2,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 3,
        "output_tokens": 7,
    },
    "moonshot": {"prompt_tokens": 9, "cached_tokens": 4},
    "openai since gpt-5.6": {
        "prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CACHED_USAGE)
async def test_the_prompt_tokens_that_a_provider_had_in_its_cache_are_counted(name: str) -> None:
    reply = await answer({**chat_reply("x"), "usage": CACHED_USAGE[name]})
    assert reply.usage == Usage(
        prompt_tokens=9, completion_tokens=7 if name == "anthropic" else 0, cached_tokens=4, requests=1,
        written_tokens=3 if "anthropic" in name or "5.6" in name else 0,
    )  # fmt: skip


@pytest.mark.parametrize(("timings", "cached"), [({"cache_n": 8, "prompt_n": 3}, 8), ({"cache_n": 99}, 11), (7, 0)])
async def test_llama_cpps_own_count_of_cached_tokens_is_read(timings: Any, cached: int) -> None:
    body = {**chat_reply("x"), "timings": timings, "usage": {"prompt_tokens": 11}}
    assert (await answer(body)).usage.cached_tokens == cached


async def test_a_schema_constrains_the_reply_where_the_endpoint_can() -> None:
    body = await sent(ask(schema=SCHEMA, schema_name="verdict"), "openai")
    form = {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert body["response_format"] == {"type": "json_schema", "json_schema": form}
    assert body["messages"][-1]["content"] == "Who?"


@pytest.mark.parametrize("provider", ["deepseek", "zhipu", "moonshot", "groq", "dashscope"])
async def test_a_schema_goes_into_the_prompt_with_the_word_json_where_only_json_can_be_asked_for(provider: str) -> None:
    body = await sent(ask(schema=SCHEMA), provider)
    assert body["response_format"] == {"type": "json_object"}
    assert "JSON" in body["messages"][-1]["content"]
    assert json.dumps(SCHEMA, sort_keys=True) in body["messages"][-1]["content"]


async def test_a_code_fence_around_the_whole_of_asked_for_json_is_taken_off_and_no_other() -> None:
    fenced = chat_reply('```json\n{"ok": true}\n```')
    assert (await answer(fenced, request=ask(schema=SCHEMA), provider="deepseek")).text == '{"ok": true}'
    assert (await answer(fenced)).text.startswith("```")
    talk = chat_reply('Here: ```json\n{"ok": true}\n```')
    assert (await answer(talk, request=ask(schema=SCHEMA), provider="deepseek")).text.startswith("Here")


@pytest.mark.parametrize("text", ["a\ud800b", "nul \0 here", "line\u2028end", "\udfff" * 3, "𝔘nicode 中文"])
async def test_any_text_reaches_the_endpoint_as_it_is(text: str) -> None:
    assert (await sent(ask(text), "compat"))["messages"][0]["content"] == text


async def test_a_lone_surrogate_in_a_reply_is_kept() -> None:
    assert (await answer(json.dumps(chat_reply("a\ud800b")))).text == "a\ud800b"


async def test_a_prompt_of_ten_megabytes_is_sent_whole() -> None:
    assert len((await sent(ask("x" * 10_000_000), "compat"))["messages"][0]["content"]) == 10_000_000


FAULTS: list[tuple[Act, type[ModelError], str]] = [
    (Act("rate_limit"), RateLimited, "too many requests"),
    (Act("status", status=500), ServerFault, "500"),
    (Act("status", status=503), ServerFault, "503"),
    (Act("status", status=408), ServerFault, "408"),
    (Act("reset"), Dropped, "the connection ended before a reply came"),
    (Act("body", status=200, body={"error": {"message": "overloaded"}}), ServerFault, "reply reports an error (overl"),
    (Act("reset_mid_body"), BadReply, "broke off"),
    (Act("short_body"), BadReply, "broke off"),
    (Act("stall"), TimedOut, "in time"),
    (Act("truncated_json"), BadReply, "breaks off"),
    (Act("html"), BadReply, "web page. Check --base-url"),
    (Act("empty"), BadReply, "empty"),
    (Act("not_json"), BadReply, "not JSON"),
    (Act("wrong_shape"), BadReply, "promised form"),
    (Act("no_choices"), BadReply, "no choice"),
    (Act("error_in_200"), ServerFault, "upstream failed"),
    (Act("not_http"), BadReply, "not HTTP"),
    (Act("redirect"), Rejected, "redirects"),
    (Act("status", status=401, body={"error": {"message": "Incorrect API key"}}), Unauthorized, "OPENAI_API_KEY"),
    (Act("status", status=403), Unauthorized, "403"),
    (Act("status", status=402), Unauthorized, "credit"),
    (Act("status", status=404, body={"error": {"message": "no model m-1"}}), Rejected, "no model m-1"),
    (Act("status", status=404), Rejected, "of a judge, --judge-base-url"),
    (Act("status", status=422, body={"detail": "bad"}), Rejected, "422"),
    (Act("status", status=400, body="<html>nginx</html>"), Rejected, "nginx"),
    (Act("body", status=200, body='{"choices":' + "[" * 100_000), BadReply, "promised form"),
    (Act("body", status=200, body='{"usage":' + "[" * 100_000), BadReply, "not JSON"),
    (Act("body", status=500, body="[" * 100_000), ServerFault, "500"),
]


@pytest.mark.parametrize(("act", "kind", "words"), FAULTS, ids=lambda value: getattr(value, "kind", None))
async def test_every_fault_ends_in_its_typed_error_of_one_line(act: Act, kind: type[ModelError], words: str) -> None:
    async with FakeEndpoint([act]) as endpoint:
        with pytest.raises(kind) as caught:
            await call(endpoint, ask(), timeout=0.2 if act.kind == "stall" else 5.0)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("act", "permanent"),
    [
        (Act("status", status=401), True),
        (Act("status", status=404), True),
        (Act("status", status=402), True),
        (Act("html"), True),
        (Act("redirect"), True),
        (Act("body", status=400, body={"error": {"code": "content_filter"}}), True),
        (Act("rate_limit"), False),
        (Act("status", status=503), False),
        (Act("reset"), False),
        (Act("truncated_json"), False),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
async def test_an_error_says_whether_the_same_call_could_ever_end_well(act: Act, permanent: bool) -> None:
    async with FakeEndpoint([act]) as endpoint:
        with pytest.raises(ModelError) as caught:
            await call(endpoint, ask())
    assert caught.value.permanent is permanent


async def test_nobody_listening_is_unreachable() -> None:
    async with FakeEndpoint() as endpoint:
        pass
    with pytest.raises(Unreachable, match="no connection"):
        await call(endpoint, ask())


async def test_retry_after_is_read_in_every_form() -> None:
    for text, low, high in (("7", 7, 7), ("0.5", 0.5, 0.5), ("Fri, 01 Jan 2100 00:00:00 GMT", 1e6, 1e11)):
        async with FakeEndpoint([Act("rate_limit", retry_after=text)]) as endpoint:
            with pytest.raises(RateLimited) as caught:
                await call(endpoint, ask())
        assert caught.value.retry_after is not None
        assert low <= caught.value.retry_after <= high


@pytest.mark.parametrize("text", ["soon", "-3", "nan", "inf", "", "Fri, 99 Foo 2100"])
async def test_a_senseless_retry_after_is_none(text: str) -> None:
    async with FakeEndpoint([Act("rate_limit", retry_after=text)]) as endpoint:
        with pytest.raises(RateLimited) as caught:
            await call(endpoint, ask())
    assert caught.value.retry_after is None


async def test_an_empty_account_is_not_a_rate_limit() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with pytest.raises(Unauthorized, match="used up"):
        await answer(body, status=429)


async def test_groqs_failed_generation_may_be_tried_again() -> None:
    with pytest.raises(BadReply):
        await answer({"error": {"message": "x", "code": "json_validate_failed"}}, status=400, provider="groq")


@pytest.mark.parametrize(
    ("provider", "status", "body"),
    [
        ("openai", 400, {"error": {"message": "The response was filtered", "code": "content_filter"}}),
        ("deepseek", 400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
        ("zhipu", 400, {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}}),
        ("moonshot", 400, {"error": {"message": "The request was rejected", "type": "content_filter"}}),
        ("openai", 200, {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}),
    ],
)
async def test_a_refusal_by_content_inspection_is_an_outcome_of_its_own(
    provider: str, status: int, body: dict[str, Any]
) -> None:
    with pytest.raises(ContentBlocked):
        await answer(body, status=status, provider=provider)


async def test_a_parameter_that_the_model_refuses_is_left_out_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    refusal = {
        "error": {
            "message": "Unsupported value: 'temperature' does not support 0.2 with this model.",
            "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value",
        }
    }  # fmt: skip
    async with FakeEndpoint([Act("status", status=400, body=refusal)]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with Client(row("openai"), "o4-mini", options, key=KEY) as client:
            with caplog.at_level(logging.WARNING):
                for _ in range(2):
                    await client.generate(ask(sampling=Sampling(temperature=0.2, max_tokens=5)))
            assert client.refused == {"temperature"}
    assert ["temperature" in seen.body for seen in endpoint.seen] == [True, False, False]
    assert [seen.body["max_completion_tokens"] for seen in endpoint.seen] == [5, 5, 5]
    assert caplog.text.count("does not support temperature") == 1


async def test_a_refused_parameter_that_matters_is_an_error() -> None:
    refusal = {"error": {"message": "no", "param": "max_completion_tokens", "code": "unsupported_parameter"}}
    with pytest.raises(Rejected):
        await answer(refusal, status=400, request=ask(sampling=Sampling(max_tokens=5)))


@pytest.mark.parametrize(
    "act",
    [
        Act("status", status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}. See the page."}}),
        Act("status", status=401, body={"error": {"message": "Incorrect key: sk-proj-****abcd"}}),
        Act("status", status=500, body=f"upstream said {KEY}" + "x" * 20_000),
        Act("body", status=200, body=f"not json {KEY}"),
        Act("reset"),
        Act("not_http"),
    ],
)
async def test_a_key_shows_in_no_error_nor_log_nor_repr(act: Act, caplog: pytest.LogCaptureFixture) -> None:
    import traceback

    async with FakeEndpoint([act]) as endpoint:
        with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
            await call(endpoint, ask())
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert KEY not in shown
    assert "abcd" not in shown
    client = Client(row("openai"), "m", ModelOptions(base_url="http://h"), key=KEY)
    assert KEY not in repr(client) + str(client)


async def test_connections_are_reused_and_bounded() -> None:
    async with FakeEndpoint(delay=0.02) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, in_flight=3)
        async with Client(row("compat"), "m", options, key="") as client:
            await asyncio.gather(*(client.generate(ask(str(number))) for number in range(12)))
        assert endpoint.most_at_once == 3
        assert endpoint.counts["asked"] == 12
        assert "Authorization" not in endpoint.seen[0].headers


async def test_compat_needs_a_base_url() -> None:
    with pytest.raises(UsageError, match="--base-url"):
        Client(row("compat"), "m", ModelOptions(), key="")


SECRET = "S3cr3tK3yValue"


@pytest.mark.parametrize("query", ["?key={}", "?api-version=2&sig={}", "?{}"])
@pytest.mark.parametrize(
    "kind", ["status", "not_http", "reset", "reset_mid_body", "redirect", "html", "not_json", "echo", "echo_ok"]
)
async def test_a_key_in_a_base_url_reaches_the_endpoint_and_no_message(query: str, kind: str) -> None:
    def plan(number: int, payload: Any) -> Act:
        echoed = {"error": {"message": f"no such path: /v1/chat/completions{query.format(SECRET)}"}}
        if kind == "echo":
            return Act("body", status=404, body=echoed)
        if kind == "echo_ok":
            return Act("body", status=200, body=chat_reply(f"You sent {SECRET}."))
        return Act(kind, status=401)

    async with FakeEndpoint(plan) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url + query.format(SECRET), timeout=5)
        async with Client(row("compat"), "m-1", options, key="") as client:
            assert SECRET not in repr(client)
            if kind == "echo_ok":
                assert (await client.generate(ask())).text == "You sent ***."
            else:
                with pytest.raises(ModelError) as caught:
                    await client.generate(ask())
                assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert SECRET in endpoint.seen[0].path
