"""Estimates of tokens: one number, however it is counted."""

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.text import estimate_tokens
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
