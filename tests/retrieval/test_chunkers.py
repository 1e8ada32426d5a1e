"""Documents are cut into chunks of at most so many tokens, and nothing is lost."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragstone.errors import MissingExtra, UnknownName, UsageError
from ragstone.retrieval.chunkers import (
    METHODS,
    PRESETS,
    Chunk,
    Method,
    chunk,
    chunk_passages,
    named_tokenizer,
    parse_sizes,
)
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Passage

ENGLISH = (
    "The orchard was founded in 1931 by Dr. Elena Marsh. It lies above the town of Kelder, on poor soil. "
    "Nobody expected pears to grow there! Its first harvest, which was sold at the market of Kelder in 1936, brought "
    "so little that the family thought of giving up; but they stayed. Today it has 4,200 trees."
)
CHINESE = (
    "果园由林静怡于1931年创建。它位于凯尔德镇的山坡上，土壤贫瘠。没有人想到那里能种出梨来！第一次收成在1936年送到镇上的集市出售，"
    "收入微薄，一家人曾打算放弃；但他们最终留了下来。她说：“我们不走。”如今那里有4200棵果树。"
)
MIXED = "# 果园 Orchard\n\n" + ENGLISH + "\n\n" + CHINESE + "\n- Pears 梨\n- Apples 苹果\n"


class Characters:
    """A token is a character that is not a blank."""

    id = "test/characters"

    def encode(self, text: str, /) -> list[int]:
        return [ord(character) for character in text if not character.isspace()]

    def decode(self, ids: Sequence[int], /) -> str:
        return "".join(map(chr, ids))


class Words:
    """A token is a word between blanks; it only counts."""

    id = "test/words"

    def count(self, text: str, /) -> int:
        return len(text.split())


texts = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(["word ", "a, ", "end. ", "No! ", "\n", "\n\n", "中", "文，", "好。", "“走。”", "é", "👩🏽‍🚀 ", "12,345 ", "x" * 40]),  # noqa: E501
        max_size=80,
    ).map("".join),
)  # fmt: skip


@settings(deadline=None)
@given(texts, st.integers(1, 40), st.data(), st.sampled_from(METHODS))
def test_chunks_are_slices_in_order_that_keep_to_size_and_overlap_and_lose_only_blanks(
    text: str, size: int, data: st.DataObject, method: Method
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    tokenizer = data.draw(st.sampled_from([None, Characters(), Words()]))
    count = {"test/characters": lambda part: len(Characters().encode(part)), "test/words": Words().count}.get(
        "" if tokenizer is None else tokenizer.id, estimate_tokens
    )
    chunks = chunk(text, size=size, overlap=overlap, method=method, tokenizer=tokenizer)
    covered = [False] * len(text)
    for one in chunks:
        assert one.text == text[one.start : one.end] == one.text.strip() != ""
        assert one.tokens == count(one.text)
        assert one.tokens <= size or len(one.text) <= 12  # one character, with what is joined to it
        covered[one.start : one.end] = [True] * (one.end - one.start)
    assert "".join(char for char, held in zip(text, covered, strict=True) if not held).strip() == ""
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert after.start >= before.end or count(text[after.start : before.end]) <= overlap
        assert overlap or after.start >= before.end


@settings(deadline=None)
@given(texts, st.integers(1, 40), st.sampled_from(["sentence", "recursive"]))
@example(".\r! 0", 4, "recursive")
def test_a_sentence_that_fits_is_never_cut(text: str, size: int, method: Method) -> None:
    chunks = chunk(text, size=size, method=method)
    at = 0
    for sentence in sentences(text):
        start, end = at + len(sentence) - len(sentence.lstrip()), at + len(sentence.rstrip())
        at += len(sentence)
        if method == "recursive" and len(text[start:end].splitlines()) > 1:
            continue  # lines come before sentences there
        if start < end and estimate_tokens(text[start:end]) <= size:
            assert any(one.start <= start and end <= one.end for one in chunks)


@settings(deadline=None)
@given(texts, st.integers(1, 60))
def test_no_chunk_could_have_had_the_next_sentence_too(text: str, size: int) -> None:
    starts = {0}
    for sentence in sentences(text):
        starts.add(max(starts) + len(sentence))
    chunks = chunk(text, size=size, tokenizer=Characters())
    for before, after in pairwise(chunks):
        assert len(Characters().encode(text[before.start : after.end])) > size


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, MIXED])
@pytest.mark.parametrize("method", METHODS)
def test_what_fits_is_one_chunk(text: str, method: Method) -> None:
    (whole,) = chunk(f" \n{text}\n", size=1000, overlap=100, method=method)
    assert whole == Chunk(text.strip(), 2, 2 + len(text.strip()), estimate_tokens(text.strip()))


def test_sentences_of_both_languages_are_packed_whole_and_only_one_too_long_is_cut() -> None:
    assert [one.text for one in chunk(ENGLISH, size=25)] == [
        "The orchard was founded in 1931 by Dr. Elena Marsh.",
        "It lies above the town of Kelder, on poor soil. Nobody expected pears to grow there! Its first harvest,",
        "which was sold at the market of Kelder in 1936, brought so little that the family thought of giving up;",
        "but they stayed. Today it has 4,200 trees.",
    ]
    assert [one.text for one in chunk(CHINESE, size=40)] == [
        "果园由林静怡于1931年创建。它位于凯尔德镇的山坡上，土壤贫瘠。没有人想到那里能种出梨来！",
        "第一次收成在1936年送到镇上的集市出售，收入微薄，一家人曾打算放弃；但他们最终留了下来。她说：“我们不走。”",
        "如今那里有4200棵果树。",
    ]


def test_an_overlap_repeats_the_sentences_that_end_the_chunk_before() -> None:
    text = "One is here. Two is here. Three is here. Four is here. Five is here."
    assert [one.text for one in chunk(text, size=9, overlap=3, tokenizer=Words())] == [
        "One is here. Two is here. Three is here.",
        "Three is here. Four is here. Five is here.",
    ]
    assert [one.text for one in chunk(text, size=9, overlap=2, tokenizer=Words())] == [
        "One is here. Two is here. Three is here.",
        "Four is here. Five is here.",
    ]
    assert [one.text for one in chunk(text, size=5, overlap=2, tokenizer=Words(), method="token")] == [
        "One is here. Two is", "Two is here. Three is", "Three is here. Four is", "Four is here. Five is",
        "Five is here.",
    ]  # fmt: skip


def test_an_overlap_never_keeps_the_next_chunk_from_reaching_further() -> None:
    text = "She was here. He was not there on that second day. They all left."
    found = [one.text for one in chunk(text, size=8, overlap=7, tokenizer=Words())]
    assert found == ["She was here.", "He was not there on that second day.", "They all left."]


def test_recursive_does_not_mix_parts_of_paragraphs() -> None:
    text = "Title\n\nOne two three. Four five six.\nSeven.\n\nEight nine.\n\nTen."
    found = [one.text for one in chunk(text, size=4, tokenizer=Words(), method="recursive")]
    assert found == ["Title", "One two three.", "Four five six.", "Seven.", "Eight nine.\n\nTen."]
    assert [one.text for one in chunk(text, size=4, tokenizer=Words())] == [
        "Title\n\nOne two three.", "Four five six.\nSeven.", "Eight nine.\n\nTen.",
    ]  # fmt: skip


def test_a_long_sentence_is_cut_between_clauses_then_words_then_characters() -> None:
    assert [one.text for one in chunk("Sold for 1,000 crowns, in May, at noon.", size=4, tokenizer=Words())] == [
        "Sold for 1,000 crowns,", "in May, at noon.",
    ]  # fmt: skip
    assert [one.text for one in chunk("one two three four five", size=2, tokenizer=Words())] == [
        "one two", "three four", "five",
    ]  # fmt: skip
    assert [one.text for one in chunk("一二三四五六七。", size=3, tokenizer=Characters())] == [
        "一二三",
        "四五六",
        "七。",
    ]
    assert [one.text for one in chunk("abcdefgh", size=3, tokenizer=Characters())] == ["abc", "def", "gh"]


def test_an_accent_or_an_emoji_of_many_parts_is_not_torn() -> None:
    assert [one.text for one in chunk("e\u0301e\u0301", size=2, tokenizer=Characters())] == ["e\u0301", "e\u0301"]
    assert [one.text for one in chunk("👩🏽‍🚀👩🏽‍🚀", size=1, tokenizer=Characters())] == ["👩🏽‍🚀", "👩🏽‍🚀"]


def test_a_character_of_endless_accents_is_cut_all_the_same() -> None:
    chunks = chunk("e" + "\u0301" * 5_000, size=20, tokenizer=Characters())
    assert max(one.tokens for one in chunks) <= 20


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "\x1f"])
def test_a_text_of_blanks_has_no_chunk(text: str) -> None:
    assert chunk(text, size=5) == []


def test_half_a_character_is_counted_and_kept() -> None:
    class Strict(Characters):
        def encode(self, text: str, /) -> list[int]:
            return list(text.encode())

    assert [one.text for one in chunk("ab \ud83d cd", size=3, tokenizer=Strict())] == ["ab", "\ud83d", "cd"]


def test_long_texts_take_a_few_counts_a_chunk() -> None:
    counted = []

    class Told(Words):
        def count(self, text: str, /) -> int:
            counted.append(len(text))
            return super().count(text)

    text = "The pear tree stood alone there. " * 5_000
    chunks = chunk(text, size=330, tokenizer=Told())
    assert len(chunks) == 91
    assert sum(counted) < 6 * len(text)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"size": 0}, "chunk size of 0 tokens"),
        ({"size": 10, "overlap": 10}, "Give 0 to 9"),
        ({"size": 10, "overlap": -1}, "overlap of -1"),
        ({"size": 10, "method": "semantic"}, "no chunking method 'semantic'"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        chunk("a", **changes)  # type: ignore[arg-type]


def test_chunks_of_passages_say_where_they_are_from() -> None:
    passages = [
        Passage("d1", "One two. Three four.", title="T", relevant=True, meta={"source": "s"}),
        Passage("d2", "Five six.", relevant=True),
        Passage("d3", "One two. Three four.", relevant=False),
        Passage("d4", "  "),
    ]
    found = chunk_passages(passages, size=2, tokenizer=Words())
    assert [(one.id, one.text, one.relevant) for one in found] == [
        ("d1#1", "One two.", None), ("d1#2", "Three four.", None), ("d2#1", "Five six.", True),
        ("d3#1", "One two.", False), ("d3#2", "Three four.", False),
    ]  # fmt: skip
    assert found[1].title == "T"
    assert found[1].meta == {"source": "s", "document": "d1", "start": 9, "end": 20, "tokens": 2}
    assert chunk_passages(passages, size=0) == passages


def test_sizes_are_read_from_what_a_user_writes() -> None:
    assert parse_sizes("110,330,550") == (110, 330, 550)
    assert parse_sizes(" MIRAGE , rgb,330") == (330, 300)
    assert parse_sizes("0，none、110") == (0, 110)
    assert PRESETS == {"mirage": 330, "rgb": 300}


@pytest.mark.parametrize("text", ["", "110,", "12x", "-5", "3.5", "²", "9" * 12])
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a size\. Write tokens, such as 110,330,550"):
        parse_sizes(text)


def test_the_tokenizer_has_a_name() -> None:
    estimate = named_tokenizer("ragstone/estimate")
    assert estimate.id == "ragstone/estimate"
    assert chunk(MIXED, size=50, tokenizer=estimate) == chunk(MIXED, size=50)
    with pytest.raises(UnknownName, match="No tokenizer named 'local/smollm2'"):
        named_tokenizer("local/smollm2")


@pytest.mark.parametrize("name", ["local/e5-small", "openai/o200k_base"])
def test_chunks_keep_to_their_size_by_a_real_vocabulary(name: str) -> None:
    try:
        tokenizer = named_tokenizer(name)
    except MissingExtra as error:
        pytest.skip(str(error))
    for method in METHODS:
        chunks = chunk(MIXED, size=40, overlap=10, method=method, tokenizer=tokenizer)
        assert len(chunks) > 4
        assert all(one.tokens == tokenizer.count(one.text) <= 40 for one in chunks)
