"""Sentences in English, Chinese and both at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.text import sentences

SPLIT = [
    ["Dr. Smith went to Washington, D.C. on Jan. 5. ", 'He said "It is 3.5 million." ', "Then left... ", "OK!"],
    ["The U.S. Open began. ", "Is it? ", "Yes."],
    ["1. First item\n", "2. Second item\n", "a) third"],
    ["Feb 7, 2021 ... ", "The game was played. ", "Nobody knew ... until then."],
    ["J.K. Rowling and J. R. R. Tolkien wrote. ", "Mr. and Mrs. Lee left the U.S. ", "The rest stayed."],
    ["He works for Apple Inc. and Google Inc. ", "It is big."],
    ["See No. 5 and fig. 3. ", "He said no. ", "Then yes."],
    ['"Why?" he asked. ', "Yahoo! is big. ", "iPhone sales fell. ", "eBay rose."],
    ["Visit www.example.com. ", "Node.js is version 3.5.1. ", "Costs rose 3.5 percent."],
    ["(He did.) ", '"Go." ', "She went."],
    ["A first line\n\n", "a second\r\n", "the third"],
    ["他说：“今天很好。”", "然后走了……你呢？！", "“好。”", "（完。）"],
    ["“你好，”他说。", "“走吧！”", "他说……不知道。"],
    ["第一；", "第二。", "版本是3.5。", "价格为￥12.5元。"],
    ["“他说：‘走。’”，然后就走了。", "好。"],
    ["OK?", "他在U.S.工作。", "Dr. Wang 说3.5万人。", "他说Hello. ", "World很好。"],
    ["『行！』", "「好。」", "《书？》【完！】"],
    ["《你好。再见！》是一部电影。", "它很好。"],
    ["他看了《谁？》和《我是谁！》。", "很好。"],
    ["《What? No!》很好。", "〈好。坏〉也是。"],
    ["《未闭合。", "然后没有"],
    ["他说：“走吧。 ”", "然后走了。"],
    ["他说「走。 」", "他（走了。 ）", "笑了。"],
    ["他说：“不！！！”。", "他问（是吗？）。", "然后走了"],
    ["好。〕", "坏。］", "完"],
    ["没有结尾"],
    ["- Books, 28 days.\n", "- Up to 12 items.\n", "– One more.\n\n", "Done. - A dash is none."],
    ["   "],
    [],
]


@pytest.mark.parametrize("expected", SPLIT)
def test_a_text_splits_where_a_reader_would(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


@settings(deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="aA1 .!?。！？；…”’\"')）\n\r“《,，中", max_size=80))
def test_nothing_is_lost(text: str) -> None:
    parts = sentences(text)
    assert "".join(parts) == text
    assert all(parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris is large.[1] It grows.[2]", ["Paris is large.[1] ", "It grows.[2]"]),
        ("Really?[1][2] It grows [3].", ["Really?[1][2] ", "It grows [3]."]),
        ("It is large.[1, 2]\nIt grows.", ["It is large.[1, 2]\n", "It grows."]),
        ("The index a.[1] of it", ["The index a.[1] of it"]),
    ],
)
def test_a_citation_behind_a_full_stop_belongs_to_the_sentence_before(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    ["It rained. He left.", "We saw a library. He left.", "They met at noon. He left.", "Nobody understood. He left."],
)
def test_a_word_of_any_length_ends_a_sentence(text: str) -> None:
    assert len(sentences(text, "en")) == 2


@pytest.mark.parametrize(
    "text", ["We met Prof. Li there.", "He saw Dr. Lee.", "See No. 5 of it.", "It is in the U.S. now."]
)
def test_a_title_or_an_abbreviation_ends_none(text: str) -> None:
    assert len(sentences(text, "en")) == 1
