"""The providers: one row each, and nothing else about them anywhere. The table knows no client (`endpoint.py` does).

A row says where an endpoint is, which environment variable holds its key, and in which ways it differs from OpenAI's
chat and embedding interface. Adding a provider is adding a row here, or, from another package, an entry point of the
group `ragstone.models` whose name is the provider's and whose value is a `Provider` (or any other `Source`).
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragstone.models.options import ModelOptions
from ragstone.models.structured import Form
from ragstone.types import Embedder, Model

__all__ = ["PLUGINS", "Provider", "Source"]


class Source(Protocol):
    """What a name before the `/` stands for: it opens chat models and embedders by the name after the `/`."""

    def model(self, name: str, options: ModelOptions) -> AbstractAsyncContextManager[Model]: ...
    def embedder(self, name: str, options: ModelOptions) -> AbstractAsyncContextManager[Embedder]: ...


@dataclass(frozen=True)
class Provider:
    """An endpoint that speaks OpenAI's interface, with its quirks.

    base_url: "" where the user must name it. key: environment variable. key_optional: it also works without.
    example: a chat model of it, for messages. regions: its other base URLs, where keys of this one do not work.
    structured: the first way to try where a reply must match a JSON schema (`models/structured.py`); an endpoint that
        does not take it is asked in the next. DashScope and DeepSeek refuse "json_object" unless the prompt has the
        word json, which it then has.
    max_tokens: the field for the longest answer. OpenAI's reasoning models refuse `max_tokens`.
    extra: fields to add to each chat request. DashScope's `enable_thinking` must be off unless streaming, which
        ragstone does not use.
    embedding_batch: texts in one embedding request at most.
    blocked: error codes, or words of the message, by which it says that its content inspection refused. Never retried.
    out_of_credit: error codes that come as 429 but mean that waiting does not help.
    bad_generation: error codes that come as 4xx but mean that the model, not the request, went wrong. Retried.
    sample_seed: it may be sent the sample's number as a seed where none was asked for, so that a run can be repeated.
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
    out_of_credit: tuple[str, ...] = ()
    bad_generation: tuple[str, ...] = ()
    sample_seed: bool = False


# Base URLs as the providers' own pages give them, looked up in November 2026.
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
    ),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "meta-llama/llama-3.3-70b-instruct"),
    # Its compatible endpoint ignores response_format and takes tools.
    Provider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "claude-haiku-4-5", structured="tool"),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-2.5-flash",
        embedding_batch=100,
    ),
    Provider("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY", "llama3.2", key_optional=True),
    Provider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", "Qwen/Qwen2.5-7B-Instruct", key_optional=True),
    Provider("compat", "", "COMPAT_API_KEY", key_optional=True),
)

PLUGINS: dict[str, Provider] = {row.name: row for row in _ROWS}
