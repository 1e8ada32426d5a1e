"""Needles in answers: numbers however they are written, and no number that merely contains theirs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics import needle
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


# --- values with their keys -------------------------------------------------------------------------------------------

KEYED: dict[str, dict[str, list[Any]]] = {
    "en": {"keys": ["Oslo", "Rome"], "others": [["4220001", "Lima"], ["5330002", "Cairo"]]},
    "zh": {"keys": ["奥斯陆", "罗马"], "others": [["4220001", "利马"], ["5330002", "开罗"]]},
}
BOUND = [
    ("en", "Oslo: 3118205, Rome: 7654321"),
    ("en", "Oslo and Rome: 3,118,205 and 7,654,321."),
    ("en", "The special number of Oslo is 3118205 and the special number of Rome is 7654321."),
    ("en", "3118205 is Oslo's number and 7654321 is Rome's."),
    ("en", "3118205 (Oslo), 7654321 (Rome)"),
    ("en", "| city | number |\n|---|---|\n| Oslo | 3118205 |\n| Rome | 7654321 |"),
    ("en", '{"Oslo": [3118205], "Rome": [7654321]}'),
    ("en", "Oslo:\n- 3118205\nRome:\n- 7654321"),
    ("en", "Rome has 7654321; Oslo, 3118205."),
    ("en", "Oslo 3118205 Rome 7654321"),
    ("en", "3118205 Oslo 7654321 Rome"),
    ("en", "Oslo's and Rome's numbers are 3118205 and 7654321, respectively."),
    ("zh", "奥斯陆的特别数字是3118205，罗马的特别数字是7654321。"),
    ("zh", "奥斯陆和罗马的特别数字分别是3118205和7654321。"),
    ("zh", "3118205（奥斯陆）、7654321（罗马）"),
    ("zh", "奥斯陆：三百一十一万八千二百零五；罗马：765万4321"),
]
UNBOUND = [
    ("en", "Oslo: 7654321, Rome: 3118205", 0.0),  # reversed
    ("en", "3118205, 7654321", 0.0),  # nobody can tell which is whose
    ("en", "3118205 4220001 7654321 5330002", 0.0),
    ("en", "Oslo: 3118205. Rome: 4220001.", 1 / 3),
    ("en", "Oslo: 3118205, Rome: unknown", 0.5),
    ("en", "Oslo 3118205, Rome 7654321, Lima 4220001, Cairo 5330002", 0.5),
    ("en", "Oslo: 3118205. Rome: 7654321. No, Rome: 3118205.", 0.5),
    ("zh", "奥斯陆和罗马的特别数字分别是7654321和3118205。", 0.0),
    ("zh", "3118205、7654321", 0.0),
    ("zh", "奥斯陆3118205，罗马7654321，利马4220001，开罗5330002", 0.5),
]  # fmt: skip


def keyed(language: str, *values: str) -> Case:
    meta = KEYED[language] | {"keys": KEYED[language]["keys"][: len(values)]}
    sample = Sample("s", "?", tuple((value,) for value in values), language=language, meta=meta)
    return Case("1", sample, {}, Query("?"))


@pytest.mark.parametrize(("language", "text"), BOUND)
def test_a_value_stands_with_its_key_in_sentences_lists_and_tables(language: str, text: str) -> None:
    assert NeedleFound().score(keyed(language, "3118205", "7654321"), Response(text)).value == 1.0


@pytest.mark.parametrize(("language", "text", "value"), UNBOUND)
def test_a_value_with_another_key_or_none_is_not_found_and_others_count_against(
    language: str, text: str, value: float
) -> None:
    assert NeedleFound().score(keyed(language, "3118205", "7654321"), Response(text)).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3118205", 1.0), ("Oslo: 3118205", 1.0), ("Lima: 3118205", 0.0), ("3118205 4220001 5330002", 1 / 3),
        ("Lima is another city. The answer is 3118205.", 1.0), ("4220001", 0.0), ("", 0.0),
    ],
)  # fmt: skip
def test_a_value_needs_no_key_where_one_is_asked_for(text: str, value: float) -> None:
    assert NeedleFound().score(keyed("en", "3118205"), Response(text)).value == pytest.approx(value)


@given(st.text(alphabet="OsloRmeLia:,.; \n3118205and", max_size=120))
def test_no_text_breaks_the_binding_of_values(text: str) -> None:
    score = NeedleFound().score(keyed("en", "3118205", "7654321"), Response(text))
    assert score.value is not None
    assert 0.0 <= score.value <= 1.0


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


def test_words_before_a_list_are_no_item_of_it() -> None:
    assert needle._items("The most frequent words are: ash, birch, cedar") == 3
    assert needle._items("最常见的词是：桦树、雪松") == 2
