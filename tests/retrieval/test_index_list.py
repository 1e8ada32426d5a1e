"""What a system can find is listed from files, code and objects as people have them, and what cannot be listed is told
in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import DataError, RagstoneError, UsageError
from ragstone.retrieval.index_list import read_index
from ragstone.types import Passage

TEXTS = ["ships sail the sea", "火车在铁路上"]
EXPORTS: dict[str, Any] = {
    "texts": TEXTS,
    "dicts": [{"id": "a", "text": TEXTS[0]}, {"id": "b", "content": TEXTS[1]}],
    "langchain": [{"page_content": text, "metadata": {"source": text[:1]}} for text in TEXTS],
    "qdrant": [{"id": n, "payload": {"page_content": text}, "vector": [0.5]} for n, text in enumerate(TEXTS)],
    "elasticsearch": [{"_id": text[:1], "_source": {"body": text}} for text in TEXTS],
    "pinecone": [{"id": text[:1], "values": [1], "metadata": {"text": text}} for text in TEXTS],
    "llamaindex": [{"id_": text[:1], "text": text, "metadata": {}} for text in TEXTS],
}  # fmt: skip
COLUMNS = {"ids": ["a", "b"], "documents": TEXTS, "metadatas": [None, {"title": "铁路"}], "embeddings": None}


@pytest.mark.parametrize("name", EXPORTS)
async def test_exports_of_systems_are_lists_of_passages(name: str, tmp_path: Path) -> None:
    lines, whole = tmp_path / "chunks.jsonl", tmp_path / "chunks.json"
    lines.write_text("\n".join(map(json.dumps, EXPORTS[name])), encoding="utf-8")
    whole.write_text(json.dumps({"chunks": EXPORTS[name], "version": 2}), encoding="utf-8")
    found = [await read_index(source) for source in (lines, str(whole), EXPORTS[name])]
    assert [[one.text for one in index.passages] for index in found] == [TEXTS] * 3
    assert len({index.sha256 for index in found}) == 1


async def test_columns_folders_tables_and_chunks_under_one_id_are_listed(tmp_path: Path) -> None:
    assert [(one.id, one.title) for one in (await read_index(COLUMNS)).passages] == [("a", ""), ("b", "铁路")]
    assert [one.id for one in (await read_index({"x": TEXTS[0], "y": {"text": TEXTS[1]}})).passages] == ["x", "y"]
    same = [{"id": "file.md", "text": text} for text in TEXTS]
    assert [one.id for one in (await read_index(same)).passages] == ["file.md", "file.md#2"]
    (tmp_path / "a.md").write_text(TEXTS[0], encoding="utf-8")
    (tmp_path / "b.csv").write_text(f"id,text\nb,{TEXTS[1]}\n", encoding="utf-8")
    assert {one.text for one in (await read_index(tmp_path)).passages} == {*TEXTS}


class Store:
    """An application's own store."""

    def __init__(self, *texts: str) -> None:
        self.chunks = [Passage(f"p{n}", text) for n, text in enumerate(texts)]


async def coroutine() -> list[str]:
    return TEXTS


LIVE: dict[str, Any] = {
    "function": lambda: iter(TEXTS), "coroutine": coroutine, "object": Store(*TEXTS), "factory": lambda: Store(*TEXTS),
}  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
async def test_functions_and_objects_of_the_user_s_are_listed(name: str) -> None:
    assert [one.text for one in (await read_index(LIVE[name])).passages] == TEXTS


CODE = """
import asyncio
chunks = [{"id": f"c{n}", "text": f"chunk {n} 段"} for n in range(12_000)]
async def later(): return chunks[:3]
def broken(): raise ValueError("no key")
def nothing(): return None
"""


async def test_code_is_listed_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(CODE, encoding="utf-8")
    found = await read_index(f"{tmp_path}/app.py:chunks")
    assert (len(found.passages), found.passages[-1].text) == (12_000, "chunk 11999 段")
    assert len((await read_index(f"{tmp_path}/app.py:later")).passages) == 3
    for name, words in (("broken", "ValueError: no key (app.py, line 5, in broken)"), ("nothing", "it is None")):
        with pytest.raises(UsageError, match=f"^The index .*app.py:{name} cannot be listed: ") as caught:
            await read_index(f"{tmp_path}/app.py:{name}")
        assert words in str(caught.value)
        assert str(caught.value).endswith("or a function that returns texts, dicts with `text`, or documents.")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([], "it has no passage with text"), (["", " "], r"its items \(str\) have no text"),
        ([{"vector": [1]}], r"its items \(dict\) have no text"), (7, "it is an int"), (lambda: None, "it is None"),
        ("http://127.0.0.1:9/x", "an address has no list"), ("qdrant://127.0.0.1:9/c", "an address has no list"),
        ("/nowhere/chunks.jsonl", "there is no such file or folder"), ("bm25(k1=1)", "is no engine: name one of"),
        ("qdrant(http://127.0.0.1:9)", "name the collection to list with collection=NAME"),
    ],
)  # fmt: skip
async def test_what_cannot_be_listed_is_told_in_one_line(source: Any, words: str) -> None:
    with pytest.raises(RagstoneError, match=words) as caught:
        await read_index(source)
    assert "\n" not in str(caught.value)


async def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "chunks.jsonl"
    file.write_text('{"text": "a"}\n{"text": \n', encoding="utf-8")
    with pytest.raises(DataError, match="line 2: not JSON"):
        await read_index(file)


async def test_the_digest_is_of_the_content_and_not_of_its_order() -> None:
    one, other = await read_index(EXPORTS["dicts"]), await read_index(EXPORTS["dicts"][::-1])
    assert one.sha256 == other.sha256
    assert one.sha256 != (await read_index(EXPORTS["dicts"][:1])).sha256
