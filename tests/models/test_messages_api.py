"""Anthropic's own interface, against a server that refuses what the real one refuses."""

import asyncio
from typing import Any

import pytest
from tests.servers.batch_endpoint import BatchEndpoint
from tests.servers.fake_endpoint import Act, FakeEndpoint
from tests.waiting import turns, until

from ragstone.errors import (
    BadReply,
    ContentBlocked,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    Unauthorized,
)
from ragstone.models.client import Client
from ragstone.models.messages_api import KEPT_SECONDS, Openings
from ragstone.models.options import ModelOptions
from ragstone.models.providers import PLUGINS
from ragstone.types import Completion, Request, Sampling, Turn, Usage

KEY = "a.key/of+no-known=form.4f9a"
SCHEMA = {
    "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False,
}  # fmt: skip
LONG = "Judge each answer with care. " * 400  # 2,400 tokens


def ask(text: str = "Who?", *before: Turn, **more: Any) -> Request:
    return Request(messages=(*before, Turn("user", text)), **more)


def client_of(endpoint: BatchEndpoint | FakeEndpoint, model: str = "m") -> Client:
    return Client(PLUGINS["anthropic"], model, ModelOptions(base_url=endpoint.base_url), key=KEY)


async def answer(body: Any, status: int = 200, request: Request | None = None, **more: Any) -> Completion:
    async with FakeEndpoint([Act("body", status=status, body=body, **more)]) as endpoint, client_of(endpoint) as client:
        return await client.generate(request or ask())


def reply(*blocks: dict[str, Any], stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {
        "type": "message", "role": "assistant", "model": "claude-1", "content": list(blocks), "stop_reason": stop,
        "usage": {"input_tokens": 4, "output_tokens": 2, **usage},
    }  # fmt: skip


TEXT = {"type": "text", "text": "Paris"}


async def test_a_request_has_the_fields_of_the_interface_and_the_key_in_its_header() -> None:
    sampling = Sampling(temperature=1.5, max_tokens=7, seed=3, stop=("\n", "END"))
    request = ask("Who?", Turn("system", "Be brief."), Turn("user", "Hi"), Turn("assistant", "Yes?"), sampling=sampling)
    async with FakeEndpoint([Act("body", status=200, body=reply(TEXT))]) as endpoint, client_of(endpoint) as client:
        assert (await client.generate(request)).text == "Paris"
        (seen,) = endpoint.seen
    assert seen.path.endswith("/v1/messages")
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in seen.headers
    assert seen.body == {
        "model": "m", "max_tokens": 7, "system": "Be brief.", "temperature": 1.0, "stop_sequences": ["END"],
        "messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": "Who?"},
        ],
    }  # fmt: skip


async def test_a_limit_is_always_sent() -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint) as client:
        assert (await client.generate(ask())).text == "Paris"
        assert endpoint.single[0] == {
            "model": "m",
            "max_tokens": 16_000,
            "messages": [{"role": "user", "content": "Who?"}],
        }


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"),
        ("model_context_window_exceeded", "length"),
    ],
)  # fmt: skip
async def test_the_reason_of_the_end_is_kept(stop: str, finish: str) -> None:
    assert (await answer(reply(TEXT, stop=stop))).finish_reason == finish


async def test_thinking_is_kept_apart_and_what_the_cache_read_and_wrote_is_part_of_the_prompt() -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
    redacted = {"type": "redacted_thinking", "data": "x"}
    usage: dict[str, Any] = {"cache_read_input_tokens": 30, "cache_creation_input_tokens": 5}
    done = await answer(reply(thinking, redacted, TEXT, **usage))
    assert (done.text, done.reasoning, done.model) == ("Paris", "Hm.", "claude-1")
    assert done.usage == Usage(prompt_tokens=39, completion_tokens=2, cached_tokens=30, requests=1, written_tokens=5)


async def test_an_answer_without_text_is_empty_and_one_that_only_thought_was_cut_off() -> None:
    done = await answer(reply({"type": "thinking", "thinking": "Hm"}, stop="max_tokens"))
    assert (done.text, done.reasoning, done.finish_reason) == ("", "Hm", "length")
    assert (await answer(reply())).text == ""


ERRORS = [
    (400, "invalid_request_error", "max_tokens: Field required", Rejected, "Field required"),
    (400, "invalid_request_error", "Your credit balance is too low to access the API.", Unauthorized, "used up"),
    (400, "invalid_request_error", "You have reached your specified API usage limits.", Unauthorized, "used up"),
    (400, "invalid_request_error", "Output blocked by content filtering policy", ContentBlocked, "refused"),
    (401, "authentication_error", "invalid x-api-key", Unauthorized, "ANTHROPIC_API_KEY"),
    (402, "billing_error", "no", Unauthorized, "used up"),
    (403, "permission_error", "no", Unauthorized, "403"),
    (404, "not_found_error", "model: m", Rejected, "Check the model's name"),
    (413, "request_too_large", "Request exceeds the maximum size", Rejected, "413"),
    (429, "rate_limit_error", "too many", RateLimited, "too many"),
    (500, "api_error", "Internal server error", ServerFault, "500"),
    (504, "timeout_error", "no", ServerFault, "504"),
    (529, "overloaded_error", "Overloaded", ServerFault, "Overloaded"),
]


@pytest.mark.parametrize(("status", "kind", "message", "error", "words"), ERRORS)
async def test_every_error_of_the_interface_has_its_type(
    status: int, kind: str, message: str, error: type[ModelError], words: str
) -> None:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    with pytest.raises(error, match=words) as caught:
        await answer(body, status, retry_after="7")
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)
    if isinstance(caught.value, RateLimited | ServerFault):
        assert caught.value.retry_after == 7


async def test_a_spend_limit_is_not_waited_for() -> None:
    error = {"type": "rate_limit_error", "message": "x", "details": {"error_code": "enforced_spend_limit_reached"}}
    with pytest.raises(Unauthorized, match="used up"):
        await answer({"type": "error", "error": error}, 429)


async def test_a_refusal_without_text_is_an_outcome_of_its_own() -> None:
    with pytest.raises(ContentBlocked):
        await answer(reply(stop="refusal"))


@pytest.mark.parametrize(
    "body", [{}, {"content": "Paris"}, {"content": [7]}, {"choices": []}, "[", "<html>", {"content": None}]
)
async def test_what_is_no_message_is_a_bad_reply(body: Any) -> None:
    with pytest.raises(BadReply):
        await answer(body)


async def test_an_error_with_status_200_is_an_error() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ServerFault, match="Overloaded"):
        await answer(body)


@pytest.mark.parametrize(
    ("refused", "asked"),
    [
        (set(), ["output_config"]),
        ({"output_config"}, ["output_config", "tool_choice"]),
        ({"output_config", "tool_choice"}, ["output_config", "tool_choice", "", ""]),
    ],
)
async def test_a_reply_by_a_schema_is_asked_for_in_the_form_that_the_model_takes(
    refused: set[str], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with BatchEndpoint(lambda body: '{"ok": true}') as endpoint, client_of(endpoint) as client:
        endpoint.messages.refuses = refused
        forms: list[str] = []
        problem = endpoint.messages._problem

        def noted(headers: Any, params: Any) -> str:
            forms.append(next((name for name in ("output_config", "tool_choice") if name in params), ""))
            return problem(headers, params)

        monkeypatch.setattr(endpoint.messages, "_problem", noted)
        for _ in range(2):
            assert (await client.generate(ask(schema=SCHEMA))).text.replace(" ", "") == '{"ok":true}'
    assert forms[: len(asked)] == asked[: len(forms)]
    assert len(endpoint.single) == 2
    assert forms[-1] == asked[-1]


@pytest.mark.parametrize(
    ("refuses", "sampling", "left"),
    [
        ({"temperature"}, Sampling(temperature=0.2), {"temperature"}),
        ({"temperature", "top_p"}, Sampling(temperature=0.1, top_p=0.1), {"temperature", "top_p"}),
        (set(), Sampling(temperature=0.1, top_p=0.1), {"top_p"}),
    ],
)  # fmt: skip
async def test_sampling_that_the_model_refuses_is_left_out_from_then_on(
    refuses: set[str], sampling: Sampling, left: set[str]
) -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint) as client:
        endpoint.messages.refuses = refuses
        for _ in range(2):
            assert (await client.generate(ask(sampling=sampling))).text == "Paris"
        assert client.refused == left
        assert endpoint.counts["POST messages"] == 2 + len(left)
        assert not any(left & params.keys() for params in endpoint.single)


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5-5", 512), ("claude-sonnet-5-5", 512), ("claude-haiku-5-5", 512), ("claude-fable-5-1", 512),
        ("claude-sonnet-5", 1024), ("claude-opus-4-8", 1024), ("claude-sonnet-4-5-20250929", 1024),
        ("claude-opus-4-7", 2048), ("claude-haiku-4-5", 4096), ("anthropic/claude-opus-4.5", 4096),
    ],
)  # fmt: skip
async def test_a_beginning_is_marked_from_the_second_time_on_where_the_model_keeps_that_many_tokens(
    model: str, least: int
) -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint, model) as client:
        endpoint.messages.keeps_from = least
        system = Turn("system", LONG)
        done = [await client.generate(ask(f"Who? {number}", system)) for number in range(3)]
        kept = least < 2_400
        assert [isinstance(params["system"], list) for params in endpoint.single] == [False, kept, kept]
        assert [completion.usage.cached_tokens > 2_000 for completion in done] == [False, False, kept]


async def test_a_beginning_that_is_asked_once_is_not_written_to_the_cache() -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint, "claude-opus-5") as client:
        endpoint.messages.keeps_from = 512
        for number in range(3):
            await client.generate(ask("Who?", Turn("user", f"{LONG} {number}"), Turn("assistant", "Yes?")))
        assert not any(usage["cache_creation_input_tokens"] for usage in endpoint.messages.usages)


async def asked_at_once(endpoint: BatchEndpoint, client: Client, count: int) -> list[Any]:
    """What came of requests with the same beginning at the same time. No reply comes before all have been sent that are
    not waiting."""
    endpoint.messages.keeps_from = 512
    endpoint.messages.replies.clear()
    calls = [
        asyncio.ensure_future(client.generate(ask(f"Who? {number}", Turn("system", LONG)))) for number in range(count)
    ]
    await until(lambda: len(endpoint.single) >= 2)
    await turns(2_000)
    endpoint.messages.replies.set()
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_a_beginning_is_written_once_also_by_requests_at_the_same_time() -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint, "claude-opus-5") as client:
        done = await asked_at_once(endpoint, client, 12)
        assert sum(completion.usage.written_tokens > 0 for completion in done) == 1
        assert sum(completion.usage.cached_tokens > 0 for completion in done) == 10


async def test_where_the_first_request_of_a_beginning_fails_the_next_one_writes_it_and_the_others_read_it() -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint, "claude-opus-5") as client:
        failing = {"Who? 1", "Who? 2", "Who? 5"}
        endpoint.fault.status = lambda body: 529 if body["messages"][-1]["content"] in failing else 200
        done = await asked_at_once(endpoint, client, 12)
        failed = [at for at, value in enumerate(done) if isinstance(value, ServerFault)]
        usages = [value.usage for value in done if isinstance(value, Completion)]
        assert failed == [1, 2, 5]
        assert sum(usage.written_tokens > 0 for usage in usages) == 1
        assert sum(usage.cached_tokens > 0 for usage in usages) == 7


async def test_where_the_first_request_of_a_beginning_is_cancelled_the_next_one_goes_first() -> None:
    async with BatchEndpoint(lambda body: "Paris") as endpoint, client_of(endpoint, "claude-opus-5") as client:
        endpoint.messages.keeps_from = 512
        await client.generate(ask("Who?", Turn("system", LONG)))
        endpoint.messages.replies.clear()
        first, second = (
            asyncio.ensure_future(client.generate(ask(f"Who? {number}", Turn("system", LONG)))) for number in range(2)
        )
        await until(lambda: len(endpoint.single) == 2)
        first.cancel()
        await until(lambda: len(endpoint.single) == 3)
        endpoint.messages.replies.set()
        assert (await second).text == "Paris"
        assert first.cancelled()


def marked(text: str) -> dict[str, Any]:
    """The body of a request with a beginning that is marked."""
    return {"system": [{"type": "text", "text": text, "cache_control": {}}], "messages": [{"content": "Who?"}]}


async def test_a_beginning_that_was_not_used_for_five_minutes_is_written_by_one_request_again() -> None:
    now = 1000.0
    openings = Openings(512, clock=lambda: now)

    async def sent_together() -> int:
        """How many of three requests are on their way at once, where none has a reply."""
        under_way, go = [0], asyncio.Event()

        async def send() -> None:
            async with openings.turn(marked("a")):
                under_way[0] += 1
                await go.wait()

        calls = [asyncio.ensure_future(send()) for _ in range(3)]
        await turns()
        count = under_way[0]
        go.set()
        await asyncio.gather(*calls)
        return count

    seen = [await sent_together()]
    for passed in (0.0, KEPT_SECONDS - 1, KEPT_SECONDS - 1, KEPT_SECONDS + 1, 0.0):
        now += passed
        seen.append(await sent_together())
    assert seen == [1, 3, 3, 3, 1, 3]


async def test_a_request_that_hangs_keeps_the_others_only_for_a_while() -> None:
    openings, sent, never = Openings(512, wait=0.0), [], asyncio.Event()

    async def send(name: str) -> None:
        async with openings.turn(marked("a")):
            sent.append(name)
            if name == "hangs":
                await never.wait()

    hanging = asyncio.ensure_future(send("hangs"))
    await until(lambda: sent)
    await asyncio.gather(send("second"), send("third"))
    assert sent == ["hangs", "second", "third"]
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    async with openings.turn(marked("a")):  # its turn was given back
        pass


async def test_a_long_form_without_an_instruction_is_asked_for_without_marking_an_empty_text() -> None:
    async with BatchEndpoint(lambda body: '{"ok": true}') as endpoint, client_of(endpoint, "claude-opus-5") as client:
        for number in range(3):
            await client.generate(ask(f"Who? {number}", schema={**SCHEMA, "description": LONG}))
        assert [params.get("system") for params in endpoint.single] == [None] * 3


async def test_a_key_that_the_interface_quotes_is_not_shown() -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": f"invalid x-api-key: {KEY}"}}
    with pytest.raises(Unauthorized) as caught:
        await answer(body, 401)
    assert KEY not in str(caught.value)
