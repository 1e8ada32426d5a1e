"""The cases: what they promise of themselves, and that their scores are those of the formulas."""

import math
from collections.abc import Sequence

import pytest

from ragstone_conform.cases import Case, load_cases
from ragstone_conform.libraries import LIBRARIES

CASES = load_cases()
METRICS = {metric for case in CASES for metric in case.expect}
LISTS = {
    "statements": ("supported", "by", "correct", "relevant"),
    "reference_statements": ("attributed", "attributed_by", "covered"),
}


def share(verdicts: Sequence[int]) -> float | None:
    return sum(verdicts) / len(verdicts) if verdicts else None


def by_formula(case: Case) -> dict[str, float | None]:
    """The scores of the metrics, from the verdicts."""
    judge = case.judge
    hits = [place for place, useful in enumerate(judge["useful"], start=1) if useful]
    true, covered, listed = sum(judge["correct"]), sum(judge["covered"]), len(judge["statements"])
    f1 = 0.0
    if true:
        f1 = true / (true + 0.5 * (listed - true + len(judge["reference_statements"]) - covered))
    similarity = max(judge["similarities"], default=None)
    relevancy = max(math.fsum(judge["cosines"]) / len(judge["cosines"]), 0.0)
    return {
        "faithfulness": share(judge["supported"]),
        "context_recall": share(judge["attributed"]),
        "answer_relevance": share(judge["relevant"]),
        "context_relevance": share(judge["relevant_contexts"]),
        "context_precision": sum(n / place for n, place in enumerate(hits, 1)) / len(hits) if hits else 0.0,
        "answer_relevancy": 0.0 if judge["noncommittal"] else relevancy,
        "answer_correctness": None if similarity is None else 0.75 * f1 + 0.25 * max(similarity, 0.0),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_right_score_is_that_of_the_formula_for_the_verdicts(case: Case) -> None:
    found = by_formula(case)
    for metric, right in case.expect.items():
        numbers = [value for value in right if value != "none"]
        assert right
        assert numbers or "none" in right
        for value in numbers:
            expected = found[metric]
            # A metric may also count what is missing as 0.
            assert value == 0.0 or (expected is not None and value == pytest.approx(expected, abs=1e-5)), metric
        if not case.fault and not numbers:
            blank = not case.sample["references"] or not case.judge["statements"] or not case.sample["question"].strip()
            assert blank, metric


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_has_a_verdict_on_everything_and_says_why_in_both_languages(case: Case) -> None:
    for texts, lists in LISTS.items():
        if not (texts == "reference_statements" and case.needs == "aliases"):
            assert {len(case.judge[name]) for name in lists} == {len(case.judge[texts])}
    assert len(case.judge["useful"]) == len(case.judge["relevant_contexts"]) == len(case.sample["contexts"])
    assert len(case.judge["similarities"]) == len(case.sample["references"])
    assert case.source
    assert set(case.why) == {"en", "zh"}
    if case.fault.get("kind") == "value":
        assert 0 in case.judge[case.fault["at"]]


def test_every_case_is_there_in_both_languages_under_a_name_of_its_own() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))
    assert {case.rpartition("/")[0] for case in ids if case.endswith("/en")} == {
        case.rpartition("/")[0] for case in ids if case.endswith("/zh")
    }


@pytest.mark.parametrize("name", LIBRARIES.names())
def test_a_library_names_metrics_that_the_cases_have(name: str) -> None:
    library = LIBRARIES.get(name)
    assert set(library.METRICS) <= METRICS
    assert library.DISTRIBUTION
