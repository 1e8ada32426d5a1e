"""Text in one form, with the way back."""

import sys
from unicodedata import decomposition

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.text import Folded, fold
from ragstone.text.folding import fold_characters


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ＡＢＣ１２３％", "abc123%"),
        ("Chloé Pogačar ﬁne", "chloe pogacar fine"),
        ("cafe\u0301 a\u00adb\u200bc", "cafe abc"),
        ("“ok” ‘no’ – —", "\"ok\" 'no' - -"),
        ("臺灣的軟體與後天", "台湾的软体与后天"),
        ("凯尔•内斯・王", "凯尔·内斯·王"),
        ("① m²", "① m²"),
        ("十二人", "12人"),
        ("二〇二二年二零二三年一月三日", "2022年2023年1月3日"),
        ("1,234 和 １，２３４ 和 1，234", "1234 和 1234 和 1;234"),
        ("3万 1.2亿 3.087万亿", "30000 120000000 3087000000000"),
        ("1亿3000万 一亿二千万", "130000000 120000000"),
        ("百分之六 百分之六点五 千分之7.52 百分之百 6 percent 6％", "6% 6.5% 7.52‰ 100% 6% 6%"),
        ("第三 第十四届 三百零五 三百五 一万二", "第3 第14届 305 350 12000"),
        ("六点五亿 七点八级", "650000000 7.8级"),
        ("01月03日", "1月3日"),
        ("$10.4 billion $5m 5m", "$10400000000 $5000000 5m"),
        ("twelve twenty-one two million one of us", "12 21 2000000 one of us"),
        ("三", "3"),
    ],
)
def test_one_form_for_what_means_the_same(text: str, folded: str) -> None:
    assert fold(text).text == folded


@pytest.mark.parametrize(
    "text",
    ["一些", "万一", "千万", "三亚", "一起", "张三丰", "统一年", "周三人们", "唯一", "十分好", "三国", "亿万富翁",
     "数百万", "六点五分", "七点钟", "乱七八糟", "五一", "三三两两", "一五一十", "someone", "often", "tension", "a15",
     "gpt-4", "192.168.0.1", "3.14.15", "2022.1.3", "1,2,3", "12,34"],
)  # fmt: skip
def test_words_that_only_contain_a_numeral_stay(text: str) -> None:
    assert fold(text).text == text


def test_a_language_leaves_the_number_words_of_the_other() -> None:
    assert fold("十二 twelve", "en").text == "十二 12"
    assert fold("十二 twelve", "zh").text == "12 twelve"


def original(folded: Folded, text: str, part: str) -> str:
    start = folded.text.index(part)
    return text[slice(*folded.span(start, start + len(part)))]


def test_a_span_leads_back_to_whole_units_of_the_original() -> None:
    text = "共二十三万人，ﬁne Cafe\u0301．"
    folded = fold(text)
    assert original(folded, text, "230000") == "二十三万"
    assert original(folded, text, "2") == "二十三万"
    assert original(folded, text, "f") == "ﬁ"
    assert original(folded, text, "cafe") == "Cafe\u0301"


@settings(deadline=None)
@given(
    st.text(alphabet=st.characters(), max_size=60) | st.text(alphabet="一二十百千万亿点第年月0123,.%后後éﬁ a①\u0301")
)
def test_offsets_never_fall_and_end_at_the_end(text: str) -> None:
    for folded in (fold(text), fold_characters(text)):
        assert len(folded.offsets) == len(folded.text) + 1
        assert list(folded.offsets) == sorted(folded.offsets)
        assert folded.offsets[-1] == len(text)
        for position in range(len(folded.text)):
            start, end = folded.span(position, position + 1)
            assert 0 <= start < end <= len(text)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_folding_characters_twice_changes_nothing_more(text: str) -> None:
    once = fold_characters(text).text
    assert fold_characters(once).text == once


def test_the_folded_form_of_every_character_with_parts_or_cases_is_its_own_folded_form() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    once = fold_characters("".join(one for one in every if decomposition(one) or one != one.casefold())).text
    assert fold_characters(once).text == once


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("二〇三一年", "2031年"), ("二〇三一", "2031"), ("一九九八年", "1998年"), ("一二三四年", "1234年"),
        ("一二三四", "一二三四"), ("两三四五年", "两三四五年"), ("两〇三一年", "两〇三一年"),
        ("一万二", "12000"), ("三百五", "350"), ("两千零三", "2003"),
    ],
)  # fmt: skip
def test_years_and_numerals_by_hand(text: str, folded: str) -> None:
    assert fold(text).text == folded
