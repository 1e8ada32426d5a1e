"""Whether two questions are one, and in what they differ."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.types import to_json

__all__ = ["differences", "few", "grown", "plain"]

SHOWN = 60  # characters of a value in a message
SHOWN_DIFFERENCES = 5


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON gives it back (tuples are lists, words are objects): what a run file holds."""
    loaded: dict[str, Any] = json.loads(to_json(dict(value)))
    return loaded


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted key → (old, new) for everything that differs; None stands for what is absent. Long values are cut to
    where they differ. Both are plain JSON."""
    found: dict[str, tuple[Any, Any]] = {}
    _compare(dict(old), dict(new), prefix.rstrip("."), found)
    return found


def grown(old: Mapping[str, Any], new: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """`new`, with the names that only `old` has in the mappings under these dotted keys."""
    result = dict(new)
    for key in keys:
        name, _, rest = key.partition(".")
        before, now = old.get(name), result.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            result[name] = grown(before, now, [rest]) if rest else dict(sorted((before | now).items()))
    return result


def _compare(old: Any, new: Any, key: str, found: dict[str, tuple[Any, Any]]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            _compare(old.get(name), new.get(name), f"{key}.{name}" if key else name, found)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            _compare(before, after, f"{key}.{index}", found)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):  # 0 is 0.0, but not false
        found[key] = _cut(old, new)


def _cut(old: Any, new: Any) -> tuple[Any, Any]:
    """Long texts shortened around their first difference."""
    before, after = _shown(old), _shown(new)
    if not (isinstance(before, str) and isinstance(after, str)) or max(len(before), len(after)) <= SHOWN:
        return before, after
    shared = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        shared += 1
    start = max(0, shared - SHOWN // 3)

    def part(text: str) -> str:
        end = start + SHOWN
        return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")

    return part(before), part(after)


def _shown(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def few(found: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """At most a line's worth of differences."""
    shown = dict(sorted(found.items())[:SHOWN_DIFFERENCES])
    if len(found) > len(shown):
        shown["…"] = (f"{len(found)} differences", f"the first {len(shown)} are named")
    return shown
