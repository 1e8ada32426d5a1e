"""The measures of this package over many lists at once, from scores as a search system gives them."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from ragstone.errors import UnknownName, UsageError
from ragstone.metrics.rank._lists import Ranking, RankMetric
from ragstone.metrics.rank.measures import PLUGINS


def scored_lists(
    run: Mapping[str, Mapping[str, float]], labels: Mapping[str, Mapping[str, float]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Scores many lists at once, with the same figures as trec_eval: query → measure → value.

    `run`: query → document → score, a number; `labels`: query → document → grade, relevant above 0; `measures`: names
    such as `ndcg@10`. The order is trec_eval's: by score, in single precision; of equal scores, the last id first. A
    query without a list, or without a relevant document, is left out, as in trec_eval. Raises UnknownName and
    UsageError.
    """
    kinds = {name: _measure(name) for name in measures}
    by_list = {}
    for query, scores in run.items():
        grades = labels.get(query)
        if not scores or not grades or not any(grade > 0 for grade in grades.values()):
            continue
        ranking = _ranking(scores, grades)
        by_list[query] = {name: kind.value(ranking) for name, kind in kinds.items()}
    return by_list


def _measure(name: str) -> RankMetric:
    stem, at, k = name.partition("@")
    known = PLUGINS.get(f"{stem}@k" if at else stem)
    if known is None:
        raise UnknownName("measure", name, PLUGINS)
    if isinstance(known, RankMetric):
        return known
    if not (k.isdecimal() and int(k)):
        raise UsageError(f"{name}: k should be a number from 1, for example {stem}@5.")
    return known.at(int(k))


def _ranking(scores: Mapping[str, float], grades: Mapping[str, float]) -> Ranking:
    """The places of the relevant documents, found without sorting the others.

    trec_eval holds scores in single precision and orders equal ones by their ids, the last of the alphabet first."""
    values = array("f", scores.values())
    ordered = sorted(values)
    places = []
    for document, grade in grades.items():
        if grade > 0 and (score := scores.get(document)) is not None:
            (single,) = array("f", (score,))
            end = bisect_right(ordered, single)
            place = len(ordered) - end + 1
            if end - bisect_left(ordered, single) > 1:
                equal = zip(scores, values, strict=True)
                place += sum(higher > document for higher, value in equal if value == single)
            places.append((place, float(grade)))
    places.sort()
    return Ranking(
        tuple([place for place, _ in places]), tuple([grade for _, grade in places]), len(ordered),
        tuple(sorted([float(grade) for grade in grades.values() if grade > 0], reverse=True)),
    )  # fmt: skip
