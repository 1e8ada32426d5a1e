"""The tools both languages share: the same on every machine, and fair."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.fictional.parts import (
    Deck,
    Drawn,
    add_days,
    between,
    pick,
    sample,
    seeded,
    shuffled,
    strong,
    weighted,
)


def test_a_key_gives_the_same_numbers_everywhere() -> None:
    assert [between(seeded("ragstone", 0, "en", 7), 0, 999) for _ in range(2)] == [160, 160]
    assert seeded("a", 1).random() != seeded("a", 2).random()


@given(st.integers(), st.lists(st.integers(), min_size=1, max_size=40))
def test_shuffling_keeps_every_item(seed: int, items: list[int]) -> None:
    assert sorted(shuffled(seeded(seed), items)) == sorted(items)


@given(st.integers(), st.integers(1, 60), st.integers(0, 70))
def test_a_sample_has_different_positions(seed: int, size: int, count: int) -> None:
    found = sample(seeded(seed), range(size), count)
    assert len(found) == len(set(found)) == min(size, count)


@given(st.integers(), st.integers(1, 30))
def test_a_deck_repeats_nothing_before_all_were_drawn(seed: int, size: int) -> None:
    deck = Deck(seeded(seed), range(size))
    assert sorted(deck.draw() for _ in range(size)) == list(range(size))
    assert sorted(deck.draw() for _ in range(size)) == list(range(size))


@given(st.integers(), st.integers(-50, 50), st.integers(0, 50))
def test_numbers_lie_between_their_limits(seed: int, low: int, span: int) -> None:
    assert low <= between(seeded(seed), low, low + span) <= low + span


def test_weights_are_shares() -> None:
    rng = seeded("weights")
    drawn = [weighted(rng, [(3, "often"), (1, "seldom")]) for _ in range(4000)]
    assert 0.7 < drawn.count("often") / len(drawn) < 0.8
    assert {pick(rng, "abc") for _ in range(100)} == set("abc")


def test_days_are_added_over_the_end_of_a_year() -> None:
    assert add_days(dt.date(1999, 12, 31), 1) == dt.date(2000, 1, 1)


def test_a_value_that_is_drawn_anew_lies_in_its_range_and_differs_each_time() -> None:
    world = Drawn({"city": "X"}, seeded("t"), {"name": lambda rng: pick(rng, "abc")}, str)
    found = ["{city} {~20-4000/10}".format_map(world) for _ in range(50)]
    numbers = [int(text.removeprefix("X ")) for text in found]
    assert all(20 <= number <= 4000 and number % 10 == 0 for number in numbers)
    assert len(set(numbers)) > 30
    assert world["~name"] in ("a", "b", "c")
    with pytest.raises(KeyError):
        world["town"]


def test_strong_values_differ_in_nearly_every_world() -> None:
    worlds = [{"event": f"e{number}", "week": number % 3, "paper": "P"} for number in range(10)]
    assert strong(worlds) == {"event"}
