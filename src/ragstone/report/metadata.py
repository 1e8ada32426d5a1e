"""The metadata of a run file as flat names and short texts, for the sections on configuration and reproduction. Run
files are untrusted, so nothing here relies on their structure."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["first", "flattened", "notices"]

# Times and process ids, which are not part of the configuration.
_CLOCK = {
    "created", "created_at", "started", "started_at", "finished", "finished_at", "updated", "updated_at", "time", "pid",
}  # fmt: skip
_MOST = 200  # entries of a run file that are shown
_DEEPEST = 8


def flattened(value: object, prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted names with their values as text; lists of plain values on one line; "" for None."""
    entries: dict[str, str] = {}
    for name, text in _walk(value, prefix, 0):
        if len(entries) >= _MOST:
            entries["…"] = "…"
            break
        entries[name] = text
    return entries


def _walk(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        yield name, "…"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _CLOCK:
                continue
            yield from _walk(inner, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        if all(isinstance(inner, str | int | float | bool | None) for inner in value):
            yield name, ", ".join(_text(inner) for inner in value[:_MOST]) + (", …" if len(value) > _MOST else "")
        else:
            for index, inner in enumerate(value):
                yield from _walk(inner, f"{name}.{index}", depth + 1)
    else:
        yield name, _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def first(meta: Mapping[str, Any], *names: str) -> str:
    """The first non-empty value whose dotted name is, or ends in, one of `names`; the question is searched first."""
    question = flattened(meta.get("question") or {})
    rest = flattened({key: value for key, value in meta.items() if key != "question"})
    for name in names:
        for entries in (question, rest):
            for key, text in entries.items():
                if text and (key == name or key.endswith(f".{name}")):
                    return text
    return ""


def notices(value: object, language: str) -> list[str]:
    """Warnings in any of their forms: a text, a list of texts, or texts by language."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, Mapping):
        texts = value.get(language) or value.get("en")
        return notices(texts, language) if isinstance(texts, str | list | tuple) else []
    if isinstance(value, list | tuple):
        return [text for inner in value[:_MOST] for text in notices(inner, language)]
    return []
