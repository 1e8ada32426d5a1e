"""Whether two run configurations are the same, and how they differ."""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ragstone.structs import to_json

SHOWN = 60  # characters of a value in a message


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as a run file stores it: after a JSON round trip (tuples become lists, structs become objects)."""
    loaded: dict[str, Any] = json.loads(to_json(dict(value)))
    return loaded


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[Any, Any]]:
    """Dotted key → (old, new) for everything that differs; None means absent. Long values are cut to where they differ.
    Both are plain JSON."""
    changes: dict[str, tuple[Any, Any]] = {}
    _compare(dict(old), dict(new), prefix.rstrip("."), changes)
    return changes


def keep_old_names(old: Mapping[str, Any], new: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """`new`, plus the names that only `old` has in the mappings at these dotted keys."""
    result = dict(new)
    for key in keys:
        name, _, rest = key.partition(".")
        before, now = old.get(name), result.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            result[name] = keep_old_names(before, now, [rest]) if rest else dict(sorted((before | now).items()))
    return result


def replaced(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str, replaces: Mapping[str, Any]
) -> dict[str, Any]:
    """`old` with the values of `new` at the keys of `replaces` (`prefix.key`) where it has the value named there."""
    result = dict(old)
    for name, before in replaces.items():
        key = name.removeprefix(f"{prefix}.")
        if name.startswith(f"{prefix}.") and key in new and result.get(key) == before:
            result[key] = new[key]
    return result


def _compare(old: Any, new: Any, key: str, changes: dict[str, tuple[Any, Any]]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            _compare(old.get(name), new.get(name), f"{key}.{name}" if key else name, changes)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            _compare(before, after, f"{key}.{index}", changes)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):  # 0 is 0.0, but not false
        changes[key] = _cut(old, new)


def _cut(old: Any, new: Any) -> tuple[Any, Any]:
    """Long texts, shortened around their first difference."""
    before, after = _shown(old), _shown(new)
    if not (isinstance(before, str) and isinstance(after, str)) or max(len(before), len(after)) <= SHOWN:
        return before, after
    pairs = enumerate(zip_longest(before, after))
    shared = next((index for index, (old_char, new_char) in pairs if old_char != new_char), 0)
    start = max(0, shared - SHOWN // 3)

    def part(text: str) -> str:
        end = start + SHOWN
        return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")

    return part(before), part(after)


def _shown(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value
