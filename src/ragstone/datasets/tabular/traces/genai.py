"""The GenAI conventions of OpenTelemetry (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai).

Content is on attributes (`gen_ai.input.messages`…), or, as before version 1.37 of the conventions, on events of the
span."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.datasets.tabular.cells import scalar
from ragstone.datasets.tabular.traces.messages import texts_in, turns_in
from ragstone.datasets.tabular.traces.span import Kind, TraceSpan, first_of, json_value, passages_in, tokens

SKIPPED = ("gen_ai.input.", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.retrieval.",
           "gen_ai.tool.", "gen_ai.usage.", "gen_ai.prompt", "gen_ai.completion")  # fmt: skip
"""Prefixes of attributes that are no columns."""

_KINDS: dict[str, Kind] = {
    "chat": "llm", "generate_content": "llm", "text_completion": "llm", "retrieval": "retriever",
    "execute_tool": "tool", "invoke_agent": "", "invoke_workflow": "", "create_agent": "",
}  # fmt: skip
_EVENTS = {"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
           "gen_ai.tool.message": "tool"}  # fmt: skip


def read(span: TraceSpan, attributes: Mapping[str, Any], events: Sequence[tuple[str, Any]]) -> None:
    """Fills a span from its attributes and events; attributes of OpenInference come first."""
    operation = str(attributes.get("gen_ai.operation.name") or "")
    if operation not in _KINDS and not any(name.startswith("gen_ai.") for name in attributes):
        return
    span.kind = span.kind or _KINDS.get(operation, "")
    span.session = span.session or str(attributes.get("gen_ai.conversation.id") or "")
    span.model = span.model or str(first_of(attributes, "gen_ai.response.model", "gen_ai.request.model") or "")
    span.usage = span.usage or tokens(
        first_of(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        first_of(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        attributes.get("gen_ai.usage.cache_read.input_tokens"),
    )
    first = scalar(attributes.get("gen_ai.response.time_to_first_chunk"))
    if isinstance(first, int | float):
        span.first_token = float(first)
    _read_messages(span, attributes, events)
    if span.kind == "retriever":
        span.query = span.query or str(attributes.get("gen_ai.retrieval.query.text") or "")
        span.passages = span.passages or passages_in(_nested(attributes, "gen_ai.retrieval.documents"))
        span.input = span.input or span.query
    elif span.kind == "tool":
        span.output = span.output or _nested(attributes, "gen_ai.tool.call.result")
        span.input = span.input or _nested(attributes, "gen_ai.tool.call.arguments")
        span.passages = span.passages or passages_in(span.output)


def _read_messages(span: TraceSpan, attributes: Mapping[str, Any], events: Sequence[tuple[str, Any]]) -> None:
    details: Mapping[str, Any] = next(
        (found for name, found in events if name == "gen_ai.client.inference.operation.details"), {}
    )
    source = {**details, **attributes}
    given = _nested(source, "gen_ai.input.messages") or [
        {"role": _EVENTS[name], "content": found.get("content", "")} for name, found in events if name in _EVENTS
    ]
    said = _nested(source, "gen_ai.output.messages") or [
        found.get("message", found) for name, found in events if name == "gen_ai.choice"
    ]
    if given:
        span.prompt = span.prompt or texts_in([_nested(source, "gen_ai.system_instructions"), given])
        span.input = span.input or turns_in(given)
    if said:
        turns = turns_in([{"role": "assistant", **json_value(turn)} for turn in _dicts(said)])
        span.output = span.output or (turns[-1]["content"] if turns else None) or None


def _dicts(value: Any) -> list[Any]:
    value = json_value(value)
    turns = value if isinstance(value, list) else [value]
    return [turn for turn in turns if isinstance(json_value(turn), dict)]


def _nested(attributes: Mapping[str, Any], name: str) -> Any:
    """The value of an attribute: JSON, or the object or list whose leaves are attributes below that name."""
    if name in attributes:
        return json_value(attributes[name])
    below = {key.removeprefix(name + "."): value for key, value in attributes.items() if key.startswith(name + ".")}
    return _tree(below) if below else None


def _tree(flat: Mapping[str, Any]) -> Any:
    """The object, or the list, with these dotted names."""
    inner: dict[str, dict[str, Any]] = {}
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        head, _, rest = name.partition(".")
        if rest:
            inner.setdefault(head, {})[rest] = value
            tree.setdefault(head, None)
        else:
            tree[head] = value
    tree |= {head: _tree(below) for head, below in inner.items()}
    if tree and all(name.isdigit() for name in tree):
        return [tree[name] for name in sorted(tree, key=int)]
    return tree
