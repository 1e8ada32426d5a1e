"""DashScope's compatible mode: replies in the shapes that its documentation and its users show."""

from typing import Any

import numpy as np
import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.errors import ContentBlocked, RateLimited, Rejected, ServerFault, Unauthorized
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.types import Completion, Request, Sampling, Turn

REQUEST = Request(messages=(Turn("user", "谁获得了冠军？"),), sampling=Sampling(temperature=0.2, max_tokens=50))

ANSWER = {
    "choices": [
        {
            "message": {"role": "assistant", "content": "冠军是林远航。"},
            "finish_reason": "stop", "index": 0, "logprobs": None,
        }
    ],
    "object": "chat.completion",
    "usage": {
        "prompt_tokens": 1528, "completion_tokens": 8, "total_tokens": 1536,
        "prompt_tokens_details": {"cached_tokens": 1024},
    },
    "created": 1735120033, "system_fingerprint": None, "model": "qwen-plus",
    "id": "chatcmpl-6ada9ed2-7f33-9de2-8bb0-78bd4035025a",
}  # fmt: skip

THOUGHT = {
    **ANSWER,
    "choices": [
        {
            "message": {"role": "assistant", "content": "冠军是林远航。", "reasoning_content": "文档二写着冠军。"},
            "finish_reason": "stop", "index": 0,
        }
    ],
}  # fmt: skip


def fault(message: str, code: str, kind: str) -> dict[str, Any]:
    return {
        "error": {"message": message, "type": kind, "param": None, "code": code},
        "id": "chatcmpl-f5a1f1ee-dac6-9c1b-9bdb-2f0c22b8af45",
        "request_id": "f5a1f1ee-dac6-9c1b-9bdb-2f0c22b8af45",
    }


BLOCKED = fault("Input data may contain inappropriate content.", "data_inspection_failed", "data_inspection_failed")
BLOCKED_OLD = fault(
    "<400> InternalError.Algo.DataInspectionFailed: Output data may contain inappropriate content.",
    "DataInspectionFailed", "DataInspectionFailed",
)  # fmt: skip
THINKING = fault(
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "invalid_parameter_error", "invalid_request_error",
)  # fmt: skip
NO_JSON = fault(
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    "invalid_parameter_error", "invalid_request_error",
)  # fmt: skip
TOO_FAST = fault("You exceeded your current requests list.", "limit_requests", "limit_requests")
QUOTA = fault(
    "You exceeded your current quota, please check your plan and billing details.",
    "insufficient_quota", "insufficient_quota",
)  # fmt: skip
WRONG_KEY = fault("Incorrect API key provided.", "invalid_api_key", "invalid_request_error")
ARREARS = fault("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage")
BROKEN = fault("<500> InternalError.Algo: An error occurred in model serving.", "internal_error", "internal_error")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-0123456789abcdef0123456789abcdef")


async def replay(acts: list[Act], request: Request = REQUEST, **options: Any) -> tuple[Completion, FakeEndpoint]:
    async with FakeEndpoint(acts) as endpoint:
        chosen = ModelOptions(base_url=endpoint.base_url, **options)
        async with open_model("dashscope/qwen-plus", chosen) as model:
            return await model.generate(request), endpoint


async def test_an_answer_is_read_whole() -> None:
    reply, endpoint = await replay([Act("body", status=200, body=ANSWER)])
    assert (reply.text, reply.model, reply.finish_reason) == ("冠军是林远航。", "qwen-plus", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.cached_tokens) == (1528, 1024)
    body = endpoint.seen[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("qwen-plus", 0.2, 50)


async def test_thinking_is_off_because_nothing_is_streamed() -> None:
    _, endpoint = await replay([])
    assert endpoint.seen[0].body["enable_thinking"] is False
    assert "stream" not in endpoint.seen[0].body


async def test_what_was_thought_is_kept_apart() -> None:
    reply, _ = await replay([Act("body", status=200, body=THOUGHT)])
    assert (reply.text, reply.reasoning) == ("冠军是林远航。", "文档二写着冠军。")


async def test_the_prompt_of_a_json_reply_holds_the_word_that_it_insists_on() -> None:
    def strict(number: int, payload: Any) -> Act:
        said = any("json" in message["content"].lower() for message in payload["messages"])
        wants = payload.get("response_format", {}).get("type") == "json_object"
        return Act(text='{"ok": true}') if said and wants else Act("body", status=400, body=NO_JSON)

    request = Request(messages=REQUEST.messages, schema={"type": "object"})
    async with (
        FakeEndpoint(strict) as endpoint,
        open_model("dashscope/qwen-plus", ModelOptions(base_url=endpoint.base_url)) as model,
    ):
        assert (await model.generate(request)).text == '{"ok": true}'


@pytest.mark.parametrize("body", [BLOCKED, BLOCKED_OLD])
async def test_a_refusal_by_content_inspection_is_its_own_outcome_and_never_asked_again(body: dict[str, Any]) -> None:
    async with FakeEndpoint([Act("body", status=400, body=body)]) as endpoint:
        async with open_model("dashscope/qwen-plus", ModelOptions(base_url=endpoint.base_url)) as model:
            with pytest.raises(ContentBlocked, match="inappropriate"):
                await model.generate(REQUEST)
        assert endpoint.counts["asked"] == 1


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, THINKING, Rejected),
        (400, NO_JSON, Rejected),
        (429, TOO_FAST, RateLimited),
        (429, QUOTA, RateLimited),  # here a limit of the minute, unlike OpenAI's code of the same name
        (401, WRONG_KEY, Unauthorized),
        (400, ARREARS, Rejected),
        (500, BROKEN, ServerFault),
    ],
)
async def test_its_faults_have_their_types(status: int, body: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        await replay([Act("body", status=status, body=body)] * 3, attempts=1)
    assert type(caught.value) is kind
    assert body["error"]["message"][:40] in str(caught.value)


async def test_a_wrong_key_may_be_one_of_another_region() -> None:
    with pytest.raises(Unauthorized, match=r"DASHSCOPE_API_KEY.*dashscope-intl"):
        await replay([Act("body", status=401, body=WRONG_KEY)])


async def test_too_fast_is_waited_for_and_then_answered() -> None:
    reply, endpoint = await replay(
        [Act("status", status=429, body=TOO_FAST, retry_after="0"), Act("body", status=200, body=ANSWER)]
    )
    assert reply.text == "冠军是林远航。"
    assert endpoint.counts["asked"] == 2


async def test_it_is_sent_no_more_than_ten_texts_at_a_time() -> None:
    def strict(number: int, payload: Any) -> Act:
        message = "<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents"  # noqa: E501
        body = fault(message, "InvalidParameter", "InvalidParameter")
        return Act() if len(payload["input"]) <= 10 else Act("body", status=400, body=body)

    texts = [f"第{number}段" for number in range(37)]
    async with FakeEndpoint(strict) as endpoint:
        async with open_embedder("dashscope/text-embedding-v4", ModelOptions(base_url=endpoint.base_url)) as embedder:
            vectors = await embedder.embed(texts, kind="passage")
        assert sorted(len(seen.body["input"]) for seen in endpoint.seen) == [7, 10, 10, 10]
    assert vectors.shape == (37, 8)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
