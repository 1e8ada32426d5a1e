"""What a run file says of itself, as flat names and short texts: for the sections on what was asked and on how to
ask it again. Run files come from anywhere, so nothing here trusts their shape."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["first", "flattened", "notices"]

# When a thing happened says nothing of what it is, and would make two reports of one run differ.
_CLOCK = {
    "created",
    "created_at",
    "started",
    "started_at",
    "finished",
    "finished_at",
    "updated",
    "updated_at",
    "time",
    "pid",
}
_MOST = 200  # entries of one run file that are shown
_DEEPEST = 8


def flattened(value: object, prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted names with their values as text; lists of plain values on one line; "" for None."""
    found: dict[str, str] = {}
    for name, text in _walk(value, prefix, 0):
        if len(found) >= _MOST:
            found["…"] = "…"
            break
        found[name] = text
    return found


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
    """The first non-empty value whose dotted name is, or ends in, one of `names`; in the question before elsewhere."""
    question = flattened(meta.get("question") or {})
    rest = flattened({key: value for key, value in meta.items() if key != "question"})
    for name in names:
        for entries in (question, rest):
            for key, text in entries.items():
                if text and (key == name or key.endswith(f".{name}")):
                    return text
    return ""


def notices(value: object, language: str) -> list[str]:
    """Warnings in whatever form they were given: a text, a list of texts, or texts by language."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, Mapping):
        chosen = value.get(language) or value.get("en")
        return notices(chosen, language) if isinstance(chosen, str | list | tuple) else []
    if isinstance(value, list | tuple):
        return [text for inner in value[:_MOST] for text in notices(inner, language)]
    return []
