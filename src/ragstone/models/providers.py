"""The providers: one row each, and nothing about them anywhere else. The clients are in `endpoint.py`.

A row says where an endpoint is, which environment variable has its key, and how it differs from OpenAI's chat and
embedding interface. To add a provider, add a row here or, in another package, an entry point in the group
`ragstone.models` with the provider's name and a `Provider` (or any other `Source`) as its value.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ragstone.models.options import ModelOptions
from ragstone.models.structured import Form
from ragstone.types import Embedder, Model


class Source(Protocol):
    """The meaning of the name before the `/`: opens chat models and embedders by the name after the `/`."""

    def model(self, name: str, options: ModelOptions) -> AbstractAsyncContextManager[Model]: ...
    def embedder(self, name: str, options: ModelOptions) -> AbstractAsyncContextManager[Embedder]: ...


@dataclass(frozen=True)
class BatchInterface:
    """How a provider takes many requests at once, for replies within a day and a lower price (`models/batches`).

    kind: "files" (OpenAI's `/files` and `/batches`), "messages" (Anthropic's `/messages/batches`), or "offline" (files
        that the user runs with `vllm run-batch`).
    endpoint: the path that each line of a file names. window: the time that a batch may take; "" if it is not sent.
    requests, size: the largest batch, in requests and in bytes. line: the largest request, in bytes.
    price: the share of the usual price.
    """

    kind: Literal["files", "messages", "offline"] = "files"
    endpoint: str = "/v1/chat/completions"
    window: str = "24h"
    requests: int = 50_000
    size: int = 200_000_000
    line: int = 200_000_000
    price: float = 0.5


@dataclass(frozen=True)
class Provider:
    """An endpoint with OpenAI's interface or Anthropic's, and its quirks.

    base_url: "" if the user must give it. key: environment variable. key_optional: it also works without a key.
    example: one of its chat models, for messages. regions: its other base URLs, which need other keys.
    structured: the form to try first if a reply must match a JSON schema (`models/structured.py`); if the endpoint does
        not support it, the next is tried. DashScope and DeepSeek refuse "json_object" unless the prompt contains the
        word json, which ragstone adds.
    max_tokens: the field that limits the answer. OpenAI's reasoning models refuse `max_tokens`.
    extra: fields to add to each chat request. DashScope's `enable_thinking` must be off unless streaming, which
        ragstone does not use.
    embedding_batch: maximum number of texts in one embedding request.
    blocked: error codes, or words of the message, for a refusal by content inspection. Never retried.
    out_of_credit: error codes, or words of the message, for errors that waiting does not cure, mostly with status 429.
    bad_generation: error codes that come with status 4xx although the model, not the request, is at fault. Retried.
    interface: "messages" for Anthropic's own (`models/messages_api.py`) instead of OpenAI's for chats.
    kept: the tokens from which a model's prompt cache keeps what prompts begin with, by the first of these parts that
        the model's name contains.
    window: the field that asks for a context window, for endpoints whose default is small.
    window_advice: what to do where the endpoint saw only a part of a prompt.
    batch: its batch interface; None if it has none.
    sample_seed: the sample's number may be sent as a seed if none is requested, so that a run can be repeated.
    """

    name: str
    base_url: str
    key: str
    example: str = "MODEL"
    key_optional: bool = False
    regions: tuple[str, ...] = ()
    structured: Form = "json_schema"
    max_tokens: str = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)
    embedding_batch: int = 64
    blocked: tuple[str, ...] = ()
    out_of_credit: tuple[str, ...] = ("insufficient_quota",)
    bad_generation: tuple[str, ...] = ()
    sample_seed: bool = False
    interface: Literal["chat", "messages"] = "chat"
    kept: Mapping[str, int] = field(default_factory=lambda: {"": 1_024})
    window: str = ""
    window_advice: str = ""
    batch: BatchInterface | None = None

    def kept_from(self, model: str) -> int:
        """The tokens from which this model keeps what prompts begin with."""
        name = model.replace(".", "-")
        return next(tokens for part, tokens in self.kept.items() if part in name)


_ANTHROPIC_KEPT = {
    "haiku-4-5": 4_096, "opus-4-5": 4_096, "opus-4-6": 4_096, "opus-4-7": 2_048, "-3-haiku": 2_048, "3-5-haiku": 2_048,
    "sonnet-5-5": 512, "-4": 1_024, "-3": 1_024, "sonnet-5": 1_024, "": 512,
}  # fmt: skip
# Base URLs and caches as the providers' own pages give them, looked up in November 2026.
_ROWS: tuple[Provider, ...] = (
    Provider(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "gpt-4o-mini",
        max_tokens="max_completion_tokens",
        embedding_batch=256,
        blocked=("content_policy_violation",),
        out_of_credit=("insufficient_quota", "billing_hard_limit_reached"),
        batch=BatchInterface(),
    ),
    Provider(
        "dashscope",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        "qwen-plus",
        regions=("https://dashscope-intl.aliyuncs.com/compatible-mode/v1",),
        structured="json_object",
        extra={"enable_thinking": False},
        embedding_batch=10,
        blocked=("data_inspection_failed", "DataInspectionFailed"),
        out_of_credit=(),  # its insufficient_quota is a limit of tokens a minute
        batch=BatchInterface(size=500_000_000, line=6_000_000),
    ),
    Provider(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        "deepseek-chat",
        structured="json_object",
        blocked=("Content Exists Risk",),
    ),
    Provider(
        "zhipu",
        "https://open.bigmodel.cn/api/paas/v4",
        "ZHIPUAI_API_KEY",
        "glm-4-flash",
        regions=("https://api.z.ai/api/paas/v4",),
        structured="json_object",
        blocked=("1301",),
        out_of_credit=("1113",),
        batch=BatchInterface(endpoint="/v4/chat/completions", window="", size=100_000_000),
    ),
    Provider(
        "moonshot",
        "https://api.moonshot.cn/v1",
        "MOONSHOT_API_KEY",
        "moonshot-v1-32k",
        regions=("https://api.moonshot.ai/v1",),
        structured="json_object",
        out_of_credit=("exceeded_current_quota_error",),
    ),
    Provider(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "llama-3.3-70b-versatile",
        structured="json_object",  # json_schema only with some of its models
        bad_generation=("json_validate_failed",),
        batch=BatchInterface(),
    ),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "meta-llama/llama-3.3-70b-instruct"),
    # Its newest models refuse tools that have to be called, those before 4.5 the schema of a reply.
    Provider(
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "claude-haiku-4-5",
        blocked=("content filtering policy",),
        out_of_credit=("enforced_spend_limit_reached", "credit balance is too low", "specified API usage limits"),
        interface="messages",
        kept=_ANTHROPIC_KEPT,
        batch=BatchInterface("messages", requests=100_000, size=256_000_000, line=256_000_000),
    ),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
        embedding_batch=100,
        kept={"2-5": 2_048, "": 4_096},
    ),
    Provider(
        "ollama",
        "http://localhost:11434/v1",
        "OLLAMA_API_KEY",
        "llama3.2",
        key_optional=True,
        window="num_ctx",  # heeded by its native interface, and by this one only in some versions (ollama/ollama#16814)
        window_advice="Start the server with OLLAMA_CONTEXT_LENGTH=32768, or set PARAMETER num_ctx in a Modelfile.",
    ),
    Provider(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        "Qwen/Qwen2.5-7B-Instruct",
        key_optional=True,
        batch=BatchInterface("offline", requests=1_000_000, size=10_000_000_000, price=1.0),
    ),
    # Many gateways serve OpenAI's batches, too; at what price is their owner's decision.
    Provider("compat", "", "COMPAT_API_KEY", key_optional=True, batch=BatchInterface(price=1.0)),
)

PLUGINS: dict[str, Provider] = {row.name: row for row in _ROWS}
