"""Builds and updates a case index from a run file, in steps of a fraction of a second, each a transaction.

New records are read in the order of their arrival. Then a sweep compares the stamps of all records, to find failures
that were replaced and scores that were added. The notes of the index say how far both have come, so that any process
can go on where another was killed.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ragstone.analysis.case_index_rows import IndexedRecord, indexed, is_number
from ragstone.analysis.case_index_store import Store
from ragstone.analysis.case_index_text import add_texts, replace_text, searchable
from ragstone.runs import RunReader
from ragstone.runs.schema import key_of
from ragstone.types import Benchmark, Record, Usage

_STEP_SECONDS = 0.25
_PAGE = 128  # records read at once
_STAMPS = 2_000  # of records, compared in one step
_RARELY = 50  # a run that grows is ranked again after so many times as long as the last time took
_TEXTS = 2_000  # texts made searchable in one step


@dataclass(frozen=True)
class IndexProgress:
    """How much of a run is indexed: `done` of `total` records, of which `searchable` can be found by their text.
    `current`: what changed in records that were indexed before was looked for, too."""

    done: int
    total: int
    searchable: int
    current: bool

    @property
    def finished(self) -> bool:
        """Whether the index has everything of the run."""
        return self.current and self.done >= self.total and self.searchable >= self.done


def _file_state(run: RunReader) -> str:
    """A text that changes when the run file does: sizes and times of change. The file itself is not opened: closing it
    would drop the locks of SQLite."""
    parts = []
    for tail in ("", "-wal"):
        try:
            found = Path(f"{run.path}{tail}").stat()
            parts.append(f"{found.st_size}:{found.st_mtime_ns}")
        except OSError:
            parts.append("")
    return "/".join(parts)


def progress_of(store: Store, run: RunReader) -> IndexProgress:
    """The state of an index, without any work."""
    with store.reading():
        done = store.size
        current = store.note("swept") == _file_state(run)
        return IndexProgress(done, max(done, run.last_position), searchable(store), current)


class Builder:
    """Brings an index up to date with a run."""

    def __init__(self, store: Store, run: RunReader, benchmark: Benchmark) -> None:
        self._store, self._run, self._benchmark = store, run, benchmark
        self._better: Mapping[str, str] = {}
        self._next_rank = 0.0

    def close(self) -> None:
        """Closes the index and the run."""
        self._store.close()
        self._run.close()

    def update(self, budget_seconds: float) -> IndexProgress:
        """Works for about `budget_seconds`, at least one step, or until nothing is left to do."""
        until = time.monotonic() + budget_seconds
        self._better = self._run.meta.get("better", {})
        while True:
            if not self._step() or time.monotonic() >= until:
                return progress_of(self._store, self._run)

    def _step(self) -> bool:
        """One transaction of work. False: there is nothing to do."""
        state = _file_state(self._run)
        store = self._store
        if store.note("swept") == state and searchable(store) >= store.size and not self._rank_due():
            return False
        with store.writing():
            until = time.monotonic() + _STEP_SECONDS
            if self._arrivals(until) or self._sweep(state, until):
                return True
            if add_texts(store, _TEXTS):
                return True
            self._rank()
            return False

    def _arrivals(self, until: float) -> bool:
        """Indexes new records. False if there are none."""
        position = before = self._store.note("position") or 0
        while records := (found := self._run.arrived(position))[1]:
            position = found[0]
            self._index(records)
            if time.monotonic() >= until:
                break
        if position != before:
            self._store.set_note("position", position)
        return bool(position != before)

    def _sweep(self, state: str, until: float) -> bool:
        """Compares the stamps of records with those of the index. False if that is done for this state of the file."""
        store = self._store
        if store.note("swept") == state:
            return False
        sweep: dict[str, Any] = store.note("sweep") or {"after": None, "state": state, "seen": 0, "size": store.size}
        while True:
            after = sweep["after"]
            page = self._run.stamps((after[0], after[1]) if after else None, _STAMPS)
            self._compare(page)
            sweep["seen"] += len(page)
            if len(page) < _STAMPS:
                if sweep["seen"] < sweep["size"]:  # the file was replaced by an older copy
                    store.clear()
                    return True
                store.set_note("swept", sweep["state"])
                store.set_note("sweep", None)
                return True
            sweep["after"] = page[-1][:2]
            if time.monotonic() >= until:
                store.set_note("sweep", sweep)
                return True

    def _compare(self, page: Sequence[tuple[str, str, str]]) -> None:
        changed = []
        for system, case, stamp in page:
            found = self._store.find(key_of(system), key_of(case))
            if found is None or found[1] != _short(stamp):
                changed.append((system, case, stamp))
        for start in range(0, len(changed), _PAGE):
            batch = changed[start : start + _PAGE]
            records = self._run.find([key[:2] for key in batch])
            self._index([(key[2], record) for key, record in zip(batch, records, strict=True) if record is not None])

    def _index(self, records: Sequence[tuple[str, Record]]) -> None:
        """Writes these records, with their stamps, into the index: new ones at its end, known ones at their place."""
        store = self._store
        size, columns = store.size, store.columns()
        for stamp, record in records:
            diagnosis = self._benchmark.explain(record, language="en")
            kept = indexed(record, diagnosis, self._better)
            system, key = key_of(record.system_id), key_of(record.case.id)
            found = store.find(system, key)
            position = size if found is None else found[0]
            size += found is None
            if found is not None:
                self._blank(position, columns)
            self._put(position, {**kept.values, **kept.numbers}, columns)
            store.set_row(position, system, key, _short(stamp), kept.details)
            if replace_text(store, position, kept.text) != kept.text:  # else scores were added to a known answer
                self._count(record.system_id, kept)

    def _blank(self, position: int, columns: Mapping[str, int]) -> None:
        """Removes the values of a record that is about to be written again."""
        for name, column in columns.items():
            self._store.put(column, position, math.nan if is_number(name) else 0)

    def _put(self, position: int, values: Mapping[str, str | float], columns: dict[str, int]) -> None:
        store = self._store
        for name, value in values.items():
            if name not in columns:
                if (column := store.add_column(name)) is None:
                    continue
                columns[name] = column
            if isinstance(value, float):
                store.put(columns[name], position, value)
            else:
                store.put(columns[name], position, store.code(columns[name], value, position))

    def _count(self, system: str, kept: IndexedRecord) -> None:
        """Adds to the tokens and requests of a system so far."""
        if kept.usage != Usage():
            totals = self._store.note("usage") or {}
            total = Usage(*totals.get(system, ())) + kept.usage
            totals[system] = list(msgspec.structs.astuple(total))
            self._store.set_note("usage", totals)

    def _rank_due(self) -> bool:
        """Whether records are new in the order of the ids, and it is worth it: while others write, not too often."""
        if (self._store.note("ranked") or 0) == self._store.size:
            return False
        return time.monotonic() >= self._next_rank or not self._run.owners()

    def _rank(self) -> None:
        """Numbers the records in the order of their ids, inside a transaction, if there are new ones."""
        store = self._store
        if not self._rank_due():
            return
        start, ranks = time.monotonic(), np.zeros(store.size)
        ranks[store.in_order_of_ids()] = np.arange(len(ranks))  # numbers in ids count as such: q2 is before q10
        if (column := store.add_column("id")) is not None:
            store.set_numbers(column, ranks)
        store.set_note("ranked", len(ranks))
        self._next_rank = time.monotonic() + _RARELY * (time.monotonic() - start)


def _short(stamp: str) -> str:
    return stamp if len(stamp) <= 32 else blake2b(stamp.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
