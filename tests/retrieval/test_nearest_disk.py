"""Vectors on disk: what is found and how much of it, kept between runs, and no part of a build is taken for a whole."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.retrieval.words import WordEmbedder, opening

from ragstone.errors import BadReply, MissingExtra, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import nearest_disk
from ragstone.retrieval.nearest import Exact
from ragstone.retrieval.nearest_disk import OnDisk, build_on_disk, is_on_disk
from ragstone.retrieval.open import facts_of, open_retriever
from ragstone.types import Passage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

POOL = [Passage(f"p{n}", f"orchard {chr(97 + n % 26)} number {n}", relevant=n == 3) for n in range(60)]
POOL.insert(7, Passage("blank", "  "))


def clusters(n: int, seed: int = 0) -> "np.ndarray[Any, Any]":
    """Unit vectors in 40 clusters."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).standard_normal((40, 24))
    rows = centres[rng.integers(0, 40, n)] + 0.3 * rng.standard_normal((n, 24))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def built(folder: Path, *blocks: "np.ndarray[Any, Any]") -> Path:
    async def each() -> "AsyncIterator[np.ndarray[Any, Any]]":
        for block in blocks:
            yield block

    folder.mkdir()
    asyncio.run(build_on_disk(folder, each()))
    return folder


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> WordEmbedder:
    embedder = WordEmbedder()
    monkeypatch.setattr("ragstone.retrieval.dense.open_embedder", opening(embedder))
    return embedder


def test_the_recall_that_is_told_is_that_of_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_disk, "_PART", 1_500)  # several files of lists
    monkeypatch.setattr(nearest_disk, "_STEP", 400)
    rows, queries = clusters(4_000), clusters(100, seed=1)
    folder = built(tmp_path / "index", rows[:1_000], rows[1_000:])
    assert len(list(folder.glob("lists-*.faiss"))) == 3
    expected, scores = Exact(rows).search(queries, 5)
    for probes, least in ((4, 0.5), (64, 0.97), (1_000, 0.999)):
        index = OnDisk(folder, probes=probes)
        found, its = index.search(queries, 5)
        recall = np.mean([len({*a} & {*b}) / 5 for a, b in zip(expected.tolist(), found.tolist(), strict=True)])
        assert recall >= least
        assert index.recall(queries) == pytest.approx(recall)
        assert index.recall() == pytest.approx(recall, abs=0.1)  # for its own rows
    assert its == pytest.approx(scores, abs=1e-6)  # of all lists: what exact search finds, with its scores
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [1, 3, 50])
def test_a_few_vectors_are_all_found(tmp_path: Path, n: int) -> None:
    rows = clusters(n)
    found, _ = OnDisk(built(tmp_path / "index", rows)).search(rows, 5)
    assert found.tolist() == Exact(rows).search(rows, 5)[0].tolist()


def test_part_of_an_index_is_none(tmp_path: Path) -> None:
    folder = built(tmp_path / "index", clusters(300))
    assert is_on_disk(folder)
    for name, size in (("vectors.f32", -96), ("lists-0.faiss", -1), ("facts.json", -1)):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:size])
        assert not is_on_disk(folder), name
        (folder / name).unlink()
        assert not is_on_disk(folder), name
        (folder / name).write_bytes(whole)
    assert is_on_disk(folder)


def test_vectors_of_another_length_end_the_build(tmp_path: Path) -> None:
    with pytest.raises(BadReply, match="different dimensions"):
        built(tmp_path / "index", clusters(9), clusters(9)[:, :5])


async def test_passages_are_found_as_by_exact_search_and_embedded_once(tmp_path: Path, words: WordEmbedder) -> None:
    async def found(index: str) -> list[tuple[str, float | None]]:
        options = ModelOptions(cache=tmp_path)
        async with open_retriever(f"dense(test/words,index={index})", POOL, options=options) as retriever:
            ((*passages,), nothing) = await retriever.retrieve(["orchard number 3", " "], k=4)
            assert nothing == []
            if index == "disk":
                facts = facts_of(retriever)
                assert (facts["passages"], facts["exact"], facts["recall@5"]) == (60, False, 1.0)
        return [(passage.id, passage.score) for passage in passages]

    right = await found("exact")
    assert await found("disk") == right
    words.asked.clear()
    assert await found("disk") == right
    assert {kind for kind, _ in words.asked} == {"query"}


async def test_the_recall_is_told_for_the_questions_where_they_are_known(words: WordEmbedder) -> None:
    asked = {"orchard number 3": ["q1"], " ": ["q2"]}
    for queries, about in ((asked, "questions"), (None, "passages")):
        async with open_retriever("dense(test/words,index=disk)", POOL, queries=queries) as retriever:
            assert f"recall@5 1.000 for {about}" in facts_of(retriever)["index"]


async def test_more_passages_than_there_are_and_none_at_all(words: WordEmbedder) -> None:
    for pool, count in ((POOL, 60), ([Passage("blank", " ")], 0)):
        async with open_retriever("dense(test/words,index=disk)", pool) as retriever:
            assert len((await retriever.retrieve(["orchard"], k=100))[0]) == count


async def test_all_lists_are_exact_search(words: WordEmbedder) -> None:
    found = []
    for index in ("exact", "disk,probes=all"):
        async with open_retriever(f"dense(test/words,index={index})", POOL) as retriever:
            assert facts_of(retriever)["exact"] is True
            found.append(await retriever.retrieve(["orchard number 3", "orchard"], k=20))
    assert found[0] == found[1]


async def test_without_faiss_a_line_says_which_extra(words: WordEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ragstone\[faiss\]'"):
        async with open_retriever("dense(test/words,index=disk)", POOL):
            pass
    assert words.asked == []


async def test_probes_are_an_option_of_this_index_alone(words: WordEmbedder) -> None:
    with pytest.raises(UsageError, match="probes is an option of index=disk"):
        async with open_retriever("dense(test/words,probes=3)", POOL):
            pass
