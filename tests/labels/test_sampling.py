"""Which items are drawn, and who gets them."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.labels.rounds import record

from ragstone.errors import UsageError
from ragstone.labels.items import Candidate, candidates
from ragstone.labels.records import Kind
from ragstone.labels.sampling import assigned_evenly, draw

ANSWERS: tuple[Kind, ...] = ("answer",)


def many(count: int, stratum: str = "") -> list[Candidate]:
    return [Candidate(("answer", "s", f"{stratum}{n}"), n / count, stratum) for n in range(count)]


def test_a_larger_random_sample_contains_a_smaller_one_and_another_seed_draws_others() -> None:
    found = many(200)
    small, large = draw(found, 20, "random", seed=1), draw(found, 50, "random", seed=1)
    assert small.keys() < large.keys()
    assert len(large) == 50
    assert draw(found, 20, "random", seed=2).keys() != small.keys()
    assert draw(reversed(found), 20, "random", seed=1).keys() == small.keys()
    assert len(draw(found, None, "random")) == 200


def test_uncertainty_takes_scores_near_the_bar_and_judges_that_differ() -> None:
    scores = {0: [0.9], 1: [0.5], 2: [0.0], 3: [1.0, 0.0], 4: [0.6], 5: [1.0, 1.0], 6: []}
    found = candidates(
        [record(n) for n in scores], ANSWERS, rated=lambda record: scores[int(record.case.id.removeprefix("q"))]
    )
    drawn = draw(found, 3, "uncertainty")
    assert {key[2] for key in drawn} == {"q1", "q3", "q4"}
    with pytest.raises(UsageError, match="uncertainty needs scores"):
        draw(candidates([record(n) for n in scores], ANSWERS), 3, "uncertainty")


def test_strata_have_their_share_and_two_at_least() -> None:
    found = many(90, "a") + many(9, "b") + many(1, "c")
    assert Counter(one.stratum for one in draw(found, 20, "stratified").values()) == {"a": 17, "b": 2, "c": 1}
    assert Counter(one.stratum for one in draw(found, 2, "stratified").values()) == {"a": 2}


@given(st.integers(1, 4), st.integers(1, 60), st.integers(0, 5))
def test_everybody_gets_as_many_items_and_each_item_its_experts(per_item: int, count: int, seed: int) -> None:
    experts = ["ann", "bo", "cy", "di"]
    items = [(f"i{n}", f"q{n}") for n in range(count)]
    pairs = list(assigned_evenly(items, {}, experts, per_item, seed=seed))
    assert len(pairs) == len(set(pairs)) == per_item * count
    assert set(Counter(item for item, _ in pairs).values()) == {per_item}
    loads = Counter(expert for _, expert in pairs)
    assert max(loads.values()) - min(loads.get(expert, 0) for expert in experts) <= 1


def test_every_two_experts_share_items() -> None:
    items = [(f"i{n}", f"q{n}") for n in range(60)]
    pairs = set(assigned_evenly(items, {}, ["ann", "bo", "cy"], 2))
    for one, other in combinations(["ann", "bo", "cy"], 2):
        assert 15 <= sum((item, one) in pairs and (item, other) in pairs for item, _ in items) <= 25


def test_passages_of_a_question_go_to_the_same_experts() -> None:
    items = [(f"i{n}", f"q{n // 5}") for n in range(100)]
    pairs = set(assigned_evenly(items, {}, ["ann", "bo", "cy"], 2))
    for question in range(20):
        teams = {tuple(e for e in ("ann", "bo", "cy") if (f"i{question * 5 + k}", e) in pairs) for k in range(5)}
        assert len(teams) == 1


def test_what_is_assigned_stays_and_only_the_rest_is_filled_up() -> None:
    before = {"i0": ("ann",), "i1": ("ann", "bo")}
    pairs = list(assigned_evenly([("i0", "q0"), ("i1", "q1")], before, ["ann", "bo"], 2))
    assert pairs == [("i0", "bo")]
    with pytest.raises(UsageError, match="--per-item 3 needs as many experts"):
        list(assigned_evenly([("i0", "q0")], {}, ["ann", "bo"], 3))
