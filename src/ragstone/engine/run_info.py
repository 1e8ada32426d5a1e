"""What a run file tells besides its question, joined over all the commands, or all the files, that it comes from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.runs.schema import damaged

# Names in these mappings of the question may be added by a later command on the same file: another language's data,
# another metric's prompts, an embedder, a judge where there was none.
GROWING = ("data.sha256", "judge", "judge.prompts", "judge.rubrics")


def prices_and_gates(price: str, gates: Mapping[str, float] | None, *, system_price: str = "") -> dict[str, Any]:
    """What the user said of costs and demanded of scores, as a run file keeps it: only what is not empty. `price`: of
    the judge's tokens (see `prices`); `gates`: metric → the least score."""
    found: dict[str, Any] = {"price": price, "system_price": system_price, "gates": dict(gates or {})}
    return {name: value for name, value in found.items() if value}


def joined_info(path: Path, old: Mapping[str, Any], new: Mapping[str, Any], growing: Sequence[str]) -> dict[str, Any]:
    """What two commands say, the later one `new`: mappings and lists of names are joined, of options see `_options`;
    the earlier start, all commands, and of the rest what was said later. `path` has `old`, for errors."""
    lines = f"{old.get('command', '')}\n{new.get('command', '')}".splitlines()
    before = old.get("preparation", {})
    preparation = {
        **before,
        **{name: _slowest(before.get(name, {}), entries) for name, entries in new.get("preparation", {}).items()},
    }
    starts = [str(info["started"]) for info in (old, new) if info.get("started")]
    joined = {
        **new,
        "options": _options(path, old.get("options", {}), dict(new.get("options", {})), growing),
        **({"started": min(starts)} if starts else {}),
        **{name: {**old.get(name, {}), **new.get(name, {})} for name in ("metrics", "better")},
        "scored_later": sorted({*old.get("scored_later", ()), *new.get("scored_later", ())}),
        "command": "\n".join(dict.fromkeys(line for line in lines if line)),
        "warnings": list(dict.fromkeys([*old.get("warnings", ()), *new.get("warnings", ())])),
        "preparation": preparation,
        "language": new.get("language") or old.get("language"),
    }
    return {name: value for name, value in joined.items() if value or name not in ("preparation", "language")}


def _slowest(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What two commands tell of the same preparations, by name: of each, the one that took more `seconds`. The later
    one finds vectors and replies that the earlier one paid for."""

    def seconds(entry: Any) -> float:
        return float(entry.get("seconds", 0.0)) if isinstance(entry, Mapping) else 0.0

    return {**old, **{name: entry for name, entry in new.items() if seconds(entry) >= seconds(old.get(name))}}


def _options(path: Path, old: Mapping[str, Any], new: dict[str, Any], growing: Sequence[str]) -> dict[str, Any]:
    """The options of two commands on one file: of those that are `growing` the wider grid or the larger limit, of the
    rest the later choice. None (all of them) is the widest. `DataError` where an old one is of another kind."""
    joined = dict(new)
    if not old:
        return joined
    for key in growing:
        before, now = old.get(key), new.get(key)
        if key not in new:
            continue
        if before is None or now is None:
            joined[key] = None
            continue
        try:
            joined[key] = list(dict.fromkeys([*before, *now])) if isinstance(now, list) else max(before, now)
        except TypeError as error:
            raise damaged(path, f"its option {key} cannot be read ({error}).", helps=False) from error
    return joined
