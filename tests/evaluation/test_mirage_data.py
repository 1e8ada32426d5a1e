"""Which data MIRAGE takes for the authors' own: the paper's rows stand beside nothing else."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.factory import make
from tests.datasets.test_pools import folder

from ragstone.benchmarks.mirage.data import load_pool
from ragstone.benchmarks.mirage.retrieval_pass import RetrievalPass
from ragstone.engine.execute import RunOptions, Shell
from ragstone.errors import Unfinished
from ragstone.evaluation.bench import plan_bench, run_bench

DATASET = Path(__file__).parents[3] / "shared" / "data" / "mirage" / "dataset.json"


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    if not DATASET.is_file():
        pytest.skip("the authors' questions are not beside the project")
    found: list[dict[str, Any]] = json.loads(DATASET.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(("changed", "official"), [("", True), ("chunk", False), ("question", False)])
def test_only_files_with_the_known_bytes_and_all_rows_are_official(
    questions: list[dict[str, Any]], tmp_path: Path, changed: str, official: bool
) -> None:
    chunks = [
        {"mapped_id": one["query_id"], "doc_name": "", "doc_chunk": "x", "support": int(n < one["num_doc_labels"])}
        for one in questions
        for n in range(5)
    ]
    oracle = {one["query_id"]: {"doc_chunk": "x"} for one in questions}
    place = folder(tmp_path, chunks=chunks[:-1] if changed == "chunk" else chunks, oracle=oracle)
    text = DATASET.read_bytes()
    (place / "dataset.json").write_bytes(text + b" " if changed == "question" else text)
    pool = load_pool(place)
    assert (pool.name == "official", len(pool.questions)) == (official, 7560)
    assert bool(pool.license) == official
    assert bool(pool.doubts) == (changed == "chunk")


def test_a_small_pool_is_no_official_one(tmp_path: Path) -> None:
    made = make("mirage", data=folder(tmp_path / "mine"), settings=("base",))
    assert made.options["data_name"] == "mine"


async def test_a_stop_ends_retrieval_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = asyncio.Event()

    async def forever(*_: object, **__: object) -> None:
        stop.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(RetrievalPass, "run", forever)
    options = {"fictional_size": 1, "retrievers": "bm25"}
    plan = await plan_bench("mirage", options, models=["local/extractive"])
    with pytest.raises(Unfinished, match="Vectors and replies are cached: run the same command again to resume"):
        await run_bench(plan, RunOptions(run=tmp_path / "s.run", shell=Shell(stop=stop)))
    assert not (tmp_path / "s.run").exists()
