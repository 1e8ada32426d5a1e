"""Estimates of tokens: one number, however it is counted."""

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.text import estimate_tokens, most_tokens
from ragstone.text.tokens import _any, _ascii


@given(st.text(alphabet=st.sampled_from([chr(code) for code in range(128)])))
def test_the_fast_way_counts_as_the_other(text: str) -> None:
    assert _ascii(text) == pytest.approx(_any(text))


@given(st.text(alphabet=string.ascii_letters + string.digits + " .,\n\t_-", max_size=400))
def test_what_occurs_in_english_is_counted_alike(text: str) -> None:
    assert _ascii(text) == pytest.approx(_any(text))


def test_the_estimate_is_a_whole_number_of_tokens() -> None:
    for text in ("", "word", "a longer sentence, with 1234 and\n\ntwo  blanks", "混合 text 12"):
        assert estimate_tokens(text) == math.ceil(_any(text))


@given(
    st.text(alphabet=string.ascii_letters + string.digits + " .,\n\t_-\0\x1c", max_size=400)
    | st.text(alphabet=" a.\n", max_size=60)
    | st.text(max_size=60)
)
def test_no_text_has_more_tokens_than_its_bound(text: str) -> None:
    assert estimate_tokens(text) <= most_tokens(text)


def test_the_bound_of_prose_is_near_its_estimate() -> None:
    prose = "The harvest festival of the valley drew visitors from every village, and the mayor spoke.\n" * 40
    assert most_tokens(prose) < 1.5 * estimate_tokens(prose)
    assert most_tokens("混合 text") == math.inf
