"""Needles in answers: numbers however they are written, and no number that merely contains theirs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics.needle import NeedleFound, NeedleRefused, number_spans
from ragstone.types import Case, Query, Response, Sample

STATED = [
    "3118205", "The number is 3,118,205.", "3 118 205", "3.118.205", "3'118'205", "3’118’205", "３１１８２０５",
    "３，１１８，２０５", "它是三百一十一万八千二百零五。", "三一一八二〇五", "三一一八二零五", "311万8205",
    "**3118205**",
    "<answer>3118205</answer>", "The special number is not known to me, but 3118205 is written there.", "（3118205）",
    "3\u00a0118\u00a0205", "3\u202f118\u202f205", "第3118205号",
]  # fmt: skip
NOT_STATED = [
    "", "31182051", "13118205", "3118206", "3,118,2055", "33,118,205", "0.3118205", "3118205.5", "311 8205x1",
    "三百一十一万八千二百零六", "三一一八二〇五六", "311万8206", "UNANSWERABLE", "3118 and 205",
]  # fmt: skip


def case(*slots: tuple[str, ...]) -> Case:
    return Case("1", Sample("s", "Which number?", references=slots), {}, Query("Which number?"))


@pytest.mark.parametrize("text", STATED)
def test_a_number_is_found_however_it_is_written(text: str) -> None:
    spans = number_spans("3118205", text)
    assert spans
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert NeedleFound().score(case(("3118205",)), Response(text)).value == 1.0


@pytest.mark.parametrize("text", NOT_STATED)
def test_another_number_is_not_found(text: str) -> None:
    assert NeedleFound().score(case(("3118205",)), Response(text)).value == 0.0


@given(st.integers(1_000_000, 9_999_999), st.integers(0, 9))
def test_a_longer_number_never_states_a_shorter_one(number: int, digit: int) -> None:
    assert number_spans(str(number), f"{number:,}")
    assert not number_spans(str(number), f"{number}{digit}")
    assert not number_spans(str(number), f"{digit or 1}{number}")
    assert not number_spans(str(number), f"{number * 10 + digit:,}")


@given(st.text(max_size=200))
def test_no_text_breaks_the_rules(text: str) -> None:
    found = NeedleFound().score(case(("3118205",), ("sandwich",)), Response(text))
    refused = NeedleRefused().score(case(), Response(text))
    assert found.value in (0.0, 0.5, 1.0)
    assert refused.value in (0.0, 1.0)


def test_several_needles_count_as_a_share() -> None:
    asked = case(("3118205",), ("7654321", "7.65 million"), ("eat a sandwich",))
    assert NeedleFound().score(asked, Response("7,654,321 and eat a sandwich")).value == pytest.approx(2 / 3)
    assert NeedleFound().score(asked, Response("")).value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "UNANSWERABLE",
        "unanswerable.",
        "这个问题无法回答。",
        "The context does not mention it.",
        "上下文中没有提到这个数字。",
    ],
)
def test_a_reply_that_there_is_no_needle_is_recognised(text: str) -> None:
    assert NeedleRefused().score(case(), Response(text)).value == 1.0


@pytest.mark.parametrize("text", ["", "3118205", "The number is 3118205.", "特别数字是3118205。"])
def test_an_answer_is_no_refusal(text: str) -> None:
    assert NeedleRefused().score(case(), Response(text)).value == 0.0
