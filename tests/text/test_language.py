"""Language, words and token estimates."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.text import detect, estimate_tokens, words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Who won?", "en"),
        ("谁赢了？", "zh"),
        ("iPhone 14 Pro Max的价格是多少", "zh"),
        ("GPT-4是什么", "zh"),
        ("The actress Liu Yifei (刘亦菲) starred in Mulan.", "en"),
        ("", "en"),
        ("12345 !?", "en"),
        ("臺灣", "zh"),
    ],
)
def test_names_in_the_other_script_do_not_decide_the_language(text: str, language: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. Army's 3,000 men won't lose 6%", ["the", "us", "army", "3000", "men", "won't", "lose", "6%"]),
        ("Well-known, café—at 12:30!", ["well", "known", "cafe", "at", "12:30"]),
        ("2022年北京冬奧會，十二萬人", ["2022", "年", "北京", "冬奥会", "120000", "人"]),
        ("", []),
        ("……！", []),
    ],
)
def test_words_are_folded_and_bare(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_has_words_and_tokens(text: str) -> None:
    assert all(any(char.isalnum() for char in word) for word in words(text))
    assert estimate_tokens(text) >= (1 if text.strip() else 0)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Counted with the vocabularies of Qwen2.5 / Qwen3.5 / GPT-4o; the mean of the three.
        ("The committee announced on Tuesday that 1,204 athletes from 37 countries had registered for the games.", 23),
        ("组委会星期二宣布，来自三十七个国家的一千二百零四名运动员已经报名参加本届运动会。", 24),
    ],
)
def test_an_estimate_is_within_a_quarter_of_real_tokenizers(text: str, tokens: int) -> None:
    assert abs(estimate_tokens(text) - tokens) <= tokens / 4
