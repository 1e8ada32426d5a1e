"""Reads the user's own data from a file of any supported format or from memory."""

import hashlib
import heapq
import itertools
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.datasets.tabular.build import Builder, GoldMet
from ragstone.datasets.tabular.items import Digests, EvalData, Item, spooled
from ragstone.datasets.tabular.labels import read_qrels, read_queries, with_labels, with_texts
from ragstone.datasets.tabular.paths import add_paths, head_of
from ragstone.datasets.tabular.problems import Problems
from ragstone.datasets.tabular.references import join
from ragstone.datasets.tabular.rows import Rows
from ragstone.datasets.tabular.sources import open_source
from ragstone.datasets.tabular.traces.samples import is_trace, spans_as_rows
from ragstone.datasets.tabular.trec import Qrels, is_run, runs_as_rows
from ragstone.datasets.tabular.words import ID_NAMES, ColumnMapping, is_question, plain_name, resolve
from ragstone.display import question_id
from ragstone.errors import DataError, UsageError
from ragstone.storage import Spool
from ragstone.structs import plain_text, to_json


def read_eval_data(
    source: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    sep: str | None = None,
    qrels: str | Path | None = None,
    corpus: str | Path | None = None,
    sheet: str | None = None,
    split: str | None = None,
    references: Any = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    whole: bool = False,
) -> EvalData:
    """Reads a file, a folder, or data in memory (a list of dicts, a pandas or polars frame, a datasets.Dataset).

    `mapping` assigns columns to fields (`words.WORDS`) and overrides detection by column name. `sep` separates the
    passages in a plain-text cell. `qrels` labels passages by the ids of rows and passages. `corpus` has the texts of
    passages that have only ids. `sheet` selects a sheet of a workbook, `split` a split of a data set. `references`:
    other data with the references of these questions, joined by id or by question (`references.join`).

    `sample` selects that many rows at random: those whose ids have the smallest hashes with `seed`. The choice depends
    only on the ids (derived from the questions if there are none), not on the order of rows, and a larger sample
    contains a smaller one. `limit` then takes the first rows. `whole` keeps lists and objects of unused columns.

    Raises UsageError or DataError; invalid rows are reported together as `BadData`, one line per problem.
    """
    for option, count in (("limit", limit), ("sample", sample)):
        if count is not None and count < 1:
            raise UsageError(f"{option}={count}: it is the number of rows that are read, at least 1.")
    sep, mapping = _separator(sep), dict(mapping or {})
    raw = open_source(source, sheet=sheet, split=split, known=tuple(mapping.values()))
    judged, texts = raw.qrels if qrels is None else Path(qrels), raw.corpus if corpus is None else Path(corpus)
    grades = read_qrels(judged) if judged else {}
    rows = _as_rows(Rows(raw), texts, grades)
    name, source = rows.raw.name, rows.raw.source
    if not len(rows):
        raise DataError(source, "has no rows.", advice="Name a file with rows.")
    gold = None if references is None else _gold(references, mapping, rows.columns)
    add_paths(rows, mapping.values())
    problems = Problems(source)
    columns = _columns(rows, mapping, problems)
    builder = Builder(columns.mapping, problems, sep=sep, sparse=rows.raw.sparse, whole=whole)
    items = _items(rows, builder)
    problems.raise_any()
    warnings = [*rows.raw.warnings, *columns.warnings]
    items, notes = _joined(items, judged, grades, gold)
    warnings += notes
    items, of_texts = with_texts(items, texts) if texts else (items, [])
    labels = GoldMet()
    total, (sha256, digests) = len(items), _digests(items, labels)
    of_contexts = builder.warnings_of_contexts(labels)
    warnings += [*builder.warnings(), *of_contexts, *of_texts]
    schema = rows.raw.schema or columns.schema
    return EvalData(
        name, schema, columns.mapping, _selected(items, sample, limit, seed), sha256, tuple(warnings),
        tuple(of_contexts), total, digests, rows.raw.path,
    )  # fmt: skip


def _joined(
    items: Spool[Item], judged: Path | None, grades: Qrels, gold: EvalData | None
) -> tuple[Spool[Item], list[str]]:
    """The items with the labels and the references that other files have, and warnings about these."""
    warnings: list[str] = []
    if judged:
        items, warnings = with_labels(items, grades, judged.name)
    if gold is not None:
        items, notes = join(items, gold.items, gold.name)
        warnings += [*gold.warnings, *notes]
    return items, warnings


def _gold(source: Any, mapping: dict[str, str], columns: Sequence[str]) -> EvalData:
    """The data with the references. They take what `mapping` says of columns that only they have; it is removed there.
    Without a column of questions, they are joined by id."""
    rows = Rows(open_source(source, known=tuple(mapping.values())))
    own = {
        word: column for word, column in mapping.items() if head_of(column) not in columns and column not in columns
        and (column in rows.columns or head_of(column) in rows.columns)
    }  # fmt: skip
    for word in own:
        del mapping[word]
    names = [column for column in rows.columns if plain_name(column) in (*ID_NAMES, "trace_id")]
    has_question = "question" in own or any(is_question(column) for column in rows.columns)
    if names and "id" not in own:
        own["id"] = names[0]
    if names and not has_question:
        own["question"] = own["id"]
    return read_eval_data(source, mapping=own)


def _separator(sep: str | None) -> str | None:
    """The separator of passages, with \\n and \\t as typed on a command line converted."""
    if sep is None:
        return None
    spelled = sep.replace("\\n", "\n").replace("\\t", "\t")
    if not spelled:
        raise UsageError("--sep is empty; give the text that stands between two passages, such as '||'.")
    return spelled


def _as_rows(rows: Rows, corpus: Path | None, grades: Qrels) -> Rows:
    """Converts formats without one question per row, such as the lines of a run or the spans of a trace."""
    if is_trace(rows.columns):
        return spans_as_rows(rows)
    queries = rows.raw.queries
    if queries is None and corpus is not None and (corpus / "queries.jsonl").is_file():
        queries = corpus / "queries.jsonl"
    if is_run(rows.columns):
        return runs_as_rows(rows, read_queries(queries) if queries else {})
    if rows.raw.schema == "beir" and grades:  # the file has the queries of all splits: keep those with judgements
        judged_rows = [row for row in rows.take() if row.problem or str(row.cells.get("_id")) in grades]
        return rows.instead(judged_rows, schema="beir", mapping=rows.raw.mapping)
    return rows


def _columns(rows: Rows, mapping: Mapping[str, str], problems: Problems) -> ColumnMapping:
    """Maps columns to fields. If no line could be read, raises their problems instead of a missing question."""
    if {"query", "answer", "positive", "negative"} <= set(rows.columns) and "answer" not in mapping:
        advice = f"Ask them: ragstone bench rgb --data {rows.raw.source}."
        raise DataError(
            rows.raw.source, "holds RGB's questions with documents, and no answers of a system.", advice=advice
        )
    if not rows.columns:
        for row in rows.take():
            problems.add(row.where, "", row.problem or "has no fields; expected at least a question.")
        problems.raise_any()
    return resolve(rows.columns, mapping, source=rows.raw.source, preset=rows.raw.mapping)


def _items(rows: Rows, builder: Builder) -> Spool[Item]:
    """The items of the rows with unique ids: the given id, else one derived from the question; repeated ids get -2,
    -3…"""
    items, given, hashes = spooled(), bytearray(), array("q")
    for number, row in enumerate(rows.take(), 1):
        item = builder.item(row, number)
        if item is not None:
            given.append(bool(item.sample.id))
            named = item if item.sample.id else _named(item, question_id(item.sample.question))
            items.append(named)
            hashes.append(hash(named.sample.id))
    ordered = sorted(hashes)
    if all(one != other for one, other in itertools.pairwise(ordered)):
        return items
    return _with_unique_ids(items, given, builder)


def _named(item: Item, name: str) -> Item:
    return msgspec.structs.replace(item, sample=msgspec.structs.replace(item.sample, id=name))


def _with_unique_ids(items: Spool[Item], given: Sequence[int], builder: Builder) -> Spool[Item]:
    given_ids = {item.sample.id for item, own in zip(items, given, strict=True) if own}
    assigned: set[str] = set()
    counts: dict[str, int] = {}
    identified = spooled()
    for item, own in zip(items, given, strict=True):
        chosen = base = item.sample.id
        if chosen in assigned:
            if own:
                builder.note("same_id", item.where)
            while chosen in assigned or (chosen != base and chosen in given_ids):
                counts[base] = counts.get(base, 1) + 1
                chosen = f"{base}-{counts[base]}"
        assigned.add(chosen)
        identified.append(item if chosen == base else _named(item, chosen))
    return identified


def _selected(items: Spool[Item], sample: int | None, limit: int | None, seed: int) -> Sequence[Item]:
    """`sample` items chosen at random, in their original order, and the first `limit` of these."""

    def drawn(place: int) -> tuple[bytes, int]:
        key = f"{seed}\n{items[place].sample.id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(key).digest(), place

    if sample is not None and sample < len(items):
        chosen = sorted(heapq.nsmallest(sample, range(len(items)), key=drawn))
        items = spooled(items[place] for place in chosen)
    return items if limit is None else items[:limit]


def _digests(items: Iterable[Item], labels: GoldMet) -> tuple[str, Digests]:
    """The hash of all rows, and the ids and hashes of the rows. `labels` sees every row."""
    whole, digests = hashlib.sha256(), Digests()
    for item in items:
        labels.add(item)
        content = _content(item)
        whole.update(content + b"\n")
        digests.add(item.sample.id, hashlib.sha256(content).digest()[:8])
    return whole.hexdigest(), digests


def _content(item: Item) -> bytes:
    extra = dict(sorted(item.extra.items()))
    content = (item.sample, item.response, extra, item.history, *([item.error] if item.error else []))
    try:
        return msgspec.json.encode(content, enc_hook=plain_text)
    except (UnicodeEncodeError, msgspec.ValidationError):  # a lone surrogate
        return to_json(content).encode("ascii")


def read_data(
    data: Any, *, mapping: Mapping[str, str] | None = None, limit: int | None = None, sample: int | None = None,
    **reading: Any,
) -> EvalData:  # fmt: skip
    """The user's data, read: a path, a list of dicts, a data frame, a data set; or `EvalData` as it is. `reading`: the
    other options of `read_eval_data`; None is not given."""
    if isinstance(data, EvalData):
        return data
    source = Path(data) if isinstance(data, str) else data
    given = {name: value for name, value in reading.items() if value is not None}
    return read_eval_data(source, mapping=mapping or {}, limit=limit, sample=sample, **given)
