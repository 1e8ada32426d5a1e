"""BM25 over documents of its own: found with their text, kept by their content, and never in memory together."""

import json
from pathlib import Path

import pytest

from ragstone.errors import DataError, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import bm25_disk, brings_documents, check_retriever, code_of, open_retriever
from ragstone.types import Passage

ROWS = [{"id": f"d{n}", "title": "港口", "text": f"Ship {n} has left. 第 {n} 号码头。"} for n in range(60)]


def written(folder: Path, rows: list[dict[str, str]] = ROWS) -> Path:
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    for name, some in (("a.jsonl", rows[:30]), ("b.jsonl", rows[30:])):
        (docs / name).write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in some), "utf-8")
    return docs


async def found(
    name: str, query: str, *, pool: list[Passage] | None = None, cache: Path | None = None
) -> list[Passage]:
    async with open_retriever(name, pool or [], options=ModelOptions(cache=cache)) as retriever:
        (passages,) = await retriever.retrieve([query], k=3)
    return passages


async def test_documents_are_found_with_text_title_and_place_as_in_memory(tmp_path: Path) -> None:
    docs = written(tmp_path)
    best, *rest = await found(f"bm25(corpus={docs},chunk=0)", "ship 41")
    assert (best.id, best.title, best.text) == ("d41", "港口", ROWS[41]["text"])
    pool = [Passage(row["id"], row["text"], title=row["title"]) for row in ROWS]
    assert [passage.id for passage in (best, *rest)] == [p.id for p in await found("bm25", "ship 41", pool=pool)]


async def test_documents_are_cut_into_chunks(tmp_path: Path) -> None:
    docs = written(tmp_path, [{"id": "long", "text": "One ship sails. " * 60 + "The zebra is last."}, *ROWS])
    best, *_ = await found(f"bm25(corpus={docs},chunk=50)", "zebra")
    assert best.id.startswith("long#")
    assert best.text.endswith("The zebra is last.")
    assert best.meta["document"] == "long"


async def test_the_pools_passage_with_its_label_is_given_where_it_is_found(tmp_path: Path) -> None:
    pool = [Passage("d41", "another text", relevant=True), Passage("mine", ROWS[7]["text"], relevant=False)]
    docs = written(tmp_path)
    assert (await found(f"bm25(corpus={docs},chunk=0)", "ship 41", pool=pool))[0].relevant is True
    assert (await found(f"bm25(corpus={docs},chunk=0)", "ship 7", pool=pool))[0].id == "mine"


async def test_the_index_is_kept_until_a_document_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, cache = written(tmp_path), tmp_path / "cache"
    name = f"bm25(corpus={docs})"
    hashes = code_of(name)
    await found(name, "ship", cache=cache)
    with monkeypatch.context() as patched:
        patched.setattr(bm25_disk, "_build", None)  # a second build would fail
        await found(name, "ship", cache=cache)
    written(tmp_path, [*ROWS[:-1], {"id": "new", "text": "A zebra."}])
    assert [passage.id for passage in await found(name, "zebra", cache=cache)] == ["new#1"]
    assert code_of(name) != hashes


async def test_two_documents_with_one_id_are_refused_before_anything_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25_disk, "_joined", None)  # the first passage would fail
    docs = written(tmp_path, [*ROWS, ROWS[3]])
    with pytest.raises(DataError, match="two documents have the id 'd3'"):
        await found(f"bm25(corpus={docs})", "ship")


async def test_half_a_character_of_a_document_survives(tmp_path: Path) -> None:
    docs = written(tmp_path, [{"id": "\\ud83d", "text": "ship"}])
    (docs / "c.jsonl").write_text('{"id": "half", "text": "zebra \\ud83d"}\n')
    (best,) = await found(f"bm25(corpus={docs},chunk=0)", "zebra")
    assert best.text == "zebra \ud83d"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("corpus=nowhere", "nowhere: there is no such file or folder"),
        ("corpus=", "name a file or folder"),
        ("corpus={},index=memory", "corpus=PATH is indexed on disk"),
        ("corpus={},k1=0.9", "the index on disk has k1=1.2"),
        ("corpus={},chunk=-1", "chunk=-1 should be a number of 0 or more"),
        ("chunk=330", "chunk is an option of corpus=PATH"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(tmp_path: Path, options: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_retriever(f"bm25({options.format(tmp_path)})")


async def test_a_folder_without_documents_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no document with text"):
        await found(f"bm25(corpus={tmp_path})", "ship")


def test_it_needs_no_corpus_beside_it(tmp_path: Path) -> None:
    assert brings_documents(f"hybrid(bm25(corpus={tmp_path}),http://localhost:1/search)")
    assert not brings_documents("bm25")
