"""`export_data`: the questions of data or of a file of labels as a new data set, with all edits of experts."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.datasets.tabular.items import Item
from ragstone.engine.open_run import is_run_file
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.experts.question_review import QuestionReview, review_of_store
from ragstone.labels import LabelStore
from ragstone.labels.consensus import relevant_passages
from ragstone.labels.records import edited
from ragstone.labels.reviewed import reviews
from ragstone.storage import write_file
from ragstone.structs import to_json
from ragstone.text import detect
from ragstone.types import NO_ANSWER, Passage


@dataclass(frozen=True)
class ExportedData:
    """A data set as written: number of `rows`, how many of them experts `changed`, and the hash of its content. Runs of
    this data set show the same hash; `version` is its beginning. `left_out`: questions that a review rejected, or would
    have edited; `review`: what it says of the others."""

    path: str
    rows: int
    changed: int
    sha256: str
    left_out: int = 0
    review: QuestionReview | None = None

    @property
    def version(self) -> str:
        """The first 12 digits of the hash."""
        return self.sha256[:12]


@public
def export_data(
    source: str | Path, target: str | Path, *, labels: str | Path | None = None, relevant: bool = False,
    mapping: Mapping[str, str] | None = None, force: bool = False,
) -> ExportedData:  # fmt: skip
    """Writes questions as JSON lines that `ragstone run`, `eval` and `diagnose` read. `source`: a file of labels, which
    has the questions that were labelled from, or data in any format; then `labels` has the edits. `relevant`: passages
    that experts judged relevant become gold, those they judged not relevant no longer are. Questions that they rejected
    as questions (the task `question`) are left out. Raises UsageError and
    DataError; nothing is written then."""
    path = Path(target)
    if path.exists() and not force:
        raise UsageError(f"{path} already exists: name another file, or add --force.")
    if is_run_file(source):
        if labels is not None:
            raise UsageError(f"--labels goes with a data file, and {source} is a file of labels itself.")
        with LabelStore.open(source) as store:
            return _export(store.samples(), store, store.get("mapping", {}), path, source, relevant)
    data = read_eval_data(source, mapping=mapping, whole=True)
    if labels is None:
        return _export(samples_of(data), None, data.mapping, path, source, relevant)
    with LabelStore.open(labels) as store:
        return _export(samples_of(data), store, data.mapping, path, source, relevant)


def samples_of(data: EvalData) -> Iterator[Item]:
    """The rows of data, for a file of labels."""
    for item in data.items:
        yield replace(item, where="", error="")


def _export(
    samples: Iterable[Item], store: LabelStore | None, mapping: Any, path: Path, source: object, relevant: bool
) -> ExportedData:
    edits: dict[str, list[Any]] = {}
    for edit in store.edits() if store is not None else ():
        edits.setdefault(edit.sample_id, []).append(edit)
    judged = relevant_passages(store) if store is not None and relevant else {}
    review = None if store is None else review_of_store(store)
    said = {} if store is None or review is None else reviews(store)
    dropped = {name for name, verdict in said.items() if verdict in ("rejected", "unedited")}
    rows, expected, changed, left_out = [], [], 0, 0
    for one in samples:
        sample = one.sample
        if sample.id in dropped:
            left_out += 1
            continue
        for edit in edits.get(sample.id, ()):
            sample = edited(sample, edit)
        if sample.id in judged:
            sample = replace(sample, passages=_gold(sample.passages, judged[sample.id]))
        changed += sample != one.sample
        rows.append(_row(replace(one, sample=sample), mapping if isinstance(mapping, dict) else {}))
        expected.append((sample.id, sample.question, sample.references))
    if not rows:
        raise UsageError(f"{source} has no questions to export.")
    written = read_eval_data(rows)
    found = [(item.sample.id, item.sample.question, item.sample.references) for item in written.items]
    if different := next((old for old, new in zip(expected, found, strict=True) if old != new), None):
        raise UsageError(
            f"{source}: the question {different[0][:60]!r} would not be read back as it is, because of how the columns "
            "of the data are named. Rename those that `ragstone data check` takes for something else."
        )
    write_file(path, "".join(f"{to_json(row)}\n" for row in rows), parents=True)
    if store is not None:
        store.note_export(written.sha256, len(rows), time.time())
    return ExportedData(str(path), len(rows), changed, written.sha256, left_out, review)


def _gold(passages: tuple[Passage, ...], judged: Mapping[str, tuple[Passage, bool]]) -> tuple[Passage, ...]:
    """The gold passages after the experts judged some passages (id → passage, relevant)."""
    kept = [passage for passage in passages if passage.id not in judged]
    return (*kept, *(replace(passage, relevant=True) for passage, is_gold in judged.values() if is_gold))


def _row(one: Item, mapping: Mapping[str, str]) -> dict[str, Any]:
    """A row of the data set. The language is left out where it would be detected."""
    sample, response = one.sample, one.response
    columns = sample.meta.get("columns")
    extra: dict[str, Any] = {**(columns if isinstance(columns, Mapping) else {}), **one.extra}
    for word in ("language", "answerable"):
        extra.pop(mapping.get(word, word), None)
    turns = [{"role": turn.role, "content": turn.content} for turn in one.history]
    row: dict[str, Any] = {
        "id": sample.id,
        "question": [*turns, {"role": "user", "content": sample.question}] if turns else sample.question,
    }
    if sample.references:
        row["reference"] = [list(slot) for slot in sample.references]
    if gold := [_passage(passage) for passage in sample.passages if passage.relevant]:
        row["reference_contexts"] = gold
    if sample.meta.get("answerable") is not None:
        row["answerable"] = sample.meta["answerable"]
    if sample.language and sample.language != detect(sample.question):
        row["language"] = sample.language
    if response is not None:
        if response.finish_reason != NO_ANSWER:
            row["answer"] = response.answer
        if response.passages or response.empty_retrieval:
            row["contexts"] = [_passage(passage) for passage in response.passages]
    return {**row, **{name: value for name, value in {**extra, **one.rest}.items() if name not in row}}


def _passage(passage: Passage) -> dict[str, Any]:
    fields = {"id": passage.id, "text": passage.text, "title": passage.title, "metadata": passage.meta}
    shown = {name: value for name, value in fields.items() if value}
    return shown if passage.score is None else {**shown, "score": passage.score}
