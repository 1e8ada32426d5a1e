"""Where a quotation stands in the text that it is from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.text.quotes import find_quote

ENGLISH = "We're sorry — so sorry — for the wait. Your parcel is in Suzhou; sorry again."
CHINESE = "让您久等了，非常抱歉！包裹在“苏州”分拣中心，預計２０日送达。"

FOUND = [
    (ENGLISH, "so sorry", "so sorry"),
    (ENGLISH, "we’re SORRY - so sorry - for the wait", "We're sorry — so sorry — for the wait"),
    (ENGLISH, '"Your  parcel is\nin Suzhou."', "Your parcel is in Suzhou"),
    (ENGLISH, "Your parcel … sorry again", "Your parcel is in Suzhou; sorry again"),
    (ENGLISH, "We're sorry ... the wait", "We're sorry — so sorry — for the wait"),
    (CHINESE, "包裹在苏州分拣中心", "包裹在“苏州”分拣中心"),
    (CHINESE, "预计20日", "預計２０日"),
    (CHINESE, "让您久等了……预计", "让您久等了，非常抱歉！包裹在“苏州”分拣中心，預計"),
    ("a\u200bb c", "ab", "a\u200bb"),
    ("The artist and the art.", "art", "art"),
    ("No. 12 and 112", "12", "12"),
]


@pytest.mark.parametrize(("text", "quote", "held"), FOUND)
def test_a_quote_is_found_however_it_is_written(text: str, quote: str, held: str) -> None:
    place = find_quote(quote, text)
    assert place is not None
    assert text[slice(*place)] == held


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (ENGLISH, "very sorry"), (ENGLISH, "arce"), (ENGLISH, ""), (ENGLISH, " …! "), ("", "sorry"),
        (ENGLISH, "Suzhou … We're sorry"), (ENGLISH, "Suzhou parcel"), (CHINESE, "杭州"),
    ],
)  # fmt: skip
def test_what_is_from_elsewhere_is_found_nowhere(text: str, quote: str) -> None:
    assert find_quote(quote, text) is None


def test_the_first_place_counts_even_where_a_longer_word_comes_before() -> None:
    assert find_quote("art", "party, art, art") == (7, 10)
    assert find_quote("ART", "Party, art") == (7, 10)


@given(st.lists(st.sampled_from("字句，。 “”\n"), max_size=60).map("".join), st.data())
def test_every_stretch_of_a_chinese_text_is_found_at_or_before_its_place(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    place = find_quote(quote, text)
    assert (place is not None) == any(map(str.isalnum, quote))
    assert place is None or place[0] <= start + len(quote) - len(quote.lstrip("，。 “”\n"))


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_quote_and_any_text_end_in_a_place_inside_or_in_none(quote: str, text: str) -> None:
    place = find_quote(quote, text)
    assert place is None or 0 <= place[0] < place[1] <= len(text)
