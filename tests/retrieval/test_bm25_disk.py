"""BM25 on disk: the results of the index in memory, kept between runs, whoever else builds or is killed."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.waiting import until, until_elsewhere

from ragstone.errors import MissingExtra, StorageError, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import bm25, bm25_disk, facts_of, open_retriever
from ragstone.retrieval.index_folder import kept_index
from ragstone.types import Passage

POOL = [
    *(Passage(f"p{n}", f"Fact {n} of the harbour. 港口的第 {n} 件事。{' ship' * (n % 50)}", "港口") for n in range(90)),
    Passage("none", "…"),
    Passage("long", "w" * 70_000),
]
QUESTIONS = ["fact 7 港口", "ships of the harbour ship", "第 3 件事", "zzz", "w" * 70_000, ""]

Found = list[list[tuple[str, Any]]]


async def found(name: str, pool: list[Passage], cache: Path | None = None, k: int = 9) -> Found:
    async with open_retriever(name, pool, options=ModelOptions(cache=cache)) as retriever:
        lists = await retriever.retrieve(QUESTIONS, k=k)
    return [[(passage.id, pytest.approx(passage.score, rel=1e-4)) for passage in passages] for passages in lists]


async def test_the_index_on_disk_gives_the_passages_scores_and_order_of_the_one_in_memory() -> None:
    for k in (1, 9, 200):
        assert await found("bm25(index=disk)", POOL, k=k) == await found("bm25(index=memory)", POOL, k=k)


WORDS = st.sampled_from(["ship", "ships", "of", "harbour", "港口", "第", "7", "fact", "渡轮"])
TEXTS = st.lists(WORDS, max_size=120).map(" ".join)


@settings(max_examples=examples(20), deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=30), k=st.integers(1, 12))
def test_any_pool_is_ranked_as_in_memory(texts: list[str], k: int) -> None:
    pool = [Passage(str(number), text) for number, text in enumerate(texts)]

    async def both() -> None:
        assert await found("bm25(index=disk)", pool, k=k) == await found("bm25(index=memory)", pool, k=k)

    asyncio.run(both())


async def test_an_index_is_kept_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await found("bm25(index=disk)", POOL, tmp_path)
    monkeypatch.setattr(bm25_disk, "_build", None)  # a second build would fail
    assert await found("bm25(index=disk)", POOL, tmp_path) == first


async def test_another_pool_and_another_way_to_find_words_are_other_indexes(tmp_path: Path) -> None:
    for name, pool in (("index=disk", POOL), ("index=disk", POOL[1:]), ("index=disk,stem=no", POOL)):
        assert await found(f"bm25({name})", pool, tmp_path) == await found(f"bm25({name})", pool)
    assert len(list((tmp_path / "bm25-disk").glob("[!.]*"))) == 3


@pytest.mark.parametrize("file", ["facts.json", "meta.json"])
async def test_a_damaged_index_is_built_again(tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture) -> None:
    right = await found("bm25(index=disk)", POOL, tmp_path)
    (index,) = (tmp_path / "bm25-disk").glob("[!.]*")
    (index / file).write_text("{")
    assert await found("bm25(index=disk)", POOL, tmp_path) == right
    assert "it is rebuilt" in caplog.text


@pytest.mark.parametrize("ending", [".pos", ".term", ".store", ".fieldnorm", ".idx"])
@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-1])])
async def test_an_index_whose_files_are_not_those_that_were_built_is_built_again(
    tmp_path: Path, ending: str, harm: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    right = await found("bm25(index=disk)", POOL, tmp_path)
    (file,) = (tmp_path / "bm25-disk").glob(f"[!.]*/*{ending}")
    harm(file)
    assert await found("bm25(index=disk)", POOL, tmp_path) == right
    assert "it is rebuilt" in caplog.text


@pytest.mark.parametrize("ending", [".store", ".term"])  # an error of tantivy's, and a panic
async def test_an_index_that_cannot_be_searched_is_told_and_built_again(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    right = await found("bm25(index=disk)", POOL, tmp_path)
    (file,) = (tmp_path / "bm25-disk").glob(f"[!.]*/*{ending}")
    content = file.read_bytes()
    half = len(content) // 2
    file.write_bytes(bytes(byte ^ 0x5A for byte in content[:half]) + content[half:])
    with pytest.raises(StorageError, match=r"the index is damaged \(.*\)\. Run the same command again: it is built"):
        await found("bm25(index=disk)", POOL, tmp_path)
    assert await found("bm25(index=disk)", POOL, tmp_path) == right
    assert "it is rebuilt" in caplog.text


async def test_a_large_pool_is_indexed_on_disk_and_the_user_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bm25, "_MANY", len(POOL))
    caplog.set_level(logging.INFO)
    for name, library in (("bm25", "tantivy"), ("bm25(index=memory)", "bm25s"), ("bm25(k1=0.9)", "bm25s")):
        async with open_retriever(name, POOL) as retriever:
            assert facts_of(retriever)["library"].startswith(library)
    assert caplog.text.count("92 passages are indexed on disk (tantivy)") == 1
    async with open_retriever("bm25", POOL[1:]) as retriever:
        assert facts_of(retriever)["library"].startswith("bm25s")


async def test_without_tantivy_a_large_pool_is_indexed_in_memory_and_a_line_says_which_extra(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bm25, "_MANY", len(POOL))
    monkeypatch.setitem(sys.modules, "tantivy", None)
    monkeypatch.setattr(bm25, "has_tantivy", lambda: False)
    async with open_retriever("bm25", POOL) as retriever:
        assert facts_of(retriever)["library"].startswith("bm25s")
    assert "pip install 'ragstone[tantivy]'" in caplog.text
    with pytest.raises(MissingExtra, match=r"pip install 'ragstone\[tantivy\]'"):
        await found("bm25(index=disk)", POOL)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bm25(index=tape)", "index=tape should be one of auto, memory, disk"),
        ("bm25(index=disk,k1=0.9)", "the index on disk has k1=1.2 and b=0.75"),
    ],
)
async def test_what_the_index_on_disk_cannot_do_is_refused(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        await found(name, POOL)


async def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bm25-disk").write_text("a file")
    with pytest.raises(StorageError, match="the index cannot be written"):
        await found("bm25(index=disk)", POOL, tmp_path)


async def test_two_builders_of_one_index_build_it_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    started, may_end, built = asyncio.Event(), asyncio.Event(), []

    async def build(folder: Path) -> None:
        started.set()
        await may_end.wait()
        built.append(folder)

    async def opened() -> Path:
        async with kept_index(tmp_path, "key", build, lambda _: True) as folder:
            return folder

    first = asyncio.create_task(opened())
    await started.wait()
    second = asyncio.create_task(opened())
    await until(lambda: "waiting for it" in caplog.text)
    may_end.set()
    assert await first == await second == tmp_path / "key"
    assert len(built) == 1


_BUILD = """
import asyncio, sys
from pathlib import Path
from ragstone.retrieval.bm25_disk import Source, _build
from ragstone.retrieval.index_folder import kept_index
from ragstone.types import Passage
def terms(text):
    if text == "last":
        print("near the end", flush=True)
        sys.stdin.read()
    return [text]
async def main():
    async def build(folder):
        pool = [Passage(str(n), "last" if n == 1500 else "first") for n in range(1501)]
        await _build("bm25", folder, Source(pool, "", pool), lambda passage: terms(passage.text))
    async with kept_index(Path(sys.argv[1]), "key", build, lambda folder: True):
        pass
asyncio.run(main())
"""


def test_a_killed_build_is_no_index_and_leaves_nothing_behind(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _BUILD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b"near the end\n"
    os.kill(child.pid, signal.SIGKILL)
    until_elsewhere(lambda: child.poll() is not None)
    child.stdin.close()
    child.stdout.close()
    assert {path.name[:5] for path in tmp_path.iterdir()} == {".lock", ".new-"}

    async def build(folder: Path) -> None:
        _ = await asyncio.to_thread((folder / "whole").write_text, "")

    async def opened() -> Path:
        async with kept_index(tmp_path, "key", build, lambda _: True) as folder:
            return folder

    assert {path.name for path in asyncio.run(opened()).iterdir()} == {"whole", "sizes.json"}
    assert {path.name[:5] for path in tmp_path.iterdir()} == {".lock", "key"}


def test_a_build_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async def build(folder: Path) -> None:
        _ = await asyncio.to_thread((folder / "half").write_text, "")
        raise asyncio.CancelledError

    async def opened() -> None:
        async with kept_index(tmp_path, "key", build, lambda _: True):
            pass

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(opened())
    assert {path.name[:5] for path in tmp_path.iterdir()} == {".lock"}
