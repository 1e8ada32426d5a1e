"""Joins references from a file of their own to rows without them: by id and question, by the question, or by id."""

import unicodedata
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ragstone.datasets.tabular import fields
from ragstone.datasets.tabular.items import Item, spooled
from ragstone.datasets.tabular.problems import places, warning
from ragstone.datasets.tabular.words import ID_NAMES, plain_name
from ragstone.errors import DataError
from ragstone.messages import preferred_language
from ragstone.storage import Spool
from ragstone.types import Passage

_ENDS = "?.!。！…"
_VAGUE = ("id", "_id", "uid", "uuid")  # "user.id" is no id of a question


def question_key(question: str) -> str:
    """The form in which questions are compared: without case, width, white space, and punctuation at the end."""
    folded = unicodedata.normalize("NFKC", question).casefold()
    return "".join(folded.split()).rstrip(_ENDS)


def join(items: Sequence[Item], gold: Sequence[Item], name: str) -> tuple[Spool[Item], list[str]]:
    """The items with references, labelled passages, `answerable` and other columns of the row of `gold` that has their
    question (of several, the one that has their id, too), else their id; and warnings that name rows without a
    counterpart. Raises DataError if there is none."""
    by_id = {row.sample.id: row for row in gold}
    by_question: dict[str, Item] = {}
    repeated: dict[str, list[str]] = {}
    for given in gold:
        known = by_question.setdefault(question_key(given.sample.question), given)
        if known is not given and known.sample.references != given.sample.references:
            repeated.setdefault(question_key(given.sample.question), []).append(given.where)
    joined = spooled()
    matched: set[str] = set()
    lonely: list[str] = []
    differing: list[str] = []
    doubled: list[str] = []
    for item in items:
        key = question_key(item.sample.question)
        named = next((by_id[name] for name in _own_ids(item) if name in by_id), None)
        row = by_question.get(key)
        if named is not None and (row is None or question_key(named.sample.question) == key):
            row = named
            if named.sample.question != named.sample.id and question_key(named.sample.question) != key:
                differing.append(item.where)
        else:
            doubled += repeated.pop(key, [])
        if row is None:
            lonely.append(item.where)
            joined.append(item)
        else:
            matched.add(row.sample.id)
            joined.append(_with_gold(item, row))
    if items and not matched:
        raise DataError(
            name, f"no row has the id or the question of a row of the data ({items[0].sample.question[:60]!r}…).",
            advice="Compare the questions, or name the columns: --map id=COLUMN.",
        )  # fmt: skip
    unused = [row.where for row in gold if row.sample.id not in matched]
    notes = (
        ("no_gold_row", lonely, len(items)), ("unused_gold", unused, len(gold)), ("same_gold", doubled, len(gold)),
        ("gold_by_id", differing, len(items)),
    )  # fmt: skip
    language = preferred_language()
    return joined, [
        warning(key, name=name, count=len(where), total=total, where=places(where, len(where), language))
        for key, where, total in notes
        if where
    ]


def _own_ids(item: Item) -> list[str]:
    """The ids by which the user may know a row: its own, and those in further columns, such as in the metadata of a
    trace, whose own id is that of the trace."""
    columns = (str(value) for name, value in item.extra.items() if _is_id(name))
    return [item.sample.id, *columns]


def _is_id(column: str) -> bool:
    name = plain_name(column)
    return name in ID_NAMES or any(name.endswith(f"_{known}") for known in ID_NAMES if known not in _VAGUE)


def _with_gold(item: Item, gold: Item) -> Item:
    sample = item.sample
    passages = _labelled(gold.sample.passages, _ids_by_text(item)) if gold.sample.passages else sample.passages
    sample = replace(
        sample,
        references=gold.sample.references or sample.references,
        passages=passages,
        meta={**sample.meta, **gold.sample.meta},
    )
    return replace(item, sample=sample, extra={**gold.extra, **item.extra})


def _labelled(passages: Sequence[Passage], ids: Mapping[str, str]) -> tuple[Passage, ...]:
    """The labelled passages under the ids that the system gave to the same texts."""
    return tuple(
        replace(passage, id=ids.get(fields.passage_id(passage.text), passage.id)) if passage.text else passage
        for passage in passages
    )


def _ids_by_text(item: Item) -> dict[str, str]:
    """The ids of what was retrieved, at any stage, by the hash of the text."""
    if item.response is None:
        return {}
    found = list(item.response.passages)
    for step in item.response.steps:
        if isinstance(step.output, list) and all(isinstance(part, dict) for part in step.output):
            found += msgspec.convert(step.output, list[Passage])
    return {fields.passage_id(passage.text): passage.id for passage in found if passage.text}
