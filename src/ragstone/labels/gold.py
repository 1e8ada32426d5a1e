"""Edits of the gold: questions, references, gold passages and unanswerable marks, each edit a version."""

import time
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ragstone.datasets.tabular.items import Item
from ragstone.errors import UsageError
from ragstone.labels.file import LabelFile
from ragstone.labels.records import Edit, checked_name, edited
from ragstone.structs import to_json

_LONGEST = 200_000  # characters of a question, a reference or a reason


class GoldStore(LabelFile):
    """The part of a file of labels that keeps the questions of the data and the edits of them."""

    def add_samples(self, samples: Iterable[Item]) -> None:
        """Keeps the questions of the data; one that is there stays as it is."""
        with self._writing():
            self._many(
                "INSERT OR IGNORE INTO samples VALUES (?, ?, ?)",
                ((source.sample.id, source.row, to_json(source)) for source in samples),
            )

    def samples(self) -> Iterator[Item]:
        """The questions of the data in their order, as they were before any edit."""
        for (payload,) in self._rows("SELECT payload FROM samples ORDER BY row, id"):
            yield self._decoded(payload, Item, "a question")

    def sample(self, sample_id: str, *, original: bool = False) -> Item:
        """A question of the data, with all edits, or as it was before (`original`). Raises UsageError."""
        rows = self._rows("SELECT payload FROM samples WHERE id = ?", (sample_id,))
        if not rows:
            raise UsageError(f"{self.path} has no question with the id {sample_id[:60]!r}.")
        source = self._decoded(rows[0][0], Item, f"the question {sample_id}")
        if original:
            return source
        sample = source.sample
        for edit in self.edits(sample_id):
            sample = edited(sample, edit)
        return replace(source, sample=sample)

    def edit(self, edit: Edit) -> int:
        """Writes an edit as the newest version of a question; returns its version. Raises UsageError for an unknown
        question, and for an edit that changes nothing or has an empty question."""
        checked_name(edit.by)
        _check_texts(edit)
        edit = replace(edit, when=edit.when or round(time.time(), 3), version=0)
        with self._writing():
            before = self.sample(edit.sample_id).sample
            if edited(before, edit) == before:
                raise UsageError(f"The edit of {edit.sample_id[:60]!r} changes nothing.")
            self._run("INSERT INTO edits (sample, payload) VALUES (?, ?)", (edit.sample_id, to_json(edit)))
            return int(self._rows("SELECT max(version) FROM edits")[0][0])

    def _take_back(self, sample_id: str, by: str, until: float) -> None:
        """Writes the question and references of before the newest edit as another version, if that edit is this
        expert's and no later than `until`; in the transaction of the caller."""
        edits = self.edits(sample_id)
        if not edits or edits[-1].by != by or edits[-1].when > until:
            return
        before = self.sample(sample_id, original=True).sample
        for edit in edits[:-1]:
            before = edited(before, edit)
        back = Edit(sample_id, by, "undo", before.question, before.references, when=round(time.time(), 3))
        self._run("INSERT INTO edits (sample, payload) VALUES (?, ?)", (sample_id, to_json(back)))

    def edits(self, sample_id: str | None = None) -> tuple[Edit, ...]:
        """The edits of a question, or all, oldest first."""
        rows = self._rows(
            "SELECT version, payload FROM edits WHERE ?1 IS NULL OR sample = ?1 ORDER BY version", (sample_id,)
        )
        return tuple(replace(self._decoded(text, Edit, "an edit"), version=version) for version, text in rows)

    def note_export(self, sha256: str, rows: int, when: float) -> None:
        """Notes that a data set with all edits so far was written: its hash and its number of rows."""
        last = max((edit.version for edit in self.edits()), default=0)
        with self._writing():
            self._run("INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?)", (sha256, last, when, rows))

    def exports(self) -> tuple[tuple[str, int, float, int], ...]:
        """The data sets that were written: hash, last edit in it, time, and number of rows; oldest first."""
        rows = self._rows("SELECT sha256, edit, written, rows FROM exports ORDER BY written")
        return tuple((str(sha256), int(edit), float(when), int(count)) for sha256, edit, when, count in rows)


def _check_texts(edit: Edit) -> None:
    if edit.question is not None and not edit.question.strip():
        raise UsageError("The new question is empty.")
    if any(not alias.strip() for slot in edit.references or () for alias in slot or ("",)):
        raise UsageError("A new reference is empty.")
    texts = [edit.question or "", edit.why, *(alias for slot in edit.references or () for alias in slot)]
    if any(len(text) > _LONGEST for text in (*texts, *(passage.text for passage in edit.gold or ()))):
        raise UsageError(f"A text of the edit has more than {_LONGEST:,} characters.")
