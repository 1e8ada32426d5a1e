"""Where a text states an answer."""

import re
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.text import find_answer, matching
from ragstone.text.folding import fold, fold_characters

STATED = [
    ("third", "3rd"),
    ("60.40", "60.4"),
    ("12人", "一共 12 人死亡"),
    ("12", "12"),
    ("12", "12."),
    ("12", "1,12,5"),
    ("art", "the Art."),
    ("US", "a bus for us at US"),
    ("U.S.", "us"),
    ("U.S.", "the US won"),
    ("US", "the U.S. won"),
    ("Disney", "Disney's deal"),
    ("Assassin's Creed", "Assassin’s Creed"),
    ("Assassin's Creed", "assassins creed"),
    ("Spider-Man", "Spiderman"),
    ("Spider-Man", "Spider Man"),
    ("Tampa, Florida", "Tampa Florida"),
    ("Tampa, Florida", "Tampa (Florida)"),
    ("Chloé Zhao", "chloe zhao"),
    ("Tadej Pogačar", "Pogacar, Tadej Pogacar"),
    ("J.K. Rowling", "JK Rowling"),
    ("J.K. Rowling", "J. K. Rowling"),
    ("The Shape of Water", "Shape of Water"),
    ("$10.4 billion", "US$10.4bn"),
    ("$10.4 billion", "10.4 billion dollars"),
    ("$1.65 billion", "$1,650,000,000"),
    ("July 21, 2017", "on the 21st of July 2017"),
    ("July 21, 2017", "2017-07-21"),
    ("July 21 2017", "2017年7月21日"),
    ("Jan 12", "January 12th, 2021"),
    ("January 12", "Jan. 12"),
    ("June 2020", "June 11, 2020"),
    ("June 2020", "2020年6月"),
    ("十二人", "12人"),
    ("2022年1月3日", "二〇二二年一月三日"),
    ("1月3日", "2022年1月3号"),
    ("1月3日", "2022-01-03"),
    ("1.2亿", "120,000,000"),
    ("6%", "百分之六"),
    ("6%", "6 percent"),
    ("3万", "30000"),
    ("三", "三名"),
    ("3", "三名"),
    ("八强", "8强"),
    ("60.4", "60.4亿"),
    ("457万", "457万人"),
    ("457万", "4,570,000人"),
    ("凯尔·内斯", "凯尔-内斯和"),
    ("凯尔·内斯", "凯尔•内斯"),
    ("长津湖之水门桥", "《长津湖》之水门桥"),
    ("一起向未来", "“一起向未来”"),
    ("臺灣", "台湾"),
    ("台湾", "臺灣大學"),
    ("E组", "在E组"),
    ("A15", "A15芯片"),
    ("iPhone 14", "iPhone14"),
    ("98元。", "售价98元"),
    ("三千孤儿入内蒙", "3000孤儿入内蒙"),
    ("C++", "use C++."),
    ("35", "35个席位"),
    ("5.7", "增长5.7%"),
    ("11月9", "11月9日"),
    ("第三", "第3名"),
    ("29", "第二十九集"),
    ("神舟十四号", "神舟14号"),
    ("1313851", "1,313,851辆"),
    ("北京", "BEIJING 北 京"),
    ("12km", "12 km"),
    ("12", "12km"),
    ("7.52‰", "千分之7.52"),
    ("8时", "周一8时"),
    ("twelve", "12 men"),
    ("Seven", "Seven"),
    ("∞", "a ∞"),
    ("十六", "16强"),
    ("4次", "加息四次"),
    ("45天", "四十五天"),
    ("万一", "3万一"),
    ("AT&T", "AT&T"),
    ("AT&T", "AT and T"),
    ("WHO", "the WHO"),
    ("HoloLens", "HoloLens2"),
    ("$5 million", "$5m"),
    ("3-2", "3–2"),
    ("3-2", "3:2"),
    ("100%", "百分之百"),
    ("iPhone SE", "新一代iPhoneSE"),
    ("新一代iPhoneSE", "新一代 iPhone SE 手机"),
    ("OpenAI", "Open AI said"),
    ("43214.85亿元", "GDP43214.85亿元"),
    ("60.4", "60.40亿元"),
    ("3-2", "3比2获胜"),
    ("3比2", "以3:2获胜"),
    ("New York", "New\nYork"),
    ("O'Brien", "OBrien"),
    ("Jean-Luc", "Jean Luc"),
    ("百分之五十", "50%"),
    ("第十四届", "第14届全运会"),
    ("12", "第12届"),
    ("三", "第三"),
    ("二十", "20人"),
    ("20", "二十人"),
    ("10", "十分钟"),
    ("2", "两人"),
    ("1949年", "一九四九年"),
    ("50000", "五万"),
    ("12000", "一万二"),
    ("10.51亿", "10.51 亿"),
    ("Paris", "巴黎（Paris）是"),
    ("AI", "使用AI技术"),
    ("中国", "中國"),
    ("后天", "後天"),
    ("27 October 2017", "10/27/2017"),
    ("2017年10月27日", "Oct. 27th, 2017"),
    ("September 7, 2018", "Sept. 7, 2018"),
    ("May 2020", "May 12, 2020"),
    ("Müller", "Muller"),
    ("½", "½ cup"),
    ("ＡＢＣ", "abc"),
    ("№5", "No5"),
    ("“The Beatles”", "Beatles fans"),
    ("anti-war", "antiwar"),
    ("anti-war", "anti war"),
    ("Smith & Sons", "Smith and Sons"),
    ("W. E. B. Du Bois", "WEB Du Bois"),
    ("$10", "10 dollars"),
    ("90,829", "90829"),
    ("4.5", "4.50"),
    ("《雾隐渡》", "雾隐渡上映"),
    ("雾隐渡", "雾《隐》渡"),
    ("1990s", "the 1990s"),
    ("2006年5月12日", "2006-05-12"),
    ("12 May 2006", "06年5月 May 12, 2006"),
    ("C#", "in C#"),
    ("Ada Vells", "作者Ada Vells说"),
    ("Ada Vells", "Ада и Ada Vells说"),
]
NOT_STATED = [
    ("12", "112"),
    ("12", "12.5"),
    ("12", "2012"),
    ("art", "party"),
    ("U.S.", "give it to us, Bob"),
    ("$10.4 billion", "€10.4 billion"),
    ("$1.65 billion", "$11.65 billion"),
    ("January 1", "January 12"),
    ("12人", "二十二人"),
    ("十二人", "二十二人"),
    ("1月3日", "11月3日"),
    ("1.2亿", "11.2亿"),
    ("1.4万", "1.4万亿"),
    ("6%", "16%"),
    ("3", "三亚"),
    ("三", "三亚"),
    ("8强", "十八强"),
    ("16", "16万"),
    ("60.39", "160.39"),
    ("12", "12 million"),
    ("A15", "AA15"),
    ("A15", "A150"),
    ("Soul", "Seoul"),
    ("第三", "第三十届"),
    ("8", "2018年"),
    ("12", "12th"),
    ("2022年2月4日", "2月4日"),
    ("", "abc"),
    ("...", "abc"),
    ("3-2", "13-2"),
    ("3:2", "32人"),
    ("Emma Stone", "Emma's stone"),
    ("20", "一百二十人"),
    ("二十人", "一百二十人"),
    ("10", "十分好"),
    ("1000", "千万不要"),
    ("10000", "万一出错"),
    ("1", "一些人"),
    ("1", "一起走"),
    ("1", "唯一的人"),
    ("3", "周三人很多"),
    ("2.5亿", "12.5亿"),
    ("Norway", "Norwegian"),
    ("AI", "said"),
    ("5 May 2020", "05/05/2020"),
    ("May 2020", "June 12, 2020"),
    ("March 3 2017", "March 31, 2017"),
    ("March 3 2017", "March 3, 2019"),
    ("100米", "1100米"),
    ("Vells", "作者Vellsа说"),
    ("Vells", "Vellsа"),
]


@pytest.mark.parametrize(("alias", "text"), STATED)
def test_an_answer_is_found_however_it_is_written(alias: str, text: str) -> None:
    assert find_answer(alias, text)


@pytest.mark.parametrize(("alias", "text"), NOT_STATED)
def test_what_only_looks_like_an_answer_is_not_found(alias: str, text: str) -> None:
    assert find_answer(alias, text) == []


@pytest.mark.parametrize(
    ("alias", "text", "stretches"),
    [
        ("12人", "一共 12 人死亡，十二人受伤", ["12 人", "十二人"]),
        ("1.2亿", "票房共１．２億元", ["１．２億"]),
        ("January 12", "On Jan. 12th and 12 January", ["Jan. 12th", "12 January"]),
        ("臺灣", "从台湾到臺灣", ["台湾", "臺灣"]),
        ("Zhao", "Chloe\u0301 Zhao’s film; ZHAO", ["Zhao", "ZHAO"]),
        ("Cafe\u0301", "a cafe\u0301.", ["cafe\u0301"]),
        ("6%", "增长了百分之六。", ["百分之六"]),
        ("US", "the US gave it to us", ["US"]),
    ],
)
def test_spans_are_of_the_original_text(alias: str, text: str, stretches: list[str]) -> None:
    assert [text[start:end] for start, end in find_answer(alias, text)] == stretches


ODD = st.text(
    alphabet=st.sampled_from("aAbé 12三十万亿年月日.,，。-'\"“%$ﬁ①\u0301\u00ad\u200b\ud800\n後US"), max_size=40
)


@settings(deadline=None)
@given(alias=ODD, text=ODD)
def test_spans_lie_in_the_text_in_order_and_apart(alias: str, text: str) -> None:
    last = 0
    for start, end in find_answer(alias, text):
        assert last <= start < end <= len(text)
        last = end


_NO_SIGN = re.compile(r"[ .%']*(?:\.-|-  ) *[\d三十二]")
"""A full stop and a minus, or a minus far from its number: nobody writes that, and it is no number's sign."""


@settings(deadline=None)
@given(
    before=st.sampled_from(["", "It was ", "结果是", "—", "（"]),
    alias=st.text(alphabet="abcXYZ 张三丰北京十二0123456789.%-'", min_size=1, max_size=12).filter(
        lambda alias: any(char.isalnum() for char in alias) and not _NO_SIGN.match(alias)
    ),
    after=st.sampled_from(["", ".", "。", "，他说", ", he said", ")"]),
)
def test_an_answer_is_found_in_its_own_words(before: str, alias: str, after: str) -> None:
    assert find_answer(alias, before + alias + after)


def _whole_pattern(wording: Any) -> str:
    """One pattern for an alias, also where it is searched word by word."""
    if not isinstance(wording, matching._Words):
        return str(wording.pattern)
    first, *rest = map(re.escape, wording.words)
    inner = "".join(gap + word for gap, word in zip(wording.gaps, rest, strict=True))
    return wording.opening + first + inner + wording.closing


# Of many scripts, with marks that are no letters, letters that are no words of their own, and signs between words.
_LETTERS = "abTé ßñ Жд Ωλ 한국 かカ عرب हिंदी ไทย 三千第〇乙 ²Ⅷ½ _ 07 ǅ İ ﬁ １Ａ"
_NAMES = st.lists(st.text(alphabet=_LETTERS, min_size=1, max_size=3), min_size=1, max_size=4)
_BETWEEN_WORDS = st.sampled_from(
    [" ", "-", "'", ".", ", ", "&", " & ", "·", "《", "  ", " - ", "/", "+", "_", "", "—", "़"]
)


@settings(deadline=None, max_examples=300)
@given(names=_NAMES, signs=st.lists(_BETWEEN_WORDS, min_size=12, max_size=12), code=st.sampled_from(["", "en", "zh"]))
def test_a_name_is_found_word_by_word_where_its_pattern_would_find_it(
    names: list[str], signs: list[str], code: str
) -> None:
    alias = "".join(map(str.__add__, names, signs)).rstrip("".join(signs)) or "x"
    others = ["".join(map(str.__add__, names, signs[shift:])) for shift in (0, 4, 8)]
    text = signs[-1].join([*others, alias, alias.upper(), *reversed(names), alias])
    for finder in matching._finders(alias, code):
        for wording in (finder.plain, finder.numeral):
            for folded in (fold_characters(text), fold(text, code)):
                if wording is not None:
                    whole = re.compile(_whole_pattern(wording)).finditer(folded.text)
                    assert list(wording.spans(folded)) == [folded.span(*found.span()) for found in whole]


def test_no_pattern_is_made_for_a_name_without_numbers() -> None:
    find_answer("Ada Holm", "It was Ada Holm.")  # what all names share
    made = matching._compiled.cache_info().misses
    for alias in ("Quillon Berth", "Marrow Hythe", "雾隐渡"):
        assert find_answer(alias, f"They met at {alias}, it says.")
    assert matching._compiled.cache_info().misses == made


WORDS = st.sampled_from(
    [word for pair in STATED + NOT_STATED for word in pair] + ["Ада", "か", "韩", "《", "】", "the "]
)
WRITTEN = st.lists(WORDS | st.text(alphabet="aé12三千年.-'《к ", max_size=4), min_size=1, max_size=4).map("".join)


@settings(deadline=None)
@given(alias=WORDS | WRITTEN, before=WRITTEN, after=WRITTEN, code=st.sampled_from(["", "en", "zh"]))
def test_a_first_look_and_shorter_patterns_change_nothing(alias: str, before: str, after: str, code: str) -> None:
    finder = matching._finder(alias, code)
    for text in (before, before + alias + after):
        for wording in (finder.plain, finder.numeral):
            for folded in (fold_characters(text), fold(text, code)):
                if wording is not None:
                    whole = re.compile(_whole_pattern(wording)).finditer(folded.text)
                    assert list(wording.spans(folded)) == [folded.span(*found.span()) for found in whole]


def test_no_pattern_is_made_for_an_alias_whose_letters_a_text_does_not_have() -> None:
    made = matching._compiled.cache_info().misses
    for alias in ("Quillon Berth", "417", "3 June 1847", "雾隐渡", "四百一十七人"):
        assert find_answer(alias, "It rained in Oslo for 12 days. 奥斯陆下了十二天雨。") == []
    assert matching._compiled.cache_info().misses == made


@pytest.mark.parametrize("alias", ["か\U00031350", "\U00031350か", "o'brien-\U00031350"])
def test_a_han_character_newer_than_this_python_is_found(alias: str) -> None:
    assert find_answer(alias, f"。{alias}。") == [(1, 1 + len(alias))]


def test_the_patterns_of_many_names_take_little_memory() -> None:
    """A diagnosis of ten thousand questions looks for as many references."""
    names = 100
    tracemalloc.start()
    try:
        for number in range(names):
            assert find_answer(f"{700_000 + number} kg", f"It weighs {700_000 + number} kg.")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    most = matching._compiled.cache_parameters()["maxsize"]
    assert kept / names * most < 20_000_000
