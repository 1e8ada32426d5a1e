"""Kappa by the book, and intervals over samples."""

import pytest

from ragstone.experts.agreement import agreement, gap, verdicts_of
from ragstone.metrics.judge import AnswerClaim, Judged, PassageVerdict, ReferenceClaim
from ragstone.stats import cohen_kappa


def test_kappa_of_a_worked_example() -> None:
    """50 items, 20 and 15 on the diagonal, 5 and 10 beside it: 0.4 (the example of Cohen's kappa in most textbooks)."""
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)


def test_kappa_is_none_where_chance_explains_everything() -> None:
    assert cohen_kappa([], []) is None
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([1, 0], [1, 0]) == 1.0
    assert cohen_kappa([1, 0], [0, 1]) == -1.0
    with pytest.raises(ValueError, match="Pairs"):
        cohen_kappa([1], [])


def judged(*, supported: tuple[int, ...] = (1,), useful: bool = True) -> Judged:
    return Judged(
        answer_claims=(AnswerClaim(1, "a", 1, True, supported, (), True),),
        reference_claims=(ReferenceClaim(1, "r", supported, (), True),),
        passages=(PassageVerdict(1, True, useful), PassageVerdict(2, False, False)),
    )


def test_every_verdict_of_a_sample_is_an_item() -> None:
    found = verdicts_of(judged())
    assert found["answer_support"] == {(1, 1): "supports", (1, 2): "neither"}
    assert found["useful"] == {(1,): True, (2,): False}
    assert found["in_reference"] == {(1,): True}


def test_agreement_counts_items_and_bounds_kappa() -> None:
    first = [verdicts_of(judged()) for _ in range(20)]
    second = [
        verdicts_of(judged(supported=(1,) if number % 4 else (), useful=bool(number % 2))) for number in range(20)
    ]
    by_kind = {one.kind: one for one in agreement(first, second)}
    support = by_kind["answer_support"]
    assert (support.n, support.samples) == (40, 20)
    assert support.agree == pytest.approx(35 / 40)
    assert support.kappa is not None
    assert support.low is not None
    assert support.high is not None
    assert support.low < support.kappa < support.high <= 1
    assert by_kind["in_reference"].kappa is None
    assert by_kind["in_reference"].agree == 1.0


def test_a_gap_is_over_samples_that_both_ways_could_score() -> None:
    found = gap("faithfulness", [1.0, 0.5, None, 0.0], [0.5, 0.5, 1.0, None])
    assert found is not None
    assert (found.n, found.first, found.second, found.difference) == (2, 0.75, 0.5, -0.25)
    assert gap("faithfulness", [None], [1.0]) is None
