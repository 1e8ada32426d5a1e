"""BM25 finds by words, in both languages, with the scores of the textbook."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.errors import UsageError
from ragstone.retrieval import facts_of, open_retriever
from ragstone.retrieval.bm25 import Bm25, terms_of
from ragstone.types import Passage

POOL = [
    Passage("ships", "Ships were sailing from Oskarholm every morning.", "The harbour", relevant=True),
    Passage("trains", "Trains run on rails, and one train runs at night."),
    Passage("渡轮", "渡轮每天早上九点从奥斯卡岛出发。"),
    Passage("火车", "夜里还有一班火车。"),
    Passage("blank", " … "),
]


async def ids(query: str, name: str = "bm25", k: int = 3) -> list[str]:
    async with open_retriever(name, POOL) as retriever:
        return [passage.id for passage in (await retriever.retrieve([query], k=k))[0]]


async def test_words_find_passages_in_both_languages() -> None:
    assert await ids("When does the ship sail?") == ["ships"]
    assert await ids("火车什么时候开？") == ["火车"]
    assert await ids("奥斯卡岛的渡轮") == ["渡轮"]
    assert set(await ids("train 火车")) == {"火车", "trains"}


async def test_words_are_found_by_their_stems_and_titles_unless_told_otherwise() -> None:
    assert await ids("sails") == ["ships"]
    assert await ids("sails", "bm25(stem=no)") == []
    assert await ids("harbours") == ["ships"]
    assert await ids("harbours", "bm25(title=no)") == []


@pytest.mark.parametrize("query", ["", " ", "?!", "zzz", "\ud800", "\x00", "。"])
async def test_a_query_without_a_word_that_is_known_finds_nothing(query: str) -> None:
    assert await ids(query) == []


async def test_a_pool_without_a_word_is_searched_too() -> None:
    async with open_retriever("bm25", POOL[-1:]) as retriever:
        assert await retriever.retrieve(["train"], k=3) == [[]]
        assert facts_of(retriever)["index_bytes"] == 0


async def test_equal_scores_stay_in_the_order_of_the_pool() -> None:
    pool = [Passage(str(number), "one two three" if number % 2 else "four") for number in range(40)]
    async with open_retriever("bm25", pool) as retriever:
        ((found),) = await retriever.retrieve(["two"], k=5)
    assert [passage.id for passage in found] == ["1", "3", "5", "7", "9"]
    assert len({passage.score for passage in found}) == 1


async def test_what_it_is_made_of_is_told() -> None:
    async with open_retriever("bm25(k1=0.9,b=0.4)", POOL) as retriever:
        ((best, *_),) = await retriever.retrieve(["ships"], k=1)
        facts = facts_of(retriever)
    assert (retriever.id, facts["k1"], facts["b"], facts["passages"]) == ("bm25(k1=0.9,b=0.4)", 0.9, 0.4, 5)
    assert facts["index_bytes"] > 0
    assert best.relevant is True


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bm25(b=2)", "b=2 should be a number from 0 to 1"),
        ("bm25(local/e5-small)", "takes only options"),
        ("bm25(stem=maybe)", "stem=maybe should be yes or no"),
        ("bm25(k=3)", "has no option 'k'"),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        await ids("train", name)


def _textbook(texts: list[str], query: str, k1: float, b: float) -> list[float]:
    rows = [text.split() for text in texts]
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        counts = Counter(row)
        total = 0.0
        for word in query.split():
            holding = sum(word in other for other in rows)
            idf = math.log(1 + (len(rows) - holding + 0.5) / (holding + 0.5))
            tf = counts[word]
            total += idf * tf / (tf + k1 * (1 - b + b * len(row) / mean)) if tf else 0.0
        scores.append(total)
    return scores


WORD = st.sampled_from(["alpha", "beta", "gamma", "delta"])
TEXT = st.lists(WORD, min_size=1, max_size=8).map(" ".join)


@settings(max_examples=examples(60), deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=8), query=TEXT, k=st.integers(1, 9))
def test_scores_and_order_are_those_of_the_formula(texts: list[str], query: str, k: int) -> None:
    pool = [Passage(str(number), text) for number, text in enumerate(texts)]
    found = Bm25("bm25", pool, terms_of(stem=False))._search(query, k)
    wanted = _textbook(texts, query, 1.2, 0.75)
    assert len(found) == min(k, sum(score > 0 for score in wanted))
    for passage in found:
        assert passage.score == pytest.approx(wanted[int(passage.id)], rel=1e-5)
    left = [score for number, score in enumerate(wanted) if str(number) not in {one.id for one in found}]
    assert all(passage.score >= max(left, default=0) - 1e-6 for passage in found if passage.score is not None)
