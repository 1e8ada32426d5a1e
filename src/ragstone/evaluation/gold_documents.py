"""Gold labels by document: ids in a column of the user's questions, for systems that retrieve chunks by themselves."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.datasets.tabular import Item
from ragstone.messages import messages, preferred_language
from ragstone.metrics.rank import GOLD_DOCUMENTS, document_of
from ragstone.retrieval.corpus import Corpus
from ragstone.types import NO_ANSWER, Passage, Sample

_COLUMNS = ("document", "documents", "gold_document", "gold_documents")
_ID = re.compile(r"(?=.*[./#:_\d-])[\w./#:@%+=-]{1,200}")
_NAMED = 5  # ids that a warning names


def with_gold_documents(
    rows: Sequence[RecordedRow], items: Sequence[Item], corpus: Corpus | None, *, by_shape: bool = True
) -> tuple[list[RecordedRow], list[str]]:
    """The rows, whose labels without a text are ids of documents: from the columns that mean gold ids, from a column of
    gold passages that has ids instead of texts, from one of retrieved ids beside no answer (`document_ids`), and from a
    column `document` where the corpus knows its ids or, without a corpus, all look like ids (`by_shape`). Warnings name
    the ids that no document of the corpus has."""
    known = None if corpus is None else _documents(passage.id for passage in corpus.passages)
    labelled, unknown = [], {}
    for row, item in zip(rows, items, strict=True):
        sample = _labelled(row.sample, item, known, by_shape=by_shape)
        gold = [passage for passage in sample.passages if passage.relevant]
        if gold and not any(passage.text for passage in gold):
            sample = replace(sample, meta={**sample.meta, "gold": GOLD_DOCUMENTS})
            if known is not None:
                unknown.update({one.id: item.where for one in gold if not _documents([one.id]) & known})
        labelled.append(row if sample is row.sample else replace(row, sample=sample))
    return labelled, _warnings(unknown, corpus)


def column_documents(columns: Mapping[str, Any]) -> tuple[Passage, ...]:
    """The documents that the columns of a row name as those with the answer."""
    return _gold(_parts(next((str(columns[name]) for name in _COLUMNS if columns.get(name)), "")))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[,;|\n]", text) if part.strip()]


def _gold(ids: Iterable[str]) -> tuple[Passage, ...]:
    return tuple(Passage(name, "", relevant=True) for name in dict.fromkeys(ids))


def _labelled(sample: Sample, item: Item, known: set[str] | None, *, by_shape: bool) -> Sample:
    if sample.passages:
        ids = [part for passage in sample.passages for part in _parts(passage.text)]
        return replace(sample, passages=_gold(ids)) if ids and all(map(_ID.fullmatch, ids)) else sample
    response = item.response
    if response is not None and response.finish_reason == NO_ANSWER and not any(one.text for one in response.passages):
        return replace(sample, passages=_gold(one.id for one in response.passages))
    named = column_documents(item.extra)
    if known is None:
        fits = by_shape and all(_ID.fullmatch(passage.id) for passage in named)
    else:
        fits = any(_documents([passage.id]) & known for passage in named)
    if named and fits:
        return replace(sample, passages=named)
    return sample


def _documents(ids: Iterable[str]) -> set[str]:
    """The ids themselves, and those of the documents that they are parts of."""
    return {name for one in ids for name in (one, document_of(one, ()))}


def _warnings(unknown: Mapping[str, str], corpus: Corpus | None) -> list[str]:
    if not unknown or corpus is None:
        return []
    texts = messages(__name__, preferred_language())
    names = texts["join"].join(f"{name} ({where})" for name, where in list(unknown.items())[:_NAMED])
    more = texts["more"].format(n=len(unknown) - _NAMED) if len(unknown) > _NAMED else ""
    return [texts["unknown"].format(count=len(unknown), corpus=corpus.name, names=names + more)]
