"""Where a name is taken, so is a place (`package.module:name`, `file.py:name`), and in Python the thing itself."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.test_docs import example

from ragstone import bench, evaluate
from ragstone.errors import UnknownName, UsageError
from ragstone.metrics import Tools, make_metrics
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.registry import is_place
from ragstone.retrieval import check_retriever, open_retriever
from ragstone.runs import open_run
from ragstone.systems import open_system
from ragstone.systems.template import PAPER
from ragstone.types import Completion, Passage, Query, Request, Response, Turn

OURS = """
import numpy as np
from ragstone.types import Completion, Response

class Model:
    id = "ours/model"
    async def generate(self, request, /):
        return Completion("seven")

class Embedder:
    id = "ours/embedder"
    async def embed(self, texts, /, *, kind):
        return np.ones((len(texts), 1), dtype=np.float32)

class System:
    id = "ours/system"
    spec = {"kind": "ours"}
    async def answer(self, query, /):
        return Response("It is 7.")

class Retriever:
    id = "ours/retriever"
    def __init__(self, pool):
        self.pool = pool
    async def retrieve(self, queries, /, *, k):
        return [list(self.pool)[-k:] for _ in queries]

system = System()
"""
SMALL: dict[str, Any] = {
    "fictional_size": 3,
    "limit": 1,
    "data_languages": "en",
    "abilities": "noise",
    "noise_ratios": 0,
}


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the user's, in the folder where the command runs."""
    (tmp_path / "ours_here.py").write_text(OURS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "ours_here", raising=False)
    return tmp_path / "ours_here.py"


@pytest.fixture(params=["module", "file"])
def where(request: pytest.FixtureRequest, ours: Path) -> str:
    return "ours_here" if request.param == "module" else str(ours)


async def test_a_model_and_an_embedder_are_found_at_their_places(where: str) -> None:
    async with open_model(f"{where}:Model") as model:
        assert (await model.generate(Request((Turn("user", "?"),)))).text == "seven"
        async with open_model(model) as same:
            assert same is model
    async with open_embedder(f"{where}:Embedder") as embedder:
        assert (await embedder.embed(["a", "b"], kind="query")).shape == (2, 1)
        async with open_embedder(embedder) as same_embedder:
            assert same_embedder is embedder


@pytest.mark.parametrize("name", ["System", "system"])
async def test_a_system_is_found_at_its_place(where: str, name: str) -> None:
    async with open_system(f"{where}:{name}", template=PAPER) as system:
        assert (await system.answer(Query("?"))).answer == "It is 7."


async def test_a_retriever_is_found_at_its_place(where: str) -> None:
    pool = [Passage("a", "one"), Passage("b", "two")]
    check_retriever(f"{where}:Retriever")
    async with open_retriever(f"{where}:Retriever", pool) as retriever:
        assert [[one.id for one in found] for found in await retriever.retrieve(["?"], k=1)] == [["b"]]
        async with open_retriever(retriever, pool) as same:
            assert same is retriever


def test_a_run_takes_what_is_at_a_place(where: str, tmp_path: Path) -> None:
    (tmp_path / "brevity_here.py").write_text(example("metric"), encoding="utf-8")
    metric = f"{tmp_path / 'brevity_here.py'}:Brevity"
    result = bench("rgb", model=f"{where}:system", metrics=metric, run=tmp_path / "a.run", **SMALL)
    with open_run(result.run) as run:
        (record,) = run.records()
    assert (record.system_id, record.scores["brevity"].value) == ("ours/system", 1.0)
    rows = [{"question": "q", "answer": "a", "reference": "a", "contexts": ["a"]}]
    scored = evaluate(rows, [metric, "semantic_similarity"], embedder=f"{where}:Embedder", run=tmp_path / "b.run")
    assert scored.scores[0]["semantic_similarity"] == pytest.approx(1.0)
    assert scored.scores[0]["brevity"] == 1.0


def test_a_place_that_holds_nothing_is_one_line(ours: Path) -> None:
    with pytest.raises(UnknownName, match=r"No metric named 'sytem'. Did you mean 'system'"):
        make_metrics([f"{ours}:sytem"], Tools())
    with pytest.raises(UsageError, match=r"The metric 'nowhere.py:x' cannot be loaded \(FileNotFoundError"):
        make_metrics(["nowhere.py:x"], Tools())
    assert not any(map(is_place, ("rgb", "openai/gpt-4o", "ollama/llama3:8b", "run", "hybrid(bm25,bm25)")))


class Judge:
    """A judge as an object: it cannot be named, and need not be."""

    id = "ours/judge"

    async def generate(self, request: Request, /) -> Completion:
        return Completion('{"verdict": "not addressed"}')


class Unit:
    id = "ours/unit"

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> "np.ndarray[Any, Any]":
        return np.ones((len(texts), 1), dtype=np.float32)


class Says:
    id, spec = "ours/says", {"kind": "ours"}

    async def answer(self, query: Query, /) -> Response:
        return Response("Nobody knows.")


def test_a_benchmark_takes_a_judge_an_embedder_and_a_system_that_are_objects(tmp_path: Path) -> None:
    options = SMALL | {"abilities": "rejection", "noise_ratios": None}
    result = bench(
        "rgb", model=Says(), judge=Judge(), embedder=Unit(), metrics=["semantic_similarity"], run=tmp_path / "a.run",
        model_options=ModelOptions(cache=None), **options,
    )  # fmt: skip
    with open_run(result.run) as run:
        (record,) = run.records()
        judge = run.meta["question"]["judge"]
    assert record.scores["rgb.judge.rejection"].value == 1.0
    assert record.scores["semantic_similarity"].value == pytest.approx(1.0)
    assert (judge["model"], judge["embedder"]) == ("ours/judge", "ours/unit")


def test_the_metric_of_the_contribution_guide_keeps_the_contract_of_all_metrics(tmp_path: Path) -> None:
    """As one file of another package, word for word: what every metric promises is tested of it, too."""
    root = Path(__file__).parents[2]
    (tmp_path / "their_brevity.py").write_text(example("metric"), encoding="utf-8")
    told = tmp_path / "their_brevity-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: their-brevity\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[ragstone.metrics]\nbrevity = their_brevity:Brevity\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/metrics/test_contract.py", "-k",
               "brevity"]  # fmt: skip
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "passed" in done.stdout
