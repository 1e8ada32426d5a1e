"""The cost of each retriever: its index, the time to build it and to search, and its models' requests."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragstone.display import Cell, Row, Table


class SearchCost(NamedTuple):
    """What retrieval took for one question: tokens and requests of its models, and seconds."""

    tokens: float = 0.0
    requests: float = 0.0
    seconds: float = 0.0


_BUILD = ("build_seconds", "embed_seconds", "index_seconds")


def index_table(preparation: Any, words: Mapping[str, str]) -> Table:
    """The table from the retrievers' facts (`meta["preparation"]`); without rows if nothing is known."""
    facts_by_name = preparation.get("retrievers", {}) if isinstance(preparation, Mapping) else {}
    known = sorted((name, facts) for name, facts in facts_by_name.items() if isinstance(facts, Mapping))
    rows = [Row(_cells(name, facts)) for name, facts in known if facts]
    columns = ("retriever", "index_of", "passages", "vectors", "index_size", "build", "each_question", "model_requests")
    notes = [words[name] for name in ("note_indexes", "note_one_vector")[: 1 + _several(facts_by_name)]]
    for name, facts in sorted(facts_by_name.items()):
        if isinstance(facts, Mapping):
            notes += _fallback_notes(name, facts, words)
    heads = tuple(words[name] for name in columns)
    return Table("mirage-indexes", words["title_indexes"], heads, tuple(rows), tuple(notes))


def search_cost(preparation: Any, retriever: str, chunk: int) -> SearchCost:
    """The cost of one question, from the facts of the run: of rerankers and rewriting as the endpoints counted it
    (cached replies too), of embedding the question as it was estimated. All 0 if nothing is known."""
    facts_by_name = preparation.get("retrievers", {}) if isinstance(preparation, Mapping) else {}
    facts = facts_by_name.get(f"{retriever}/c{chunk}" if chunk else retriever)
    if not isinstance(facts, Mapping) or not (questions := facts.get("questions")):
        return SearchCost()
    usages = [part["usage"] for part in _all_facts(facts) if isinstance(part.get("usage"), Mapping)]

    def spent(*names: str) -> float:
        return sum(float(usage.get(name, 0)) for usage in usages for name in names) / float(questions)

    return SearchCost(
        spent("prompt_tokens", "completion_tokens") + float(facts.get("query_tokens", 0)) / questions,
        spent("requests", "cached"), float(facts.get("seconds_per_question", 0)),
    )  # fmt: skip


def _fallback_notes(name: str, facts: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[str]:
    """Notes on what a retriever had to do without: unusable replies, lists missing in its file."""
    for part_facts in _all_facts(facts):
        if isinstance(without := part_facts.get("without"), int) and without:
            of = without + int(part_facts.get("answered", 0))
            text = words["note_without_model"]
            yield text.format(
                name=name, model=part_facts.get("model", ""), without=f"{without:,}", of=f"{of:,}",
                because=part_facts.get("without_because", ""),
            )  # fmt: skip
        if isinstance(lacking := part_facts.get("lacking"), int) and lacking:
            yield words["note_without_list"].format(name=name, lacking=f"{lacking:,}")
        if isinstance(outside := part_facts.get("outside"), int) and outside:
            yield words["note_outside"].format(name=name, outside=f"{outside:,}")


def _several(facts_by_name: Mapping[str, Any]) -> bool:
    return any(isinstance(facts, Mapping) and "single_index_bytes" in facts for facts in facts_by_name.values())


def _cells(name: str, facts: Mapping[str, Any]) -> tuple[Cell, ...]:
    single = facts.get("single_index_bytes")
    size = _bytes(facts.get("index_bytes")) + (f" ({_bytes(single)})" if single else "")
    per_question = facts.get("seconds_per_question")
    search, single_search = facts.get("search_seconds_per_query"), facts.get("single_search_seconds_per_query")
    text = _milliseconds(per_question)
    if search and single_search:
        text = f"{_milliseconds(search)} ({_milliseconds(single_search)})"
    parts = list(_all_facts(facts))
    built = [float(part[key]) for part in parts for key in _BUILD if isinstance(part.get(key), (int, float))]
    usages = [part["usage"] for part in parts if isinstance(part.get("usage"), Mapping)]
    requests = sum(int(usage.get("requests", 0)) for usage in usages) if usages else None
    passages = max((part["passages"] for part in parts if isinstance(part.get("passages"), int)), default=None)
    return (
        Cell(name),
        Cell(str(facts.get("library") or facts.get("index") or facts.get("form") or "")),
        Cell(_count(passages)),
        Cell(_count(facts.get("vectors", facts.get("passages") if facts.get("dimensions") else None))),
        Cell(size),
        Cell(f"{sum(built):.1f} s" if built else ""),
        Cell(text),
        Cell(_count(requests)),
    )


def _all_facts(facts: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The facts of a retriever and of its component retrievers."""
    yield facts
    for part in ("parts", "first"):
        inner = facts.get(part)
        for part_facts in inner.values() if isinstance(inner, Mapping) else ():
            if isinstance(part_facts, Mapping):
                yield from _all_facts(part_facts)


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
