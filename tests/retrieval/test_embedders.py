"""What was embedded before an interruption is kept, and nothing is embedded twice."""

import asyncio
import contextlib
import logging
import signal
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.clock import Clock
from tests.retrieval.words import WordEmbedder

from ragstone.errors import BadReply, Unreachable
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.retrieval import embedders
from ragstone.retrieval.embedders import embed_all

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [f"text {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300)]


async def test_texts_come_back_in_their_order_each_embedded_once() -> None:
    embedder = WordEmbedder()
    matrix = await embed_all(embedder, [*TEXTS, *reversed(TEXTS)], kind="passage", batch=64)
    assert (matrix[: len(TEXTS)] == await WordEmbedder().embed(TEXTS, kind="passage")).all()
    assert (matrix[len(TEXTS) :] == matrix[: len(TEXTS)][::-1]).all()
    assert matrix.dtype == np.float32
    assert [len(texts) for _, texts in embedder.asked] == [64, 64, 64, 64, 44]
    assert (await embed_all(embedder, [], kind="query")).shape == (0, 0)


async def test_an_interrupted_embedding_goes_on_where_it_was(tmp_path: Path) -> None:
    first = WordEmbedder(fail_at=3, error=Unreachable("the endpoint went away"))
    async with CachedEmbedder(first, tmp_path, identity={"model": "words"}, kinds=True) as cached:
        with pytest.raises(Unreachable, match="went away"):
            await embed_all(cached, TEXTS, kind="passage", batch=20)
    kept = sum(len(texts) for _, texts in first.asked) - 20
    assert kept >= 60
    second = WordEmbedder()
    async with CachedEmbedder(second, tmp_path, identity={"model": "words"}, kinds=True) as cached:
        matrix = await embed_all(cached, TEXTS, kind="passage", batch=20)
    assert sum(len(texts) for _, texts in second.asked) == len(TEXTS) - kept
    assert (matrix == await WordEmbedder().embed(TEXTS, kind="passage")).all()


async def test_a_cancelled_embedding_keeps_the_batches_that_had_come(tmp_path: Path) -> None:
    stuck = asyncio.Event()

    class Slow(WordEmbedder):
        async def embed(self, texts, /, *, kind):  # type: ignore[no-untyped-def]
            if len(self.asked) >= 5:
                self.asked.append((kind, list(texts)))
                if len(self.asked) == 9:
                    stuck.set()
                await asyncio.Event().wait()
            return await super().embed(texts, kind=kind)

    first = Slow()
    async with CachedEmbedder(first, tmp_path, identity={"model": "words"}, kinds=True) as cached:
        task = asyncio.create_task(embed_all(cached, TEXTS, kind="passage", batch=20))
        await stuck.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    second = WordEmbedder()
    async with CachedEmbedder(second, tmp_path, identity={"model": "words"}, kinds=True) as cached:
        await embed_all(cached, TEXTS, kind="passage", batch=20)
    assert sum(len(texts) for _, texts in second.asked) == len(TEXTS) - 5 * 20


KILLED = """
import asyncio, os, signal, sqlite3, sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from tests.retrieval.test_embedders import TEXTS
from tests.retrieval.words import WordEmbedder
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.retrieval.embedders import embed_all

folder = Path(sys.argv[1])

class Killed(WordEmbedder):
    async def embed(self, texts, /, *, kind):
        if len(self.asked) == 6:
            file = sqlite3.connect(folder / "vectors-2.sqlite")
            while file.execute("SELECT count(*) FROM vectors").fetchone()[0] < 40:
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts, kind=kind)

async def main():
    async with CachedEmbedder(Killed(), folder, identity={"model": "words"}, kinds=True) as cached:
        await embed_all(cached, TEXTS, kind="passage", batch=20)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
async def test_an_embedding_that_was_killed_goes_on_with_what_it_had_kept(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(tmp_path), cwd=ROOT)
    assert await process.wait() == -signal.SIGKILL
    with contextlib.closing(sqlite3.connect(tmp_path / "vectors-2.sqlite")) as file:
        (kept,) = file.execute("SELECT count(*) FROM vectors").fetchone()
    assert kept >= 40
    second = WordEmbedder()
    async with CachedEmbedder(second, tmp_path, identity={"model": "words"}, kinds=True) as cached:
        matrix = await embed_all(cached, TEXTS, kind="passage", batch=20)
    assert sum(len(texts) for _, texts in second.asked) == len(TEXTS) - kept
    assert (matrix == await WordEmbedder().embed(TEXTS, kind="passage")).all()


async def test_vectors_of_several_lengths_are_refused() -> None:
    class Changing(WordEmbedder):
        async def embed(self, texts, /, *, kind):  # type: ignore[no-untyped-def]
            self._dimensions += 1
            return await super().embed(texts, kind=kind)

    with pytest.raises(BadReply, match="different dimensions"):
        await embed_all(Changing(), TEXTS, kind="passage")


async def test_long_work_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(embedders, "_LOG_EVERY", 0.0)
    with caplog.at_level(logging.INFO):
        await embed_all(WordEmbedder(), TEXTS, kind="passage", batch=100)
    assert len(caplog.messages) == 2
    assert caplog.messages[0].startswith("test/words: embedding 300 texts (passage): 100 done, ")


async def test_the_time_left_of_an_embedding_ignores_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()

    class Slow(WordEmbedder):
        id = "local/words"  # one batch at a time

        async def embed(self, texts, /, *, kind):  # type: ignore[no-untyped-def]
            clock.now += 10.0 * len(texts)
            return await super().embed(texts, kind=kind)

    async with CachedEmbedder(Slow(), tmp_path, identity={}, kinds=True) as cached:
        await embed_all(cached, TEXTS[:200], kind="passage")
        monkeypatch.setattr(embedders, "_clock", clock)
        monkeypatch.setattr(embedders, "_LOG_EVERY", 0.0)
        with caplog.at_level(logging.INFO):
            await embed_all(cached, TEXTS, kind="passage", batch=50)
    assert [message.partition(": ")[2].partition(": ")[2] for message in caplog.messages] == [
        "250 done, 0.1 a second, 8 min left"  # 50 texts at 10 s; nothing is known before
    ]


async def test_what_runs_here_is_asked_little_at_a_time_so_that_little_is_lost_and_progress_is_known() -> None:
    class Local(WordEmbedder):
        id = "local/words"
        most = under_way = 0

        async def embed(self, texts, /, *, kind):  # type: ignore[no-untyped-def]
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1
            return await super().embed(texts, kind=kind)

    embedder = Local()
    await embed_all(embedder, TEXTS[:40], kind="passage")
    assert ([len(texts) for _, texts in embedder.asked], embedder.most) == ([16, 16, 8], 1)


@pytest.mark.parametrize(
    "matrix",
    [
        np.full((2, 3), np.nan),
        np.full((2, 3), np.inf),
        np.ones((1, 3)),
        np.ones((3, 3)),
        np.ones(2),
        np.ones((2, 1, 3)),
    ],
)
async def test_vectors_of_no_number_or_of_another_shape_end_a_search(matrix: Any) -> None:
    class Odd:
        id = "own/odd"

        async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
            return matrix

    with pytest.raises(BadReply, match="own/odd: it should give 2 vectors of finite numbers"):
        await embed_all(Odd(), ["a", "b"], kind="query")
