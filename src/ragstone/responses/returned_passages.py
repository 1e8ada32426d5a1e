"""The passages that a system or a search returned: texts, mappings and documents of frameworks, by their fields."""

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ragstone.errors import SystemFailed
from ragstone.types import Passage, Response

ANSWERS = (
    "answer", "output", "result", "response", "text", "content", "output_text", "reply", "generation", "completion",
    "replies", "answers",
)  # fmt: skip
PASSAGES = (
    "contexts", "context", "documents", "docs", "source_documents", "source_nodes", "sources", "passages",
    "retrieved_contexts", "retrieved_documents", "retrieved_passages", "chunks",
)  # fmt: skip
_TEXTS = ("text", "content", "page_content", "passage", "body", "chunk", "snippet")
_IDS = ("id", "id_", "node_id", "doc_id", "document_id", "chunk_id", "_id", "source", "url", "path", "file_name")
_METADATA = ("metadata", "meta")
_LONGEST_PROBE = 200  # characters of a passage that are looked for in the prompt


def contexts_in(value: Any) -> list[Any]:
    """The passages in `contexts`, as they are: those of a list, a single one, or those that a mapping or an object has
    under the name of such. Raises SystemFailed for what is no passage: the name is ours, so nothing else is meant."""
    if value is None or (isinstance(value, Mapping) and not value):
        return []
    if not isinstance(value, list | tuple):
        if isinstance(value, str) or _passage(value) is not None:
            return [value]
        fields = fields_of(value)
        if not any(name in fields for name in PASSAGES):
            raise no_passage("contexts", value)
        found = {name: items for name in PASSAGES if (items := contexts_in(fields.get(name)))}
        lists = [name for name in found if name != "sources" and isinstance(fields[name], list | tuple)]
        if any(found[name] != found[lists[0]] for name in lists):
            raise SystemFailed(
                "no_passages",
                f"The system returned `contexts` with several lists of passages ({', '.join(lists)}). Return a list of "
                "texts or documents.",
            )
        return next(iter(found.values()), [])
    for at, item in enumerate(value):
        if not isinstance(item, str) and _passage(item) is None:
            raise no_passage(f"contexts[{at}]", item)
    return list(value)


def passages_of(items: Iterable[Any]) -> tuple[Passage, ...]:
    """The passages among these items: texts, mappings, documents of a framework, or pairs of one and its score.

    A passage without an id gets one from its text, so that the same passage has the same id in every answer. Further
    texts under one id (chunks of a file that are named by the file) get `ID#2`, `ID#3`…."""
    passages: dict[str, Passage] = {}
    counts: Counter[str] = Counter()
    texts: set[tuple[str, str]] = set()
    for item in items:
        passage = _passage(item)
        if passage is None or (key := (passage.id, passage.text)) in texts:
            continue
        texts.add(key)
        name = passage.id
        while name in passages:  # numbered before, too, where passages of several retrievers are put together
            counts[passage.id] += 1
            name = f"{passage.id}#{counts[passage.id] + 1}"
        passages[name] = replace(passage, id=name)
    return tuple(passages.values())


def found_passages(value: Any) -> tuple[Passage, ...]:
    """The passages in what a search returned: a list of them, or a mapping or an object that has such a list. Raises
    SystemFailed ("no_passages") where there is none; an empty list is a search that found nothing."""
    if isinstance(value, Response):
        return value.passages
    if isinstance(value, list | tuple):
        if (passages := passages_of(value)) or not value:
            return passages
    elif value is not None and not isinstance(value, str | bytes | bool | int | float):
        fields = fields_of(value)
        passages = first_passages([fields, *inner_fields(fields)])
        if passages or any(name in fields for name in PASSAGES):
            return passages
    raise SystemFailed(
        "no_passages",
        f"The search returned {type(value).__name__} without passages. Return a list of texts or documents.",
    )


def first_passages(sources: Iterable[Mapping[str, Any]]) -> tuple[Passage, ...]:
    for fields in sources:
        for name in PASSAGES:
            value = fields.get(name)
            if isinstance(value, list | tuple) and (passages := passages_of(value)):
                return passages
            if isinstance(value, str) and value.strip() and name in ("context", "contexts"):
                return passages_of([value])
    return ()


def is_empty_list(fields: Mapping[str, Any], name: str) -> bool:
    """Whether a field of passages says that there are none."""
    return isinstance(value := fields.get(name), list | tuple) and not value


def probe(passage: Passage) -> str:
    """The beginning of a passage, which is looked for in a prompt; templates may cut its end."""
    return passage.text.strip()[:_LONGEST_PROBE]


def _passage(item: Any) -> Passage | None:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(_text_id(item), str(item)) if item.strip() else None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int | float):
        inner = _passage(item[0])
        return None if inner is None else replace(inner, score=_number(item[1]))
    fields = fields_of(item)
    if (node := fields.get("node")) is not None:  # LlamaIndex: a node with a score
        fields = {**fields_of(node), **{key: value for key, value in fields.items() if key == "score"}}
    text = first_text(fields, _TEXTS)
    if text is None:
        return None
    metadata: Mapping[str, Any] = next(
        (fields[name] for name in _METADATA if isinstance(fields.get(name), Mapping)), {}
    )
    score, title = fields.get("score"), fields.get("title", metadata.get("title", ""))
    return Passage(
        _first_id(fields) or _first_id(metadata) or _text_id(text),
        text,
        title=title if isinstance(title, str) else "",
        score=_number(score),
    )


def no_passage(name: str, value: Any) -> SystemFailed:
    return SystemFailed(
        "no_passages",
        f"The system returned `{name}` as {shown_value(value)}, which is no passage. Return a list of texts or "
        "documents.",
    )


def shown_value(value: Any) -> str:
    if value is None:
        return "None"
    plain = isinstance(value, bool | int | float | bytes | list | tuple | Mapping)
    return f"{type(value).__name__} {str(value)[:40]}" if plain else type(value).__name__


def fields_of(value: Any) -> Mapping[str, Any]:
    """The named values of a mapping or of an object, with the fields of answers and passages only of the latter."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = (
        *ANSWERS,
        *PASSAGES,
        "usage",
        "usage_metadata",
        "messages",
        "data",
        "node",
        *_TEXTS,
        *_IDS,
        "score",
        *_METADATA,
    )
    return {name: item for name in names if (item := _attribute(value, name)) is not None}


def inner_fields(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The fields of the mappings and answer objects inside."""
    parts = [part for value in fields.values() for part in (value if isinstance(value, list | tuple) else [value])]
    return [fields_of(part) for part in parts if not isinstance(part, str | bytes | int | float | None)]


def first_text(fields: Mapping[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        if name in fields and (text := text_of(fields[name])) is not None:
            return text
    return None


def text_of(value: Any) -> str | None:
    """The text of a value: itself, that of a message or document, or the first of a list of such; None if it has none.
    The content of a message may be a list of parts."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in value):
            return "".join(part["text"] for part in value)
        return text_of(value[0]) if value else None
    if value is None or isinstance(value, bool | int | float | bytes):
        return None
    return first_text(fields_of(value), ("answer", *_TEXTS, "data", "response"))


def _attribute(value: Any, name: str) -> Any:
    """An attribute, or None: frameworks have properties that raise, and methods by these names."""
    try:
        item = getattr(value, name, None)
    except Exception:  # a property of a framework may raise anything
        return None
    return None if callable(item) else item


def _number(value: Any) -> float | None:
    """A score; None for what is no finite number."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if number else None


def _first_id(fields: Mapping[str, Any]) -> str:
    values = (fields.get(name) for name in _IDS)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value)), "")


def _text_id(text: str) -> str:
    return "text-" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
