"""OpenInference's attributes (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md)."""

import re
from collections.abc import Mapping
from typing import Any

from ragstone.datasets.tabular.traces.messages import question_in, texts_in, turns_in
from ragstone.datasets.tabular.traces.span import Kind, TraceSpan, json_value, passages_in, tokens
from ragstone.types import Passage

SKIPPED = ("input.", "output.", "llm.input_messages", "llm.output_messages", "llm.prompts", "llm.choices", "retrieval.",
           "reranker.", "embedding.", "llm.tools", "llm.prompt_template", "llm.token_count", "message.")  # fmt: skip
"""Prefixes of attributes that are no columns."""

_KINDS: dict[str, Kind] = {"RETRIEVER": "retriever", "RERANKER": "reranker", "LLM": "llm", "TOOL": "tool"}
_DOCUMENT = re.compile(
    r"(?P<list>retrieval\.documents|reranker\.output_documents|reranker\.input_documents)\.(?P<place>\d{1,9})"
    r"\.document\.(?P<what>content|id|score|metadata)"
)
_MESSAGE = re.compile(
    r"llm\.(?P<list>input_messages|output_messages)\.(?P<place>\d{1,9})\.message\."
    r"(?P<what>role|content$|contents\.\d+\.message_content\.text)"
)
_PROMPTS = ("llm.prompts", "llm.prompt_template.variables")


def read(span: TraceSpan, attributes: Mapping[str, Any]) -> None:
    """Fills a span from its attributes."""
    span.kind = _KINDS.get(str(attributes.get("openinference.span.kind")), span.kind)
    span.input, span.output = attributes.get("input.value"), attributes.get("output.value")
    span.session = str(attributes.get("session.id") or "")
    span.model = str(attributes.get("llm.model_name") or "")
    span.usage = tokens(
        attributes.get("llm.token_count.prompt"), attributes.get("llm.token_count.completion"),
        attributes.get("llm.token_count.prompt_details.cache_read"),
    )  # fmt: skip
    documents = _documents(attributes)
    span.passages = documents.get("reranker.output_documents", documents.get("retrieval.documents"))
    span.candidates = documents.get("reranker.input_documents")
    if "reranker.output_documents" in documents:
        span.kind = "reranker"
    elif span.passages is not None and span.kind != "tool":
        span.kind = "retriever"
    if span.kind in ("retriever", "reranker"):
        question = attributes.get("reranker.query") or question_in(span.input)
        span.query = question if isinstance(question, str) else ""
    if span.kind in ("retriever", "tool") and span.passages is None:
        span.passages = passages_in(span.output)
    if span.kind == "retriever" and span.passages is not None:
        _recover_ids(span.passages, passages_in(span.output) or [])
    if span.kind == "llm":
        _read_messages(span, attributes)


def _read_messages(span: TraceSpan, attributes: Mapping[str, Any]) -> None:
    """The messages of a model call: its prompt, its question and its answer."""
    lists: dict[str, dict[int, dict[str, str]]] = {}
    for name, value in attributes.items():
        if (match := _MESSAGE.match(name)) is not None:
            message = lists.setdefault(match["list"], {}).setdefault(int(match["place"]), {"role": "", "content": ""})
            if match["what"] == "role":
                message["role"] = str(value)
            else:
                message["content"] = "\n".join(filter(None, [message["content"], str(value)]))
    given, said = ([items[place] for place in sorted(items)] for items in (lists.get(name, {}) for name in _LISTS))
    prompts = [value for name, value in attributes.items() if name.startswith(_PROMPTS)]
    span.prompt = "\n".join(message["content"] for message in given) or texts_in(span.input)
    span.prompt = "\n".join([span.prompt, *(texts_in(value) for value in prompts)])
    if turns := turns_in(given):
        span.input = turns
    if answer := "\n".join(message["content"] for message in said if message["content"]):
        span.output = answer


_LISTS = ("input_messages", "output_messages")


def _documents(attributes: Mapping[str, Any]) -> dict[str, list[Passage]]:
    """The documents of each list, in order."""
    lists: dict[str, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        if (match := _DOCUMENT.match(name)) is not None:
            document = lists.setdefault(match["list"], {}).setdefault(int(match["place"]), {})
            _put(document, match["what"], name[match.end() :].removeprefix("."), value)
    return {name: passages_in([items[place] for place in sorted(items)]) or [] for name, items in lists.items()}


def _put(document: dict[str, Any], what: str, inner: str, value: Any) -> None:
    if what != "metadata":
        document["text" if what == "content" else what] = value
        return
    if not inner:
        value = json_value(value)
        document.setdefault("metadata", {}).update(value if isinstance(value, dict) else {})
    else:
        document.setdefault("metadata", {})[inner] = value


def _recover_ids(passages: list[Passage], logged: list[Passage]) -> None:
    """Gives passages without an id that of the same text in the retriever's output: LangChain's instrumentation leaves
    the ids of documents out of the attributes."""
    ids = {passage.text: passage.id for passage in logged if passage.id}
    for place, passage in enumerate(passages):
        if not passage.id and passage.text in ids:
            passages[place] = Passage(
                ids[passage.text], passage.text, passage.title, passage.relevant, passage.score, passage.meta
            )
