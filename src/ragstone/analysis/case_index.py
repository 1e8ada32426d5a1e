"""The cases of a run, filtered, sorted and counted in milliseconds, from an index that is kept beside the user's cache.

The index follows a run that is being written (`CaseIndex.update`), and never writes to the run file.
"""

import hashlib
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index_build import Builder, IndexProgress, progress_of
from ragstone.analysis.case_index_query import SearchKey, Selection
from ragstone.analysis.case_index_rows import INPUT, PAIR, QUESTION, SAMPLE, CaseRow, is_number, number_of, row_of
from ragstone.analysis.case_index_store import IndexDamaged, Store, open_store, remove_store
from ragstone.analysis.sides import question_digest
from ragstone.error_text import failure_in
from ragstone.errors import UsageError
from ragstone.runs import RunReader
from ragstone.runs.schema import key_of, text_of
from ragstone.structs import to_json
from ragstone.types import Benchmark, Case, Record, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragstone.analysis.case_index_text import Found

__all__ = ["CaseIndex", "CaseKey", "CasePage", "CaseRow", "Facet", "IndexProgress", "Outcomes"]

CaseKey = tuple[str, str]
"""System id and case id."""

MOST_ROWS = 1_000
"""Rows of a page."""
MOST_SAME = 200
"""Answers to one question."""
MOST_FACETS = 50
"""Values of one facet: the most frequent."""
_PARTS = 12  # of an id that people use, divided by "/"


@dataclass(frozen=True)
class CasePage:
    """Some of the cases that match a filter, in its order. `total`: how many match; if not `exact`, some of them
    only have all parts of the words that are searched."""

    rows: tuple[CaseRow, ...]
    total: int
    exact: bool


@dataclass(frozen=True)
class Facet:
    """A value that cases can be filtered by: `label` is for readers, `count` the number of cases that match the filter
    apart from what it says about this field."""

    value: str
    label: str
    count: int


@dataclass(frozen=True)
class Outcomes:
    """Cases as arrays of one length: their positions in the index, numbers that stand for the pair (the sample, or its
    input, under its condition) and for the sample, whether the answer is right (1, 0, NaN if that is not known), and
    scores by metric (NaN where there is none)."""

    places: "NDArray[np.int64]"
    pairs: "NDArray[np.float64]"
    inputs: "NDArray[np.float64]"
    samples: "NDArray[np.float64]"
    right: "NDArray[np.float64]"
    scores: Mapping[str, "NDArray[np.float64]"]


class CaseIndex:
    """An index of one run. Its methods may be called from several threads: questions wait for each other, but not for
    `update`."""

    def __init__(self, run: RunReader, benchmark: Benchmark, path: Path, state: str, language: str) -> None:
        self.path, self.language = path, language
        self._run, self.benchmark, self._state = run, benchmark, state
        self._lock, self._building = threading.RLock(), threading.RLock()
        self._labels: dict[tuple[str, str, str], str] = {}
        self._searches: dict[SearchKey, Found] = {}
        self._store, self._builder = self._opened()

    @classmethod
    def open(
        cls, run: RunReader, benchmark: Benchmark, folder: Path, *, language: str, version: str = ""
    ) -> "CaseIndex":
        """The index of an open run in this folder, empty if it is new: `update` fills it. It is started again if it is
        damaged or was made by another `version` of ragstone or of the benchmark. `close` closes the run, too."""
        place = hashlib.blake2b(os.fsencode(run.path.resolve()), digest_size=6).hexdigest()
        name = f"{hashlib.blake2b(run.file_id.encode(), digest_size=8).hexdigest()}-{place}.index"
        state = to_json([version, benchmark.name, benchmark.version, run.file_id, run.meta.get("gates")])
        return cls(run, benchmark, folder / name, state, language)

    def _opened(self) -> tuple[Store, Builder]:
        """The index as questions read it, and what updates it, each with a connection of its own to both files."""
        store = open_store(self.path, self._state)
        try:
            return store, Builder(open_store(self.path, self._state), self._run.reopened(), self.benchmark)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Closes the index and the run."""
        with self._building, self._lock:
            self._builder.close()
            self._store.close()
            self._run.close()

    def __enter__(self) -> "CaseIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, budget_seconds: float) -> IndexProgress:
        """Indexes what is new in the run, for about so many seconds; call it again until it is `finished`. An index
        that was damaged is made again."""
        with self._building:
            try:
                if self._store.damaged:
                    self._start_again()
                return self._builder.update(budget_seconds)
            except IndexDamaged:
                self._start_again()
                return self._builder.update(budget_seconds)

    def _start_again(self) -> None:
        with self._lock:
            self._builder.close()
            self._store.close()
            remove_store(self.path)
            self._store, self._builder = self._opened()
            self._searches.clear()

    def progress(self) -> IndexProgress:
        """How much is indexed, without any work."""
        with self._lock:
            return progress_of(self._store, self._run)

    def page(self, chosen: CaseFilter, *, offset: int = 0, size: int = 50, language: str = "") -> CasePage:
        """The cases from `offset` on that match, at most `size` (1 to 1,000). Here and below,
        `language` is that of the index by default."""
        if not (offset >= 0 and 1 <= size <= MOST_ROWS):
            raise UsageError(f"A page has 1 to {MOST_ROWS:,} cases, from 0 on; got {size} from {offset}.")
        with self._lock, self._store.reading():
            selection = self._selection(chosen)
            mask = selection.mask()
            places = selection.page(offset, size)
            return CasePage(self._rows(selection, places, language), int(mask.sum()), selection.exact)

    def facets(
        self, chosen: CaseFilter, names: Collection[str] | None = None, *, language: str = ""
    ) -> Mapping[str, tuple[Facet, ...]]:
        """The values of each field by which cases can be filtered, the most frequent first, and those that are chosen;
        those of `names` only, if given. They are "system", "status", "cause", "group", "language", "c.NAME" and
        "label.NAME"."""
        with self._lock, self._store.reading():
            selection = self._selection(chosen)
            mask = selection.mask()
            facets = {}
            for name, column in selection.columns.items():
                if is_number(name) or (names is not None and name not in names):
                    continue
                counts = selection.counts(name, selection.mask(name) if name in selection.choices else mask)
                facets[name] = self._facet(selection, (name, column), counts, language)
            return {name: values for name, values in facets.items() if values}

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the run, and "seconds" and "tokens" if they are known: what `m.NAME` and `sort` may name."""
        with self._lock:
            return tuple(sorted(name[2:] for name in self._store.columns() if name.startswith("m.")))

    def neighbours(self, chosen: CaseFilter, key: CaseKey) -> tuple[CaseKey | None, CaseKey | None]:
        """The cases before and after one, among those that match, in the order of the filter."""
        with self._lock, self._store.reading():
            position = self._position(key)
            if position is None:
                return None, None
            previous, following = self._selection(chosen).neighbours(position)
            return self._key(previous), self._key(following)

    def same_sample(self, sample_id: str, *, language: str = "") -> tuple[CaseRow, ...]:
        """All answers to one question of this run, of every system and condition, in its order; at most 200."""
        return self._same(SAMPLE, number_of(sample_id), language)

    def same_question(self, case: Case, *, language: str = "") -> tuple[CaseRow, ...]:
        """The same of a question of another run, which may have another id here."""
        return self._same(QUESTION, number_of(question_digest(case).hex()), language)

    def _same(self, column: str, number: float, language: str) -> tuple[CaseRow, ...]:
        with self._lock, self._store.reading():
            selection = self._selection(CaseFilter())
            places = np.flatnonzero(selection.numbers(column) == number)[:MOST_SAME]
            return self._rows(selection, [int(place) for place in places], language)

    def rows(self, places: Sequence[int], *, language: str = "") -> tuple[CaseRow, ...]:
        """The rows of these positions, as `outcomes` names them."""
        with self._lock, self._store.reading():
            return self._rows(self._selection(CaseFilter()), places, language)

    def outcomes(self, chosen: CaseFilter, metrics: Sequence[str] = ()) -> Outcomes:
        """How each case that matches a filter ended, with its scores by these metrics: for comparisons."""
        with self._lock, self._store.reading():
            selection = self._selection(chosen)
            places = np.flatnonzero(selection.mask())
            right = np.full(len(places), np.nan)
            for status, value in (("right", 1.0), ("wrong", 0.0)):
                right[selection.among("status", [status])[places]] = value
            known = [name for name in metrics if f"m.{name}" in selection.columns]
            pairs, inputs, samples = (selection.numbers(name)[places] for name in (PAIR, INPUT, SAMPLE))
            return Outcomes(
                places, pairs, inputs, samples, right,
                {name: selection.numbers(f"m.{name}")[places] for name in known},
            )  # fmt: skip

    def case_named(self, system: str, shown: str) -> str:
        """The id in the run of the case that people know as `shown`; the same text where there is no such case."""
        parts = shown.split("/")
        with self._lock, self._store.reading():
            selection = self._selection(CaseFilter(systems=(system,)))
            samples = np.where(selection.mask(), selection.numbers(SAMPLE), np.nan)
            for end in range(len(parts), max(0, len(parts) - _PARTS), -1):
                places = np.flatnonzero(samples == number_of("/".join(parts[:end])))[:MOST_SAME]
                for row in self._rows(selection, [int(place) for place in places], ""):
                    if row.shown == shown:
                        return row.case_id
        return shown

    def shown(self, key: CaseKey) -> str:
        """What people know a case of the index by."""
        with self._lock, self._store.reading():
            place = self._position(key)
            rows = () if place is None else self._rows(self._selection(CaseFilter()), [place], "")
        return rows[0].shown if rows else key[1]

    def record(self, system: str, case_id: str) -> Record:
        """A record, read from the run. `UsageError` if there is none."""
        with self._lock:
            (record,) = self._run.find([(system, case_id)])
        if record is None:
            raise UsageError(f"The run has no case {case_id[:200]!r} of system {system[:200]!r}.")
        return record

    def usage(self) -> Mapping[str, Usage]:
        """System → tokens and requests of all answers indexed."""
        with self._lock:
            totals = self._store.note("usage") or {}
            return {text_of(system): Usage(*counts) for system, counts in totals.items()}

    def _selection(self, chosen: CaseFilter) -> Selection:
        return Selection(self._store, chosen, self._searches)

    def _rows(self, selection: Selection, places: Sequence[int], language: str) -> tuple[CaseRow, ...]:
        query = (
            "SELECT k.n, names.value, k.case_key, rows.details FROM json_each(?) p CROSS JOIN keys k ON k.n = p.value"
            " JOIN rows ON rows.n = k.n JOIN names ON names.id = 0 AND names.code = k.system"
        )
        rows = []
        for _, system, case, details in self._store.all(query, to_json(list(places))):
            row = row_of(details, text_of(system), text_of(case))
            label = self._label(selection, "cause", row.cause, language) if row.cause else ""
            answer = failure_in(row.answer, language) if row.status == "failed" and language else row.answer
            group = self._label(selection, "group", row.group, language)
            rows.append(replace(row, label=label, group=group, answer=answer))
        return tuple(rows)

    def _facet(
        self, selection: Selection, column: tuple[str, int], counts: Mapping[int, int], language: str
    ) -> tuple[Facet, ...]:
        name, number = column
        chosen = self._store.codes_of(number, selection.choices.get(name, ()))
        codes = sorted(counts, key=lambda code: -counts[code])[:MOST_FACETS]
        codes += [code for code in chosen if code not in codes]
        values = self._store.names_of(number, codes)
        return tuple(
            Facet(value, self._label(selection, name, value, language), counts.get(code, 0))
            for code, value in ((code, values[code][0]) for code in codes if code in values)
        )

    def _label(self, selection: Selection, name: str, value: str, language: str) -> str:
        """A cause or a group for a reader in this language, as the first record of it is explained."""
        if name not in ("cause", "group") or not value:
            return value
        key = (language or self.language, name, value)
        if key not in self._labels:
            if len(self._labels) >= 10 * MOST_FACETS:
                self._labels.clear()
            self._labels[key] = self._translated(selection, *key) or value
        return self._labels[key]

    def _translated(self, selection: Selection, language: str, name: str, value: str) -> str:
        column = selection.columns.get(name)
        codes = self._store.codes_of(column, [value]) if column is not None else []
        if not codes or column is None or (key := self._key(self._store.names_of(column, codes)[codes[0]][1])) is None:
            return ""
        (record,) = self._run.find([key])
        if record is None:
            return ""
        diagnosis = self.benchmark.explain(record, language=language)
        return diagnosis.label if name == "cause" else diagnosis.group

    def _position(self, key: CaseKey) -> int | None:
        found = self._store.find(key_of(key[0]), key_of(key[1]))
        return None if found is None else found[0]

    def _key(self, position: int | None) -> CaseKey | None:
        """The system id and the case id of a position."""
        query = "SELECT names.value, k.case_key FROM keys k JOIN names ON id = 0 AND code = k.system WHERE k.n = ?"
        found = self._store.all(query, position) if position is not None else []
        return (text_of(found[0][0]), text_of(found[0][1])) if found else None
