"""Dense retrieval over documents of its own: found with their text, kept by their content, refused in one line."""

from pathlib import Path

import pytest
from tests.retrieval.test_bm25_corpus import ROWS, found, written

from ragstone.errors import UsageError
from ragstone.retrieval import brings_documents, check_retriever, code_of
from ragstone.types import Passage

# A text is the letters and digits that it has; each call is noted.
EMBEDDER = """
import hashlib, pathlib
def embed(texts):
    with open(pathlib.Path(__file__).with_name("asked"), "a") as file:
        file.write("".join(f"{len(text)}\\n" for text in texts))
    rows = []
    for text in texts:
        row = [0.01] * 64
        for word in text.lower().replace(".", " ").split():
            row[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        rows.append(row)
    return rows
"""


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.py").write_text(EMBEDDER)
    written(tmp_path)
    return "dense(words.py:embed,corpus=docs,chunk=0)"


def asked(folder: Path) -> int:
    return len((folder / "asked").read_text().splitlines())


async def test_documents_are_found_as_in_memory_and_embedded_once(name: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    query = "Ship 41 has left"
    there = await found(name, query, cache=cache)
    before = asked(tmp_path)
    pool = [Passage(row["id"], row["text"], title=row["title"]) for row in ROWS]
    here = await found("dense(words.py:embed)", query, pool=pool, cache=cache)
    assert [(one.id, one.text, one.title) for one in there] == [(one.id, one.text, one.title) for one in here]
    assert [one.score for one in there] == pytest.approx([one.score for one in here])
    assert before == asked(tmp_path)  # the vectors are those of the cache
    again = await found(name, query, cache=cache)
    assert again == there
    assert len([*(cache / "vectors-disk").iterdir()]) >= 1


async def test_a_changed_document_is_another_index_and_the_pools_labels_count(name: str, tmp_path: Path) -> None:
    cache, hashes = tmp_path / "cache", code_of(name)
    pool = [Passage("d41", "another text", relevant=True)]
    assert (await found(name, "Ship 41 has left", pool=pool, cache=cache))[0].relevant is True
    written(tmp_path, [{"id": "new", "text": "Zebras have come."}, *ROWS])
    assert code_of(name) != hashes
    assert (await found(name, "zebras have come", cache=cache))[0].id == "new"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("corpus=nowhere", "nowhere: there is no such file or folder"),
        ("corpus=", "name a file or folder"),
        ("corpus=docs,index=exact", "corpus=PATH is indexed on disk"),
        ("corpus=docs,links=4", "links and effort are options of index=hnsw"),
        ("corpus=docs,chunk=-1", "chunk=-1 should be a number of 0 or more"),
        ("chunk=330", "chunk is an option of corpus=PATH"),
    ],
)
async def test_what_cannot_be_is_one_line(name: str, options: str, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        await found(f"dense(words.py:embed,{options})", "ship", pool=[Passage("a", "A ship.")])
    assert line in str(caught.value)


def test_it_brings_its_documents(name: str) -> None:
    assert brings_documents(name)
    check_retriever(name)
