"""Words of many texts are the words of each."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.text import Wording, words
from ragstone.text import wording as module

PARTS = [
    "a",
    "The",
    "sails'",
    "Tom's",
    "U.S.",
    "e.g.",
    "one",
    "Two",
    "twenty",
    "twenty-one",
    "hundred",
    "and",
    "point",
    "five",
    "thousand",
    "million",
    "bn",
    "5",
    "5m",
    "3,000",
    "1.5",
    "06",
    "0012345",
    "1234567890123456789012345678901",
    "TWO",
    "%",
    "5%",
    "per",
    "cent",
    "percent",
    "$",
    "US$",
    "€",
    "-",
    "–",
    "2nd",
    "x2",
    "10:30",
    "café",
    "½",
    "５",
    "²",
    "\u200b",
    "\u00a0",
    "\n",
    "",
    "...",
    "(seven)",
]
CHINESE = ["一", "十二", "百分之六", "点", "人", "万", "北京", "〇"]
TEXTS = (st.lists(st.sampled_from(PARTS), max_size=14) | st.lists(st.sampled_from(PARTS + CHINESE))).flatmap(
    lambda parts: st.lists(st.sampled_from([" ", " ", " ", "", "\n"]), min_size=len(parts), max_size=len(parts)).map(
        lambda blanks: "".join(part + blank for part, blank in zip(parts, blanks, strict=True))
    )
)
wording = Wording()


@given(TEXTS | st.text(max_size=40))
@example("five apples $ 5m")
@example("06\nper cent")
@example("in two hundred and five thousand three hundred and twenty one point five per cent of it")
@example("one a b c $ 5m two d e f g twenty one thousand")
def test_the_words_of_many_texts_are_those_of_each(text: str) -> None:
    assert wording(text) == words(text)


def test_what_is_made_of_words_is_made_of_each_of_them() -> None:
    upper = Wording(lambda found: [word.upper() for word in found])
    for text in ("the sails of twenty one ships", "the sails, 12 of them", "旧磨坊 of sails"):
        assert upper(text) == [word.upper() for word in words(text)]


def test_what_is_remembered_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 10)
    some = Wording()
    for number in range(40):
        assert some(f"word{'x' * number} and more") == [f"word{'x' * number}", "and", "more"]
    assert len(some._known) <= 13


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("café there", "en", ["cafe", "there"]), ("see 东京塔 there", "en", ["see", "东京", "塔", "there"]),
        ("U.S. and U.K. books", "en", ["us", "and", "uk", "books"]),
        ("the tower's 5% (3:2)!", "", ["the", "tower", "5%", "3:2"]),
    ],
)  # fmt: skip
def test_words_by_hand(text: str, language: str, found: list[str]) -> None:
    assert words(text, language) == found
