"""Comparing texts without a judge: exact match, token F1, ROUGE-L, embeddings."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.matrices import StubEmbedder, made, resolve

from ragstone.errors import RateLimited
from ragstone.metrics.exact_match import normalised
from ragstone.metrics.rouge_l import longest_common
from ragstone.types import Case, Query, Response, Sample, Score


async def score(name: str, answer: str, *slots: tuple[str, ...], embedder: Any = None) -> Score:
    case = Case("c", Sample("s", "q", slots), {}, Query("q"))
    return await resolve(made(name, embedder=embedder).score(case, Response(answer)))


async def value(name: str, answer: str, *slots: tuple[str, ...]) -> float:
    found = (await score(name, answer, *slots)).value
    assert found is not None
    return found


# Exact match.

EQUAL = [
    ("The Eiffel Tower.", "Eiffel tower"),
    ("  an  apple ", "Apple"),
    ("U.S.", "us"),
    ("Don't", "dont"),
    ("Ｎｏｒｗａｙ", "norway"),
    ("café", "Cafe"),
    ("“长津湖”", "《长津湖》"),
    ("教 研 部", "教研部。"),
    ("張偉", "张伟"),
    ("一千二百", "1,200"),
    ("百分之十八", "18%"),
    ("18 ％", "18%"),
    ("3:2", "3：2"),
    ("The", "the"),
    ("The The", "the the"),
    ("C++", "C"),
    ("+", "+"),
]
DIFFERENT = [
    ("3.5", "35"), ("-5", "5"), ("5%", "5"), ("10-15", "1015"), ("3:2", "32"), ("1/2", "12"), ("New York", "York"),
    ("It is Norway", "Norway"), ("挪威队", "挪威"), ("", "—"), ("!", "—"), ("", "the"), ("2021-03", "202103"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "alias"), EQUAL)
async def test_what_makes_no_difference_is_evened_out(answer: str, alias: str) -> None:
    assert await value("exact_match", answer, (alias,)) == 1.0
    assert await value("exact_match", alias, (answer,)) == 1.0


@pytest.mark.parametrize(("answer", "alias"), DIFFERENT)
async def test_what_makes_another_answer_of_it_is_kept(answer: str, alias: str) -> None:
    assert await value("exact_match", answer, (alias,)) == 0.0


@pytest.mark.parametrize(("answer", "alias"), [pair for pair in DIFFERENT if pair[1] not in ("the", "—")])
async def test_what_makes_another_answer_of_it_does_so_the_other_way_round(answer: str, alias: str) -> None:
    assert await value("exact_match", alias, (answer,)) == 0.0


async def test_any_alias_will_do_and_the_evidence_names_it() -> None:
    result = await score("exact_match", "the big apple", ("New York", "Big Apple", ""))
    assert result == Score.of(1.0, evidence={"answer": "big apple", "match": ["Big Apple"]})
    assert (await score("exact_match", "Boston", ("New York",))).evidence == {"answer": "boston", "match": None}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("6.4%, 18%", 1.0),
        ("6.4% and 18%", 1.0),
        ("6.4%和18%", 1.0),
        ("6.4%、百分之十八。", 1.0),
        ("18%, 6.4%", 0.0),
        ("6.4%", 0.0),
        ("6.4%, 18%, 20%", 0.0),
        ("6.4% or 18%", 0.0),
    ],
)
async def test_of_several_slots_each_is_needed_in_order(answer: str, expected: float) -> None:
    assert await value("exact_match", answer, ("6.4%", "6.40%"), ("18%",)) == expected


async def test_an_alias_that_begins_with_another_is_found() -> None:
    assert (
        await value("exact_match", "New York City, Paris", ("New York", "New York City"), ("Paris", "City Paris"))
        == 1.0
    )


@given(st.text(max_size=40) | st.text(alphabet="aA the.,'-5%和挪 \t", max_size=40))
def test_case_and_stray_blanks_never_survive(text: str) -> None:
    once = normalised(text)
    assert once == " ".join(once.split())
    assert once == normalised(f" {text}\n")
    assert not any("A" <= char <= "Z" for char in once)


# Token F1.


@pytest.mark.parametrize(
    ("answer", "alias", "expected"),
    [
        # shared 2 of 3 and of 2: P 2/3, R 1
        ("the big red apple", "big apple", 2 * (2 / 3) / (2 / 3 + 1)),
        ("Norway, Norway!", "norway", 2 * (1 / 2) / (1 / 2 + 1)),
        ("apple big", "big apple", 1.0),
        ("pear", "big apple", 0.0),
        ("", "big apple", 0.0),
        ("the", "the apple", 0.0),
        ("don't stop", "Dont stop", 1.0),
        ("The The", "the the", 1.0),
        # 张伟 是 教研部 的 | 张伟 是 教研部 的 成员, as the dictionary cuts them: checked below
        ("張偉", "张伟", 1.0),
    ],
)
async def test_shared_words_are_counted(answer: str, alias: str, expected: float) -> None:
    assert await value("token_f1", answer, (alias,)) == pytest.approx(expected)


async def test_chinese_is_compared_by_words() -> None:
    from ragstone.text import words

    answer, reference = "北京大学的学生", "清华大学的学生"
    ours, theirs = words(answer), words(reference)
    shared = len(set(ours) & set(theirs))
    assert 0 < shared < len(theirs) < len(reference)
    f1 = 2 * shared / (len(ours) + len(theirs))
    assert await value("token_f1", answer, (reference,)) == pytest.approx(f1)
    assert await value("rouge_l", answer, (reference,)) == pytest.approx(f1)


async def test_the_best_alias_counts_and_of_several_slots_the_best_of_each_joined() -> None:
    result = await score("token_f1", "big apple", ("New York", "the Big Apple"))
    assert (result.value, result.evidence["reference"]) == (1.0, "the Big Apple")
    result = await score("token_f1", "Norway in 1998", ("Norge", "Norway"), ("1999", "1998"), ("",))
    assert result.evidence == {"reference": "Norway 1998", "precision": 2 / 3, "recall": 1.0}
    result = await score("rouge_l", "Norway in 1998", ("Norge", "Norway"), ("1999", "1998"))
    assert result.evidence == {"reference": "Norway 1998", "precision": 2 / 3, "recall": 1.0}


@pytest.mark.parametrize("name", ["token_f1", "rouge_l"])
async def test_a_reference_without_a_word_gives_no_score(name: str) -> None:
    for reference in ("—", "...", "🙂"):
        assert (await score(name, "Norway", (reference,))).reason == "the reference holds no word"


# ROUGE-L.

WORDS = [
    "the", "cat", "sat", "on", "mat", "The", "CAT", "don't", "well-known", "3.5", "U.S.", "a_b", ",", ".", "!", "(",
    "it's",
]  # fmt: skip
ENGLISH = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join)


@cache
def scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=False)


@given(ENGLISH, ENGLISH | st.text(alphabet=st.characters(max_codepoint=126), max_size=60))
async def test_rouge_l_is_that_of_the_package_rouge_score(answer: str, reference: str) -> None:
    result = await score("rouge_l", answer, (reference,))
    if result.value is None:
        assert not any(char.isalnum() for char in reference)
        return
    expected = scorer().score(reference, answer)["rougeL"]
    assert result.value == pytest.approx(expected.fmeasure, abs=1e-12)
    assert (result.evidence["precision"], result.evidence["recall"]) == pytest.approx(
        (expected.precision, expected.recall)
    )


async def test_rouge_l_by_hand() -> None:
    # police killed the gunman | police kill the gunman: the longest thread is "police the gunman".
    assert await value("rouge_l", "police kill the gunman", ("Police killed the gunman",)) == 0.75
    # Order counts: "the gunman" is all that is left.
    assert await value("rouge_l", "the gunman kill police", ("police killed the gunman",)) == 0.5
    assert await value("rouge_l", "", ("police",)) == 0.0


def slow_longest_common(left: str, right: str) -> int:
    row = [0] * (len(right) + 1)
    for one in left:
        above = row[:]
        for place, other in enumerate(right):
            row[place + 1] = above[place] + 1 if one == other else max(above[place + 1], row[place])
    return row[-1]


@given(st.text("abcd", max_size=80), st.text("abcd", max_size=80))
def test_the_longest_common_thread_is_found(left: str, right: str) -> None:
    assert longest_common(left, right) == slow_longest_common(left, right) == longest_common(right, left)


@pytest.mark.parametrize("name", ["exact_match", "token_f1", "rouge_l"])
@given(text=st.text(min_size=1, max_size=40))
async def test_a_text_is_as_close_to_itself_as_can_be(name: str, text: str) -> None:
    result = await score(name, text, (text,))
    assert result.value in {1.0, None}
    if result.value is None:
        assert result.status == "not_applicable"


# Embeddings.


async def test_similarity_is_the_cosine_of_the_closest_alias() -> None:
    embedder = StubEmbedder({"answer": (1.0, 0.0), "near": (0.8, 0.6), "far": (0.0, 1.0), "opposite": (-1.0, 0.0)})
    result = await score("semantic_similarity", "answer", ("far", "near", " "), embedder=embedder)
    assert result.value == pytest.approx(0.8)
    assert result.evidence["reference"] == "near"
    assert result.evidence["embedder"] == "stub/embedder"
    assert embedder.asked == [["answer", "far", "near"]]
    assert await value("semantic_similarity", "x", ("x",)) == pytest.approx(1.0)
    opposite = await score("semantic_similarity", "answer", ("opposite",), embedder=embedder)
    assert (opposite.value, opposite.evidence["cosine"]) == (0.0, -1.0)


async def test_similarity_of_several_slots_is_to_the_first_alias_of_each_joined() -> None:
    embedder = StubEmbedder({"answer": (1.0, 0.0), "a c": (0.6, 0.8)})
    result = await score("semantic_similarity", "answer", ("a", "b"), ("c",), embedder=embedder)
    assert result.value == pytest.approx(0.6)
    assert embedder.asked == [["answer", "a c"]]


async def test_of_an_empty_answer_the_embedder_is_not_asked() -> None:
    embedder = StubEmbedder()
    assert (await score("semantic_similarity", " ", ("a",), embedder=embedder)).value == 0.0
    assert embedder.asked == []


async def test_an_embedder_that_fails_is_a_failed_score() -> None:
    class Busy(StubEmbedder):
        async def embed(self, *_: Any, **__: Any) -> Any:
            raise RateLimited("Too many requests.")

    class Broken(StubEmbedder):
        async def embed(self, texts: Any, /, **_: Any) -> Any:
            return np.full((len(texts), 2), math.nan)

    class Short(StubEmbedder):
        async def embed(self, texts: Any, /, **_: Any) -> Any:
            return np.ones((len(texts) - 1, 2))

    busy = await score("semantic_similarity", "a", ("b",), embedder=Busy())
    assert (busy.status, busy.reason) == ("failed", "rate_limited: Too many requests.")
    for embedder in (Broken(), Short()):
        result = await score("semantic_similarity", "a", ("b",), embedder=embedder)
        assert (result.status, result.reason) == ("failed", "stub/embedder gave no vector of numbers for each text")
