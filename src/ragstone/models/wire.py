"""Builds request bodies and parses reply bodies of OpenAI's interface. No I/O happens here."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ragstone.errors import BadReply, ContentBlocked, PromptCut
from ragstone.models.providers import Provider
from ragstone.models.structured import Form, ParsedReply, ask_for_schema
from ragstone.structs import plain_text
from ragstone.text import estimate_tokens, most_tokens
from ragstone.types import Completion, Request, Usage

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

# The tag at the beginning of a reply, or only its end if the model's chat template opened it already.
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought)>(?P<inside>.*?)(?:</\1>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"\A(?P<inside>(?:(?!<think>).)*?)</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)

# A prompt of which the endpoint counts less than this share was cut, if it counts at all: below the smallest window it
# counts something else, and estimates of short prompts are rough.
_SHARE_SEEN, _SMALLEST_WINDOW, _ROUGH = 0.6, 256, 1_000
_ANSWER_TOKENS = 2_048  # assumed for the window if the request sets no limit
_WINDOW_STEP = 8_192  # tokens; a window that changed with every request would load the model anew each time
_MAX_TOKENS = 2**53  # a larger number is not a count
# Where DeepSeek, Anthropic and gateways to it, and Moonshot count the prompt tokens read from the provider's cache; the
# others do as OpenAI does, in `prompt_tokens_details`.
_CACHED = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens")
_WRITTEN = ("cache_write_tokens", "cache_creation_input_tokens")
_ANTHROPIC_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OF_CACHES = frozenset({"prompt_tokens_details", *_CACHED, *_WRITTEN})
# How some endpoints spell the reasons that OpenAI calls "stop" and "length". The tool had to be called.
_FINISHES = {
    "tool_calls": "stop",
    "tool_use": "stop",
    "function_call": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "MAX_TOKENS": "length",
}


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: Any = None


class _ChatChoice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Chat(msgspec.Struct):
    choices: list[_ChatChoice]
    model: str | None = None
    usage: Any = None
    timings: Any = None  # of llama.cpp


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Vectors(msgspec.Struct):
    data: list[_Vector]
    usage: Any = None


def encode(payload: Any) -> bytes:
    """JSON bytes. If there are lone surrogates, which UTF-8 cannot hold, everything is sent as ASCII escapes."""
    try:
        return msgspec.json.encode(payload, enc_hook=plain_text)
    except UnicodeEncodeError:
        return json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def parse(body: bytes, kind: type[T], where: str) -> T:
    """A reply's body as a `kind`; `BadReply` if it is not one."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise BadReply(f"{where}: the reply is not of the promised form ({error}).") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # what the strict parser refuses: escaped lone surrogates, bytes that are not UTF-8
        return msgspec.convert(json.loads(body.decode("utf-8", "replace")), kind)
    except msgspec.ValidationError as error:
        raise BadReply(f"{where}: the reply is not of the promised form ({error}).") from None
    except (ValueError, RecursionError):
        raise _not_json(body, where) from None


def _not_json(body: bytes, where: str) -> BadReply:
    start = body[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        page = BadReply(f"{where}: the reply is a web page. Check --base-url.")
        page.permanent = True  # the address serves pages, not models
        return page
    what = f"{len(body)} bytes of something else"
    if not start:
        what = "it is empty"
    elif start.startswith((b"{", b"[")):
        what = f"it breaks off or is damaged, {len(body)} bytes"
    return BadReply(f"{where}: the reply is not JSON ({what}).")


def chat_payload(provider: Provider, model: str, request: Request, form: Form | None = None) -> dict[str, Any]:
    """The body of a chat request, with the quirks of this provider. `form`: how to ask for the request's schema; None
    if it has none."""
    messages = [{"role": turn.role, "content": turn.content} for turn in request.messages]
    payload: dict[str, Any] = {"model": model, "messages": messages, **provider.extra}
    sampling = request.sampling
    if sampling.temperature is not None:
        payload["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        payload["top_p"] = sampling.top_p
    if sampling.max_tokens is not None:
        payload[provider.max_tokens] = sampling.max_tokens
    if sampling.seed is not None:
        # With the same seed, all samples of a request would be the same answer.
        payload["seed"] = sampling.seed + request.sample
    elif provider.sample_seed:
        payload["seed"] = request.sample
    if sampling.stop:
        payload["stop"] = list(sampling.stop)
    if form is not None:
        ask_for_schema(payload, form, request)
    if provider.window:
        needed = sum(map(estimate_tokens, prompt_texts(payload))) + (sampling.max_tokens or _ANSWER_TOKENS)
        payload[provider.window] = _WINDOW_STEP * math.ceil(1.25 * needed / _WINDOW_STEP)
    return payload


def prompt_texts(payload: Mapping[str, Any]) -> list[str]:
    """The texts of the prompt in the body of a request, also of one for a message."""
    contents = [payload.get("system"), *(message["content"] for message in payload["messages"])]
    return [_text(content) for content in contents if content]


def check_prompt_seen(texts: Sequence[str], usage: Usage, where: str, provider: Provider) -> None:
    """Raises `PromptCut` if the endpoint counts far fewer tokens than the texts of the prompt have."""
    seen = usage.prompt_tokens
    if seen < _SMALLEST_WINDOW or seen * 2 > sum(map(len, texts)):
        return
    if seen >= _SHARE_SEEN * sum(map(most_tokens, texts)):
        return
    sent = sum(map(estimate_tokens, texts))
    if sent >= _ROUGH and seen < _SHARE_SEEN * sent:
        advice = provider.window_advice or "Use a model or a server setting with a larger context window."
        raise PromptCut(f"{where}: it saw {seen:,} tokens of a prompt of about {sent:,}: the rest was cut. {advice}")


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning): splits off the reasoning before an answer. Reasoning that never ends leaves no answer."""
    match = _THOUGHT.match(text)
    if match is None and "</think>" in text:
        match = _THOUGHT_END.match(text)
    if match is None:
        return text, ""
    return text[match.end() :].lstrip(), match["inside"].strip()


def _text(content: str | list[Any] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _count(value: Any) -> int:
    if type(value) is int:
        return value if 0 <= value <= _MAX_TOKENS else 0
    return int(value) if isinstance(value, float) and 0 <= value <= _MAX_TOKENS else 0


def read_usage(usage: Any) -> Usage:
    """Token counts from any of the known places; 0 if an endpoint does not count. `prompt_tokens` has all of the
    prompt, `cached_tokens` and `written_tokens` those of them that the provider read from its prompt cache and wrote to
    it."""
    if not isinstance(usage, dict):
        return Usage(requests=1)
    prompt, answer = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt and _OF_CACHES.isdisjoint(usage):
        return Usage(prompt, answer, requests=1)
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = details.get("cached_tokens")
    if cached is None:
        cached = next((usage[name] for name in _CACHED if name in usage), 0)
    if not prompt:  # Anthropic's own interface counts apart what was read from the cache and what was written to it
        prompt = sum(_count(usage.get(name)) for name in _ANTHROPIC_PROMPT)
        answer = answer or _count(usage.get("output_tokens"))
    read = min(_count(cached), prompt)
    written = next((place[name] for name in _WRITTEN for place in (details, usage) if place.get(name)), 0)
    return Usage(prompt, answer, read, requests=1, written_tokens=min(_count(written), prompt - read))


def _with_timings(usage: Usage, timings: Any) -> Usage:
    """The counts with llama.cpp's count of cached tokens, which its older versions give only there."""
    if usage.cached_tokens or not isinstance(timings, dict):
        return usage
    return msgspec.structs.replace(usage, cached_tokens=min(_count(timings.get("cache_n")), usage.prompt_tokens))


def _arguments(calls: Any) -> str | None:
    """The arguments of tool calls as JSON; None if there was no call. Several calls become several lines, which are not
    one JSON reply and are refused by the parser of the reply."""
    lines = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if arguments is not None:
            lines.append(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))
    return "\n".join(lines) if lines else None


def read_chat(body: bytes, where: str, *, model: str, seconds: float, formed: bool) -> ParsedReply:
    """Parses a chat reply. `formed`: a structured reply was requested; then the arguments of a tool call are the text,
    and a code fence around all of it is removed.

    Raises `BadReply` for anything but a chat completion, `ContentBlocked` if a filter left nothing of it.
    """
    reply = parse(body, _Chat, where)
    if not reply.choices:
        raise BadReply(f"{where}: the reply has no choices.")
    choice = reply.choices[0]
    message, finish = choice.message, choice.finish_reason or ""
    text, inline = split_reasoning(_text(message.content))
    arguments = _arguments(message.tool_calls) if formed else None
    if not text and arguments is None and finish.startswith("content_filter"):
        raise ContentBlocked(f"{where}: content inspection withheld the answer.")
    separate = message.reasoning_content or (message.reasoning if isinstance(message.reasoning, str) else "")
    if arguments is not None:
        text = arguments
    elif formed:
        text = text.lstrip("\ufeff")
        text = match["inside"] if (match := _FENCE.match(text)) else text
    usage = read_usage(reply.usage)
    completion = Completion(
        text=text or message.refusal or "",
        reasoning="\n\n".join(part for part in (separate, inline) if part),
        finish_reason=_FINISHES.get(finish, finish),
        usage=_with_timings(usage, reply.timings) if reply.timings else usage,
        model=reply.model or model,
        seconds=seconds,
    )
    return ParsedReply(completion, called=arguments is not None, refused=bool(message.refusal and not text))


def read_vectors(body: bytes, count: int, where: str) -> "np.ndarray[Any, Any]":
    """The (count, dimensions) float32 vectors of an embedding reply, in the order of the texts and scaled to unit
    length; `BadReply` if any is missing, has another length, or is zero or not finite."""
    import numpy as np  # noqa: PLC0415  (heavy, and only embedders need it)

    vectors = parse(body, _Vectors, where).data
    rows: list[list[float] | None] = [None] * count
    for place, vector in enumerate(vectors):
        index = place if vector.index is None else vector.index
        if not 0 <= index < count or rows[index] is not None:
            raise BadReply(f"{where}: the reply numbers its vectors wrongly (index {index} of {count}).")
        rows[index] = vector.embedding
    complete = [row for row in rows if row]
    if len(complete) != count or len({len(row) for row in complete}) != 1:
        raise BadReply(f"{where}: {count} texts were sent, and the reply does not hold one vector for each.")
    matrix = np.asarray(complete, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise BadReply(f"{where}: the reply has a vector that is zero or not finite.")
    return np.asarray(matrix / lengths, dtype=np.float32)
