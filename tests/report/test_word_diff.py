"""The words that two texts do not share: in both languages, and in bounded time whatever the texts are."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.display import Span
from ragstone.report.sanitize import fragments
from ragstone.report.word_diff import word_diff


def marked(text: str, spans: list[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


@pytest.mark.parametrize(
    ("a", "b", "only_a", "only_b"),
    [
        ("The warranty lasts two years.", "The warranty lasts three years.", ["two"], ["three"]),
        ("It costs 1,200.50 euros", "It costs 1,200.75 euros", ["1,200.50"], ["1,200.75"]),
        ("保修期为两年，自购买之日起。", "保修期为三年，自购买之日起。", ["两"], ["三"]),
        ("上海 GDP 第一", "北京 GDP 第一", ["上海"], ["北京"]),
        ("a b c", "a b c d e", [], ["d e"]),
        ("", "new words", [], ["new words"]),
        ("don't stop", "do not stop", ["don't"], ["do not"]),
        ("same  words\n", "same words", [], []),
    ],
)
def test_words_that_differ_are_found_in_both_languages(a: str, b: str, only_a: list[str], only_b: list[str]) -> None:
    first, second = word_diff(a, b)
    assert (marked(a, first), marked(b, second)) == (only_a, only_b)
    assert {span.kind for span in (*first, *second)} <= {"only"}


def test_a_shared_full_stop_does_not_cut_two_different_sentences() -> None:
    a, b = "Refunds take 14 days. They are paid in euros", "I cannot answer. The documents say nothing else"
    first, second = word_diff(a, b)
    assert (marked(a, first), marked(b, second)) == ([a], [b])


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from("ab. 保修1"), max_size=60), st.lists(st.sampled_from("ab. 保修1"), max_size=60))
def test_what_is_not_marked_is_the_same_in_both(a: list[str], b: list[str]) -> None:
    texts = "".join(a), "".join(b)
    rest = []
    for text, spans in zip(texts, word_diff(*texts), strict=True):
        assert all(one.end <= other.start for one, other in pairwise(spans))
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        kept = text
        for span in reversed(spans):
            kept = kept[: span.start] + kept[span.end :]
        rest.append("".join(kept.split()))
    assert rest[0] == rest[1]


def test_many_small_edits_of_a_long_text_are_found_one_by_one() -> None:
    words = [f"word{number}" for number in random.Random(1).choices(range(3_000), k=4_000)]
    edited = [word if place % 50 else "edited" for place, word in enumerate(words)]
    first, second = word_diff(" ".join(words), " ".join(edited))
    assert len(first) > 60
    assert marked(" ".join(edited), second)[:3] == ["edited"] * 3


@pytest.mark.parametrize("alphabet", ["a b ", "的一是了我不", "x"])
def test_hostile_texts_of_a_megabyte_take_no_longer_than_short_ones(alphabet: str) -> None:
    draw = random.Random(7)
    a, b = ("".join(draw.choices(alphabet, k=1_000_000)) for _ in "ab")
    started = time.process_time()
    first, second = word_diff(a, b)
    assert time.process_time() - started < 5
    assert a == b or first[-1].end == len(a)
    assert len(fragments(b, second, limit=2_000)) < 500
