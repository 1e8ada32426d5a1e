"""Questions, answers and messages in what programs log: plain texts, JSON of any shape, serialised chat messages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.datasets.tabular.traces.span import json_value

_ASKED = ("question", "query", "user_input", "input", "user_query", "user_message", "query_str", "query_bundle",
          "prompt", "text", "message", "content")  # fmt: skip
_ANSWERED = ("answer", "response", "output", "result", "output_text", "content", "text", "generation", "generations",
             "message", "choices", "data", "kwargs")  # fmt: skip
_HISTORY = ("chat_history", "history")
_ROLES = {
    "user": "user", "human": "user", "humanmessage": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "aimessage": "assistant", "aimessagechunk": "assistant",
    "model": "assistant", "bot": "assistant", "system": "system", "systemmessage": "system", "developer": "system",
    "tool": "tool", "function": "tool", "toolmessage": "tool",
}  # fmt: skip
_DEEPEST = 8  # levels of JSON that are searched


def question_in(value: Any) -> str | list[dict[str, str]] | None:
    """The question of an input: a text, or the messages that end with it; None if there is none."""
    value = json_value(value)
    if isinstance(value, dict):
        messages = turns_in(value.get("messages"))
        question = messages or _text_under(value, _ASKED)
        earlier = next((found for name in _HISTORY if (found := turns_in(value.get(name)))), None)
        if isinstance(question, str) and earlier:
            return [*earlier, {"role": "user", "content": question}]
        return question
    if isinstance(value, list) and (messages := turns_in(value)):
        return messages
    return value if isinstance(value, str) and value.strip() else None


def answer_in(value: Any) -> str | None:
    """The answer of an output; None if there is none."""
    value = json_value(value)
    if isinstance(value, dict):
        messages = turns_in(value.get("messages"))
        return messages[-1]["content"] if messages else _text_under(value, _ANSWERED)
    if isinstance(value, list):
        messages = turns_in(value)
        if messages:
            return messages[-1]["content"]
        return answer_in(value[0]) if value else None
    return value if isinstance(value, str) else None


def turns_in(value: Any) -> list[dict[str, str]] | None:
    """Chat messages as {"role", "content"}: those of OpenAI, of LangChain (serialised or not), with the parts of the
    GenAI conventions, pairs of a role and a text. None if the value is no list of messages with a user's among them or
    an assistant's."""
    value = json_value(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) and not _pair(value[0]):
        value = value[0]  # LangChain logs a batch
    if not isinstance(value, list) or not value:
        return None
    turns = [turn for message in value if (turn := _turn(json_value(message))) is not None]
    spoken = any(turn["role"] in ("user", "assistant") for turn in turns)
    return turns if spoken and len(turns) == len(value) else None


def texts_in(value: Any, depth: int = 0) -> str:
    """All texts in a JSON value, one a line: what a model was given, whatever the shape."""
    value = json_value(value)
    if isinstance(value, str):
        return value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return "\n".join(text for item in inner if depth < _DEEPEST and (text := texts_in(item, depth + 1)))


def _turn(message: Any) -> dict[str, str] | None:
    if isinstance(message, list):
        return _named(message[0], message[1]) if _pair(message) else None
    if not isinstance(message, dict):
        return None
    for inner in ("message", "kwargs", "data"):
        if isinstance(message.get(inner), dict):
            kind = message.get("type") if inner == "data" else _class_of(message)
            return _turn({"type": kind, **message[inner]} if kind else message[inner])
    role = message.get("role") or message.get("message.role") or message.get("type")
    content = next((message[key] for key in ("content", "parts", "message.content", "contents") if key in message), "")
    return _named(role, content)


def _class_of(message: Mapping[str, Any]) -> str:
    """The class of a message that LangChain serialised."""
    names = message.get("id")
    return str(names[-1]) if isinstance(names, list) and names else ""


def _named(role: Any, content: Any) -> dict[str, str] | None:
    known = _ROLES.get(str(role).lower())
    return None if known is None else {"role": known, "content": _content(content)}


def _content(content: Any) -> str:
    """The text of a message; of its parts, those with a text or the response of a tool."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") not in ("reasoning", "thinking", "tool_call", "tool_use"):
            names = ("text", "content", "response", "result", "message_content.text", "message_content")
            inner = next((part[name] for name in names if part.get(name)), None)
            texts.append(inner if isinstance(inner, str) else texts_in(inner))
    return "\n".join(text for text in texts if text)


def _pair(value: Sequence[Any]) -> bool:
    return len(value) == 2 and isinstance(value[0], str) and value[0].lower() in _ROLES


def _text_under(value: Mapping[str, Any], names: Sequence[str], depth: int = 0) -> str | None:
    """The text under the first of these names, or nested below it; at the top also the only text, else all as JSON."""
    for name in names:
        inner = json_value(value.get(name)) if depth == 0 else value.get(name)
        while isinstance(inner, list) and inner:  # the first of a batch
            inner = inner[0]
        if isinstance(inner, str) and inner.strip():
            return inner
        if isinstance(inner, dict) and depth < _DEEPEST and (found := _text_under(inner, names, depth + 1)):
            return found
    if depth:
        return None
    texts = [inner for inner in value.values() if isinstance(inner, str) and inner.strip()]
    return texts[0] if len(texts) == 1 else json.dumps(value, ensure_ascii=False) if value else None
