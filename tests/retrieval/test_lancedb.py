"""LanceDB for real: a table of the pool, one that stays, and one of the user's."""

import contextlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragstone.errors import DataError, MissingExtra, UsageError
from ragstone.retrieval import facts_of, open_retriever
from ragstone.retrieval.index_list import read_index
from ragstone.types import Passage

# Who only collects the tests does not wait for it.
pytestmark = pytest.mark.skipif(find_spec("lancedb") is None, reason="the extra lancedb is not installed")

POOL = [Passage("a", "one", relevant=True), Passage("b", "two"), Passage("c", "三"), Passage("blank", " ")]


class Letters:
    """Embeds a text by its first letters; counts the calls."""

    id = "test/letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> "np.ndarray[Any, Any]":
        self.asked += [f"{kind}:{text}" for text in texts]
        rows = np.zeros((len(texts), 4), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row["ot三".find(text[0]) % 4] = 1.0
            row[3] += 0.25
        lengths: np.ndarray[Any, Any] = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: np.ndarray[Any, Any] = np.divide(rows, lengths, dtype=np.float32)
        return unit


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    embedder = Letters()

    @contextlib.asynccontextmanager
    async def opened(name: str, options: object):  # type: ignore[no-untyped-def]
        yield embedder

    monkeypatch.setattr("ragstone.retrieval.engine.open_embedder", opened)
    return embedder


async def test_the_pool_is_found_by_its_vectors(letters: Letters, capfd: pytest.CaptureFixture[str]) -> None:
    async with open_retriever("lancedb(embedder=test/letters)", POOL) as retriever:
        two, three, blank = await retriever.retrieve(["two?", "三？", " "], k=2)
        assert two[0].id == "b"
        assert (three[0].id, blank) == ("c", [])
        assert two[0].score == pytest.approx(1.0, abs=1e-6)
        assert len(two) == 2
        assert (await retriever.retrieve(["one"], k=9))[0][0].relevant is True
        facts = facts_of(retriever)
    assert facts["passages"] == 3
    assert facts["library"].startswith("lancedb ")
    assert facts["index_bytes"] > 0
    assert capfd.readouterr().err == ""


async def test_a_database_that_stays_is_not_embedded_again(letters: Letters, tmp_path: Path) -> None:
    name = f"lancedb({tmp_path / 'db'},embedder=test/letters)"
    for _ in range(2):
        async with open_retriever(name, POOL) as retriever:
            assert (await retriever.retrieve(["two"], k=1))[0][0].id == "b"
    assert sum(one.startswith("passage:") for one in letters.asked) == 3
    async with open_retriever(name, POOL[:2]) as retriever:  # another pool has another table
        assert facts_of(retriever)["passages"] == 2


async def test_a_table_of_the_user_s_is_searched_as_it_is(letters: Letters, tmp_path: Path) -> None:
    import lancedb

    db = await lancedb.connect_async(str(tmp_path / "db"))
    vectors = await letters.embed(["one", "two"], kind="passage")
    rows = [{"key": "a", "embedding": vectors[0]}, {"key": "b", "embedding": vectors[1]}]
    await db.create_table("docs", data=rows)
    name = f"lancedb({tmp_path / 'db'},collection=docs,embedder=test/letters,id=key,vector=embedding,metric=l2)"
    async with open_retriever(name, POOL) as retriever:
        (found,) = await retriever.retrieve(["two"], k=5)
    assert [one.id for one in found] == ["b", "a"]
    assert found[0].score == pytest.approx(1.0, abs=1e-5)
    async with open_retriever(name, POOL[:1]) as retriever:
        with pytest.raises(DataError, match="id 'b' is in the collection but not in the pool, and it has no text"):
            await retriever.retrieve(["two"], k=5)


async def test_a_table_is_listed(tmp_path: Path) -> None:
    import lancedb

    db = await lancedb.connect_async(str(tmp_path / "db"))
    rows = [{"key": f"k{n}", "body": f"段 {n}", "vector": [1.0, 0.0]} for n in range(5000)]
    await db.create_table("docs", data=rows)
    found = await read_index(f"lancedb({tmp_path / 'db'},collection=docs,id=key,text=body)")
    assert [(one.id, one.text) for one in found.passages[-1:]] == [("k4999", "段 4999")]
    assert len(found.passages) == 5000


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lancedb", "name what embeds the questions: embedder=local/e5-small"),
        ("lancedb(NONE,collection=docs,embedder=test/letters)", "there is no .*none"),
        ("lancedb(embedder=test/letters,metric=hamming)", "metric=hamming"),
        ("lancedb(collection=docs,embedder=test/letters)", "Give the folder or file with your collection"),
        ("lancedb(DB,collection=docs,embedder=test/letters)", "there is no collection 'docs'. There is: other"),
        ("lancedb(DB,collection=other,embedder=test/letters)", "has no column 'id'. It has: vector"),
        ("lancedb(embedder=test/letters,depth=3)", "has no option 'depth'"),
        ("lancedb(embedder=test/letters,vector=v)", "are fields of your own collection=NAME"),
        ("lancedb(a,b,embedder=test/letters)", "takes one address or path"),
        ("lancedb(http://localhost:1,embedder=test/letters)", "give an address or path like lancedb"),
        ("lancedb(s3://u:hunter2@bucket/x,embedder=test/letters)", "must not contain a user name or password"),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(letters: Letters, tmp_path: Path, name: str, says: str) -> None:
    import lancedb

    db = await lancedb.connect_async(str(tmp_path / "db"))
    await db.create_table("other", data=[{"vector": np.zeros(4, dtype=np.float32)}])
    with pytest.raises(UsageError, match=says) as caught:
        async with open_retriever(name.replace("DB", f"{tmp_path}/db").replace("NONE", f"{tmp_path}/none"), POOL):
            pass
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": "a", "vector": np.zeros(8, dtype=np.float32)}], "dim"),
        ([{"id": "a", "vector": "no vector"}], "vector"),
        ([{"id": "a", "vector": 7}], "vector"),
    ],
)
async def test_a_table_that_the_embedder_cannot_search_is_said_in_one_line(
    letters: Letters, tmp_path: Path, rows: list[dict[str, Any]], says: str
) -> None:
    import lancedb

    db = await lancedb.connect_async(str(tmp_path / "db"))
    await db.create_table("docs", data=rows)
    with pytest.raises(UsageError, match=f"docs.*{says}") as caught:
        async with open_retriever(
            f"lancedb({tmp_path / 'db'},collection=docs,embedder=test/letters)", POOL
        ) as retriever:
            await retriever.retrieve(["two"], k=1)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("damage", ["data", "versions"])
async def test_a_damaged_database_is_said_in_one_line(letters: Letters, tmp_path: Path, damage: str) -> None:
    name = f"lancedb({tmp_path / 'db'},embedder=test/letters)"
    async with open_retriever(name, POOL):
        pass
    files = [path for path in (tmp_path / "db").rglob("*") if path.is_file() and damage in str(path)]
    assert files
    for path in files:
        path.write_bytes(b"\x00" * 40)
    with pytest.raises(UsageError) as caught:
        async with open_retriever(name, POOL) as retriever:
            await retriever.retrieve(["two"], k=1)
    assert "\n" not in str(caught.value)
    assert "lancedb" in str(caught.value)


async def test_without_the_package_the_extra_is_named(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'ragstone\[lancedb\]'"):
        async with open_retriever("lancedb(embedder=test/letters)", POOL):
            pass
