"""What each retriever takes: its index, the time to build it and to answer a question, and what its models cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.types import Cell, Row, Table

__all__ = ["index_table"]

_BUILD = ("build_seconds", "embed_seconds", "index_seconds")


def index_table(preparation: Any, words: Mapping[str, str]) -> Table:
    """From what the retrievers told of themselves (`meta["preparation"]`); without rows where nothing is known."""
    held = preparation.get("retrievers", {}) if isinstance(preparation, Mapping) else {}
    rows = [Row(_cells(name, facts)) for name, facts in sorted(held.items()) if isinstance(facts, Mapping) and facts]
    columns = ("retriever", "index_of", "passages", "vectors", "index_size", "build", "each_question", "model_requests")
    notes = [words[name] for name in ("note_indexes", "note_one_vector")[: 1 + _several(held)]]
    for name, facts in sorted(held.items()):
        if isinstance(facts, Mapping):
            notes += _lacking(name, facts, words)
    heads = tuple(words[name] for name in columns)
    return Table("mirage-indexes", words["title_indexes"], heads, tuple(rows), tuple(notes))


def _lacking(name: str, facts: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    """What a retriever did without: replies that could not be used, lists that its file does not have."""
    for one in _within(facts):
        if isinstance(without := one.get("without"), int) and without:
            of = without + int(one.get("answered", 0))
            told = words["note_without_model"]
            yield told.format(
                name=name, model=one.get("model", ""), without=f"{without:,}", of=f"{of:,}",
                because=one.get("without_because", ""),
            )  # fmt: skip
        if isinstance(lacking := one.get("lacking"), int) and lacking:
            yield words["note_without_list"].format(name=name, lacking=f"{lacking:,}")


def _several(held: Mapping[str, Any]) -> bool:
    return any(isinstance(facts, Mapping) and "single_index_bytes" in facts for facts in held.values())


def _cells(name: str, facts: Mapping[str, Any]) -> tuple[Cell, ...]:
    single = facts.get("single_index_bytes")
    size = _bytes(facts.get("index_bytes")) + (f" ({_bytes(single)})" if single else "")
    each = facts.get("seconds_per_question")
    alone, one = facts.get("search_seconds_per_query"), facts.get("single_search_seconds_per_query")
    told = _milliseconds(each)
    if alone and one:
        told = f"{_milliseconds(alone)} ({_milliseconds(one)})"
    within = list(_within(facts))
    built = [float(one[key]) for one in within for key in _BUILD if isinstance(one.get(key), (int, float))]
    usages = [one["usage"] for one in within if isinstance(one.get("usage"), Mapping)]
    requests = sum(int(usage.get("requests", 0)) for usage in usages) if usages else None
    passages = max((one["passages"] for one in within if isinstance(one.get("passages"), int)), default=None)
    return (
        Cell(name),
        Cell(str(facts.get("library") or facts.get("index") or facts.get("form") or "")),
        Cell(_count(passages)),
        Cell(_count(facts.get("vectors", facts.get("passages") if facts.get("dimensions") else None))),
        Cell(size),
        Cell(f"{sum(built):.1f} s" if built else ""),
        Cell(told),
        Cell(_count(requests)),
    )


def _within(facts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The facts of a retriever, and of those that it is composed of."""
    yield facts
    for part in ("parts", "first"):
        inner = facts.get(part)
        for one in inner.values() if isinstance(inner, Mapping) else ():
            if isinstance(one, Mapping):
                yield from _within(one)


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


def _bytes(value: Any) -> str:
    if not isinstance(value, int):
        return ""
    units: Sequence[str] = ("B", "kB", "MB", "GB")
    size = float(value)
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}"


def _milliseconds(value: Any) -> str:
    if not isinstance(value, (int, float)):
        return ""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"
