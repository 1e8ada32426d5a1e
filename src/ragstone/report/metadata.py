"""The metadata of a run file as flat names and short texts, for the sections on configuration and reproduction. Run
files are untrusted, so nothing here relies on their structure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ragstone.display import own_name, shown_id, shown_passage
from ragstone.messages import messages
from ragstone.report.sanitize import one_line
from ragstone.structs import Scalar
from ragstone.types import Benchmark, Record

# Times and process ids, which are not part of the configuration.
_CLOCK = {
    "created", "created_at", "started", "started_at", "finished", "finished_at", "updated", "updated_at", "time", "pid",
}  # fmt: skip
_MOST = 200  # entries of a run file that are shown
_DEEPEST = 8
_CONDITIONS, _LINE = 24, 180  # parts of a condition, and characters of each
_SHARED = "ragstone.benchmarks.base"  # whose folder has the names of what several benchmarks vary


def case_name(record: Record) -> str:
    """What people know a case by, of all cases of a run (`shown_id`, `own_name`)."""
    sample = record.case.sample
    return shown_id(record.case.id, own_name(sample.id, sample.question))


def case_anchor(sample: str) -> str:
    """The id on a page of the first case of a sample."""
    return "case-" + re.sub(r"[^\w.-]+", "-", one_line(sample, 60))


def condition_of(
    condition: Mapping[str, Scalar], language: str, benchmark: Benchmark | None = None
) -> Iterator[tuple[str, str]]:
    """The name and the value of each part of a condition, in the words of its benchmark as far as it has some
    (`field_NAME`, `field_NAME_VALUE` in its messages; `condition_VALUE` for what a diagnosis asks)."""
    words = words_of(benchmark, language)
    for name, value in list(condition.items())[:_CONDITIONS]:
        text = _text(value)
        if name == "found":  # a digit for each rank
            text = ", ".join(str(rank) for rank, hit in enumerate(text, 1) if hit == "1")
        key = f"field_{text}" if isinstance(value, bool) else f"field_{name}_{text}"
        own = {"intervention": f"condition_{text}", "needle": text, "mode": text}  # have texts by their values alone
        shown = words.get(own[name]) if name in own else None
        yield one_line(words.get(f"field_{name}", name), 80), one_line(shown or words.get(key, text), _LINE)


def condition_name(name: str, value: Scalar, language: str, benchmark: Benchmark) -> str:
    """A part of a condition for a reader: its benchmark may have a word for the value (`condition_VALUE`)."""
    return words_of(benchmark, language).get(f"condition_{value}") or " ".join(
        next(iter(condition_of({name: value}, language, benchmark)))
    )


def column_of(name: str, text: str, language: str, benchmark: Benchmark | None) -> tuple[str, str]:
    """A column of the data and its value, in the words of the benchmark where it wrote the column (`column_NAME`,
    `column_NAME_VALUE`); those of the user stay."""
    words = words_of(benchmark, language)
    return one_line(words.get(f"column_{name}", name), 80), one_line(words.get(f"column_{name}_{text}", text), _LINE)


def words_of(benchmark: Benchmark | type[Any] | None, language: str) -> Mapping[str, str]:
    """What a benchmark (or its class) calls its fields, and what every one does."""
    kind = benchmark if isinstance(benchmark, type) else type(benchmark)
    own = {} if benchmark is None else messages(kind.__module__, language)
    return {**messages(_SHARED, language), **own}


def metric_name(metric: str, words: Mapping[str, str]) -> str:
    """A metric for a reader: one that its benchmark derives has the words of the benchmark (`metric_KIND` with
    `KIND_NAME`, as for `cause.memory` of a diagnosis), any other its name."""
    kind, _, name = metric.partition(".")
    frame = words.get(f"metric_{kind}") if name else None
    return metric if frame is None else frame.format(name=words.get(f"{kind}_{name}", name))


def passage_name(passage_id: str, language: str, benchmark: Benchmark | None) -> str:
    """The id of a passage in the words of the benchmark that made it; the user's own stay."""
    return one_line(shown_passage(passage_id, words_of(benchmark, language)), 80)


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
