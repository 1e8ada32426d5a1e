"""BM25 between runs: the same pool is mapped, and a larger one costs the words of what is new."""

import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest

from ragstone.models import ModelOptions
from ragstone.retrieval import open_retriever
from ragstone.retrieval.bm25 import Bm25, terms_of
from ragstone.types import Passage

POOL = [Passage(f"p{n}", f"Fact {n} of the harbour. 港口的第 {n} 件事。", "港口") for n in range(30)] + [
    Passage("x", "…")
]


class Words:
    """Finds words, and counts the texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._find = terms_of()

    def __call__(self, text: str) -> list[str]:
        self.texts.append(text)
        return self._find(text)


def made(pool: list[Passage], folder: Path | None, kind: str = "stem=yes") -> tuple[Bm25, Words]:
    words = Words()
    return Bm25("bm25", pool, words, folder=folder, kind=kind), words


def found(index: Bm25, query: str = "fact 7 港口") -> list[tuple[str, float | None]]:
    ((*passages,),) = asyncio.run(index.retrieve([query], k=9))
    return [(passage.id, passage.score) for passage in passages]


def test_the_index_of_the_same_pool_is_mapped_and_gives_the_same(tmp_path: Path) -> None:
    plain, _ = made(POOL, None)
    first, counted = made(POOL, tmp_path)
    again, nothing = made(POOL, tmp_path)
    assert (len(counted.texts), nothing.texts) == (31, [])
    assert isinstance(again._index.scores["data"], np.memmap)
    assert found(again) == found(first) == found(plain)
    assert again.facts["vocabulary"] == plain.facts["vocabulary"]


def test_a_pool_that_has_grown_costs_the_words_of_what_is_new(tmp_path: Path) -> None:
    made(POOL, tmp_path)
    larger = [*POOL[5:], Passage("new", "A new fact 7.")]
    grown, words = made(larger, tmp_path)
    assert words.texts == ["A new fact 7."]
    assert found(grown) == found(made(larger, None)[0])


def test_another_way_to_find_words_and_other_parameters_are_other_indexes(tmp_path: Path) -> None:
    made(POOL, tmp_path)
    _, words = made(POOL, tmp_path, kind="stem=no")
    assert len(words.texts) == 31
    assert found(Bm25("b", POOL, Words(), folder=tmp_path, kind="stem=yes", k1=0.2)) != found(made(POOL, tmp_path)[0])


def test_what_is_damaged_is_built_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    right = found(made(POOL, tmp_path)[0])
    (index,) = (tmp_path / "bm25").iterdir()
    (index / "places.json").write_text("[")
    (tmp_path / "bm25-words.sqlite").write_bytes(b"no database")
    with caplog.at_level(logging.WARNING):
        assert found(made(POOL, tmp_path)[0]) == right
    assert "cannot be read" in caplog.text
    assert "word cache is not used" in caplog.text


def test_the_last_eight_indexes_are_kept(tmp_path: Path) -> None:
    for number in range(1, 11):
        made(POOL[:number], tmp_path)
    assert len(list((tmp_path / "bm25").iterdir())) == 8


async def test_a_run_keeps_its_index_where_its_replies_are(tmp_path: Path) -> None:
    for _ in range(2):
        async with open_retriever("bm25", POOL, options=ModelOptions(cache=tmp_path / "replies")) as retriever:
            assert len((await retriever.retrieve(["fact 7"], k=1))[0]) == 1
    assert len(list((tmp_path / "replies" / "bm25").iterdir())) == 1
    async with open_retriever("bm25", POOL, options=ModelOptions(cache=None)) as retriever:
        assert (await retriever.retrieve(["fact 7"], k=1))[0]
