"""Tests of prices."""

from typing import Any

import pytest

from ragstone.errors import UsageError
from ragstone.prices import Price, price_of, read_price
from ragstone.types import Usage


@pytest.mark.parametrize(
    ("text", "price"),
    [("0.15/0.60", Price(0.15, 0.6)), ("1/2/0", Price(1.0, 2.0, 0.0)), ("0.15/0.60/0.075", Price(0.15, 0.6, 0.075)),
     ("", None), ("1", None), ("1/2/3/4", Price(1.0, 2.0, 3.0, 4.0)),
     ("1/2/3/4/5", None), ("a/b", None), ("-1/2", None), ("1/2/-1", None), ("nan/1", None),
     ("1/inf", None), (None, None), (3, None)],
)  # fmt: skip
def test_a_price_is_two_to_four_numbers_or_nothing(text: Any, price: Price | None) -> None:
    assert price_of(text) == price


def test_cached_prompt_tokens_have_their_own_price() -> None:
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=600_000)
    assert Price(1.0, 10.0, 0.1).cost(usage) == pytest.approx(0.4 + 0.06 + 1.0)
    assert Price(1.0, 10.0).cost(usage) == pytest.approx(2.0)


def test_a_provider_that_counts_more_cached_tokens_than_tokens_takes_no_negative_price() -> None:
    assert Price(1.0, 0.0, 0.1).cost(Usage(prompt_tokens=1_000_000, cached_tokens=9_000_000)) == pytest.approx(0.1)


def test_tokens_that_are_written_to_the_cache_have_a_price_of_their_own() -> None:
    usage = Usage(prompt_tokens=1_000, cached_tokens=500, written_tokens=200)
    assert Price(4.0, 20.0, 0.2, 5.0).cost(usage) == pytest.approx((300 * 4 + 500 * 0.2 + 200 * 5) / 1e6)
    assert read_price("4/20/0.2/5") == Price(4.0, 20.0, 0.2, 5.0)
    assert Price(4.0, 20.0, 0.2).cost(usage) == pytest.approx((500 * 4 + 500 * 0.2) / 1e6)


def test_a_change_of_tokens_has_a_price_that_may_be_negative() -> None:
    assert Price(2.0, 4.0, 1.0).of_tokens(-1_000_000, 0, -500_000) == pytest.approx(-1.5)


@pytest.mark.parametrize(
    ("text", "advice"),
    [("cheap", "such as 0.15/0.60 or 0.15/0.60/0.075"), ("1/2/3/4/5", "IN/OUT"),
     ("0.15/0.075/0.60", "costs more than input")],
)  # fmt: skip
def test_a_wrong_price_names_its_option_and_the_form(text: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice) as caught:
        read_price(text, "--judge-price")
    assert str(caught.value).startswith(f"--judge-price {text}: ")


def test_no_price_is_none() -> None:
    assert read_price("") is None
    assert read_price(None) is None
