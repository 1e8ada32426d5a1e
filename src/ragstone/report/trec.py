"""Export the rankings of a run as a TREC run: `query Q0 document rank score tag`."""

import re
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import IO

from ragstone.types import Benchmark, Record, Run


def write_trec(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    """A list for each question and retriever (without a retriever: system), which is its tag; of several with the same
    list, such as the answers at each k, the deepest."""
    del benchmark, language
    deepest: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for record in run.records(texts=False):
        ranking = _ranking(record)
        key = (_tag(record), record.case.sample.id)
        if len(ranking) > len(deepest.get(key, [])):
            deepest[key] = ranking
    for (tag, query), ranking in sorted(deepest.items()):
        for rank, ((document, _), score) in enumerate(zip(ranking, _scores(ranking), strict=True), 1):
            stream.write(f"{_word(query)} Q0 {_word(document)} {rank} {score!r} {tag}\n")


def _ranking(record: Record) -> list[tuple[str, float]]:
    """(document, score), the best first, each document once: as deep as the benchmark kept it, else what the system
    returned."""
    if "ranking" in record.case.sample.meta:
        rows = [(str(row[0]), float(row[1])) for row in record.case.sample.meta["ranking"] or ()]
    else:
        rows = [(one.id, one.score or 0.0) for one in (record.response.passages if record.response else ())]
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
