"""Ranked lists are scored as trec_eval scores them."""

import math
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import UsageError
from ragstone.metrics import Tools, make_metrics
from ragstone.metrics.rank import document_of, scored_lists
from ragstone.types import Case, Passage, Query, Response, Sample, Score

STEMS = ("hit", "recall", "precision", "f1", "ndcg", "mrr", "map")
# trec_eval's names: of the whole list, and of its first k.
WHOLE = {"recall": "set_recall", "precision": "set_P", "f1": "set_F", "ndcg": "ndcg", "mrr": "recip_rank", "map": "map"}
CUT = {"hit": "success", "recall": "recall", "precision": "P", "ndcg": "ndcg_cut", "map": "map_cut"}


def score(name: str, ids: list[str], grades: dict[str, int], **labels: Any) -> Score:
    gold = tuple(
        Passage(one, "", relevant=grade > 0, meta={"grade": grade} if grade > 1 else {})
        for one, grade in grades.items()
    )
    case = Case("c", Sample("s", "q", passages=labels.get("passages", gold)), {}, Query("q"))
    result = make_metrics([name], Tools())[0].score(case, Response("", tuple(Passage(one, "") for one in ids)))
    assert isinstance(result, Score)
    return result


def trec(measures: set[str], ids: list[str], grades: dict[str, int]) -> dict[str, float]:
    """What trec_eval says of this list: a run has each document once, at its highest score."""
    run: dict[str, float] = {}
    for place, one in enumerate(ids):
        run.setdefault(one, float(len(ids) - place))
    found = pytrec_eval.RelevanceEvaluator({"q": grades}, measures).evaluate({"q": run})
    return dict(found["q"])


DOCUMENTS = [f"d{number}" for number in range(12)]
LISTS = st.lists(st.sampled_from(DOCUMENTS), min_size=1, max_size=20)
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1).filter(lambda g: any(g.values()))


@given(LISTS, GRADES)
def test_the_whole_list_is_scored_as_trec_eval_does(ids: list[str], grades: dict[str, int]) -> None:
    found = trec(set(WHOLE.values()), ids, grades)
    for stem, measure in WHOLE.items():
        assert score(stem, ids, grades).value == pytest.approx(found[measure], abs=1e-9), stem


@given(LISTS, GRADES, st.integers(1, 25))
def test_the_first_k_are_scored_as_trec_eval_does(ids: list[str], grades: dict[str, int], k: int) -> None:
    found = trec({f"{measure}.{k}" for measure in CUT.values()}, ids, grades)
    for stem, measure in CUT.items():
        assert score(f"{stem}@{k}", ids, grades).value == pytest.approx(found[f"{measure}_{k}"], abs=1e-9), stem
    precision, recall = found[f"P_{k}"], found[f"recall_{k}"]
    f1 = 2 * precision * recall / (precision + recall) if precision else 0.0
    assert score(f"f1@{k}", ids, grades).value == pytest.approx(f1, abs=1e-9)


@given(LISTS, GRADES, st.integers(1, 25))
def test_the_reciprocal_rank_of_the_first_k_is_that_of_the_list_cut_there(
    ids: list[str], grades: dict[str, int], k: int
) -> None:
    cut = list(dict.fromkeys(ids))[:k]
    assert score(f"mrr@{k}", ids, grades).value == pytest.approx(trec({"recip_rank"}, cut, grades)["recip_rank"])


@given(LISTS, GRADES, st.integers(1, 25))
def test_a_hit_is_a_recall_above_0(ids: list[str], grades: dict[str, int], k: int) -> None:
    for suffix in ("", f"@{k}"):
        recall = score(f"recall{suffix}", ids, grades).value
        assert score(f"hit{suffix}", ids, grades).value == float(recall is not None and recall > 0)


# Few levels, and two that differ in double precision only: trec_eval takes these for equal.
SCORED = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([0.0, -1.5, 0.25, 1.0, 1.0 + 1e-12, 7.0]))
NAMES = {f"{stem}@{k}": f"{CUT[stem]}_{k}" for stem in CUT for k in (1, 3, 20)} | WHOLE


@given(st.lists(st.tuples(SCORED, st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3))), max_size=3))
def test_many_lists_with_equal_scores_are_put_in_order_and_scored_as_trec_eval_does(
    lists: list[tuple[dict[str, float], dict[str, int]]],
) -> None:
    run = {f"q{number}": scores for number, (scores, _) in enumerate(lists)}
    labels = {f"q{number}": grades for number, (_, grades) in enumerate(lists)}
    measures = {f"{stem}.1,3,20" for stem in CUT.values()} | set(WHOLE.values())
    found = scored_lists(run, labels, list(NAMES))
    # It leaves out what trec_eval does. Of such queries pytrec_eval has zeros, or never ends.
    asked = {q for q, its in labels.items() if run[q] and any(grade > 0 for grade in its.values())}
    assert found.keys() == asked
    kept, judged = {q: run[q] for q in run if q in asked}, {q: labels[q] for q in labels if q in asked}
    expected = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(kept) if asked else {}
    for query, values in found.items():
        for name, value in values.items():
            assert value == pytest.approx(expected[query][NAMES[name]], abs=1e-9), name


def test_many_lists_are_scored_as_each_alone() -> None:
    ids, grades = ["b", "a", "d", "c"], {"a": 3, "c": 1, "e": 1, "b": 0}
    run = {"q": {one: -float(place) for place, one in enumerate(ids)}}
    expected = {name: score(name, ids, grades).value for name in BY_HAND}
    assert scored_lists(run, {"q": grades, "r": grades}, list(BY_HAND)) == {"q": expected}


@pytest.mark.parametrize("name", ["ndgc", "ndgc@5", "ndcg@", "ndcg@0", "ndcg@k", "ndcg@-1"])
def test_a_measure_that_there_is_not_is_refused_for_many_lists(name: str) -> None:
    with pytest.raises(UsageError, match="nd"):
        scored_lists({}, {}, [name])


def test_measures_asked_of_one_case_after_the_other_do_not_mix_their_lists() -> None:
    metrics = make_metrics(["mrr", "recall"], Tools())
    gold = (Passage("a", "", relevant=True), Passage("b", "", relevant=True))
    case = Case("c", Sample("s", "q", passages=gold), {}, Query("q"))
    first, second = Response("", (Passage("a", ""),)), Response("", (Passage("x", ""), Passage("b", "")))
    scores = [metric.score(case, response) for response in (first, second, first) for metric in metrics]
    assert [result.value for result in scores if isinstance(result, Score)] == [1.0, 0.5, 0.5, 0.5, 1.0, 0.5]


# Relevant: a (3), c and e (1 each). Retrieved: b, a, d, c.
BY_HAND = {
    "hit": 1.0,
    "hit@1": 0.0,
    "recall": 2 / 3,
    "recall@2": 1 / 3,
    "precision": 2 / 4,
    "precision@2": 1 / 2,
    "precision@8": 2 / 8,
    "f1": 2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3),
    "f1@8": 2 * (1 / 4) * (2 / 3) / (1 / 4 + 2 / 3),
    "f1@1": 0.0,
    "mrr": 1 / 2,
    "mrr@1": 0.0,
    "map": (1 / 2 + 2 / 4) / 3,
    "map@2": (1 / 2) / 3,
    "ndcg": (3 / math.log2(3) + 1 / math.log2(5)) / (3 + 1 / math.log2(3) + 1 / 2),
    "ndcg@2": (3 / math.log2(3)) / (3 + 1 / math.log2(3)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_list_worked_out_by_hand(name: str) -> None:
    result = score(name, ["b", "a", "d", "c"], {"a": 3, "c": 1, "e": 1, "b": 0})
    assert result.value == pytest.approx(BY_HAND[name], abs=1e-12)
    assert result.evidence == {"places": [2, 4], "retrieved": 4, "relevant": 3}


@pytest.mark.parametrize("stem", STEMS)
def test_a_passage_that_stands_twice_counts_once_and_those_after_it_move_up(stem: str) -> None:
    for suffix in ("", "@1", "@2", "@3"):
        once = score(stem + suffix, ["b", "a", "c"], {"a": 1, "c": 2})
        assert score(stem + suffix, ["b", "b", "a", "b", "a", "c"], {"a": 1, "c": 2}) == once


@pytest.mark.parametrize("stem", STEMS)
def test_nothing_relevant_in_the_list_is_0(stem: str) -> None:
    for suffix in ("", "@2", "@9"):
        assert score(stem + suffix, ["x", "y", "z"], {"a": 1}).value == 0.0


@pytest.mark.parametrize("stem", STEMS)
def test_without_a_relevant_passage_or_without_a_list_it_does_not_apply(stem: str) -> None:
    for name in (stem, f"{stem}@3"):
        none = score(name, ["a"], {"a": 0, "b": 0})
        assert (none.status, none.reason) == ("not_applicable", "no passage is known to be relevant")
        unlabelled = score(name, ["a"], {}, passages=(Passage("a", ""),))
        assert (unlabelled.status, unlabelled.reason) == ("not_applicable", "the sample has no labelled passages")
        assert score(name, [], {"a": 1}).reason == "there are no passages"


@pytest.mark.parametrize("grade", [0, -1, math.nan, math.inf, "high", None, [2]])
def test_a_grade_that_is_no_positive_number_counts_as_1(grade: Any) -> None:
    passages = (Passage("a", "", relevant=True, meta={"grade": grade}), Passage("b", "", relevant=True))
    assert score("ndcg", ["a", "b"], {}, passages=passages).value == 1.0


def test_the_passages_that_a_system_was_given_are_its_list_where_it_returned_none() -> None:
    gold = (Passage("a", "", relevant=True),)
    case = Case("c", Sample("s", "q", passages=gold), {}, Query("q", (Passage("b", ""), Passage("a", ""))))
    assert make_metrics(["mrr"], Tools())[0].score(case, Response("")) == Score.of(
        0.5, evidence={"places": [2], "retrieved": 2, "relevant": 1}
    )


def test_metrics_of_the_same_name_are_equal_and_of_another_k_are_not() -> None:
    one, other, third = make_metrics(["ndcg@5", "ndcg@10", "ndcg"], Tools())
    assert make_metrics(["ndcg@5"], Tools()) == (one,)
    assert len({one, other, third}) == 3


@pytest.mark.parametrize(
    ("chunk", "document"),
    [
        ("doc#3", "doc"), ("a/doc.md:2", "a/doc.md"), ("doc.pdf#page=3#2", "doc.pdf"), ("doc_chunk_4", "doc"),
        ("doc.md:10-20", "doc.md"), ("手册.md#1", "手册.md"), ("doc-3.md", "doc-3.md"), ("part-2", "part-2"),
        ("https://a.example/x", "https://a.example/x"), ("kept#1", "kept#1"),
    ],
)  # fmt: skip
def test_the_document_of_a_chunk(chunk: str, document: str) -> None:
    assert document_of(chunk, {"kept#1"}) == document
