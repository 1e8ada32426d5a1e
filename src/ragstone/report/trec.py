"""Export the rankings of a run as a TREC run: `query Q0 document rank score tag`."""

import re
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO

import numpy as np

from ragstone.stats import Samples
from ragstone.types import Benchmark, Record, Run


def write_trec(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """A list for each question and retriever (without a retriever: system), which is its tag; of several with the same
    list, such as the answers at each k, the deepest."""
    del benchmark, language
    with tempfile.TemporaryFile() as file:
        lists = _Lists(file)
        for record in run.records(texts=False):
            if ranking := _ranking(record):
                lists.add(_tag(record), record.case.sample.id, ranking)
        for text in lists.deepest():
            stream.write(text)


class _Lists:
    """The lists of a run, in a file; only where each of them begins is in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._queries, self._tags = Samples(), dict[str, int]()
        self._query, self._tag, self._depth = array("i"), array("i"), array("i")
        self._starts = array("q", [0])

    def add(self, tag: str, query: str, ranking: Sequence[tuple[str, float]]) -> None:
        """The next list."""
        text = "".join(
            f"{_word(query)} Q0 {_word(document)} {rank} {score!r} {tag}\n"
            for rank, ((document, _), score) in enumerate(zip(ranking, _scores(ranking), strict=True), 1)
        )
        size = self._file.write(text.encode("utf-8", "surrogatepass"))
        self._query.append(self._queries.add(query))
        self._tag.append(self._tags.setdefault(tag, len(self._tags)))
        self._depth.append(len(ranking))
        self._starts.append(self._starts[-1] + size)

    def deepest(self) -> Iterator[str]:
        """The deepest list of each tag and query, the first of equal ones, in the order of these."""
        if not self._depth:
            return
        places, tags = (np.frombuffer(column, dtype=np.int32) for column in (self._query, self._tag))
        rank = {tag: number for number, tag in enumerate(sorted(self._tags))}
        order = self._queries.order(places)
        order = order[
            np.argsort(np.array([rank[tag] for tag in self._tags], dtype=np.int64)[tags[order]], kind="stable")
        ]
        keys = np.stack([tags[order], self._queries.groups(places[order])])
        starts = np.flatnonzero(np.append(True, (np.diff(keys) != 0).any(axis=0)))
        for start, end in pairwise(np.append(starts, len(order))):
            best = max(order[start:end].tolist(), key=lambda at: self._depth[at])
            self._file.seek(self._starts[best])
            size = self._starts[best + 1] - self._starts[best]
            yield self._file.read(size).decode("utf-8", "surrogatepass")


def _ranking(record: Record) -> list[tuple[str, float]]:
    """(document, score), the best first, each document once: as deep as the benchmark kept it, else what the system
    returned."""
    if "ranking" in record.case.sample.meta:
        rows = [(str(row[0]), float(row[1])) for row in record.case.sample.meta["ranking"] or ()]
    else:
        rows = [(passage.id, passage.score or 0.0) for passage in (record.response.passages if record.response else ())]
    first: dict[str, float] = {}
    for document, score in rows:
        first.setdefault(document, score)
    return list(first.items())


def _tag(record: Record) -> str:
    fields = record.case.condition
    chunk = f"/c{fields['chunk']}" if fields.get("chunk") else ""
    return _word(f"{fields.get('retriever') or record.system_id}{chunk}")


def _scores(ranking: Sequence[tuple[str, float]]) -> list[float]:
    """The scores, where they alone give this order in single precision, as trec_eval reads them; else the places left:
    trec_eval would order equal scores by their documents."""
    single = array("f", [score for _, score in ranking])
    if all(before > after for before, after in pairwise(single)):
        return [score for _, score in ranking]
    return [float(left) for left in range(len(ranking), 0, -1)]


def _word(text: str) -> str:
    """A text without blanks, which separate the columns."""
    return re.sub(r"\s+", "_", text) or "_"
