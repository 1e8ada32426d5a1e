"""Qdrant, Chroma, Milvus Lite and PostgreSQL with pgvector, for real, in an environment of their own that is made at
the first run: the pool in a temporary folder and in one that stays, a collection of the user's, and what cannot be."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
import pytest
from bench.peers.environment import environment

import ragstone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

APP = Path(__file__).parent / "apps" / "engines.py"
ENGINES = ("qdrant", "chroma", "milvus", "pgvector")


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the engines."""
    found, reason = environment("engines", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if found is None:
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module", params=ENGINES)
def outcomes(request: pytest.FixtureRequest, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the retrievers of one engine found and refused."""
    folder = tmp_path_factory.mktemp(request.param)
    paths = [Path(ragstone.__file__).parents[1], Path(msgspec.__file__).parents[1]]
    done = subprocess.run(
        [str(python), str(APP), request.param, str(folder)], cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder),
             "PATH": "/usr/sbin:/usr/bin", "XDG_RUNTIME_DIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr  # pymilvus logs each error with its traceback
    return {"engine": request.param, **json.loads(done.stdout)}


def ids(outcome: Any) -> list[list[str]]:
    assert isinstance(outcome, dict), outcome
    return [[item[0] for item in found] for found in outcome["found"]]


def test_the_pool_is_filled_once_and_found(outcomes: Any) -> None:
    for name in ("pool", "again", *(["temporary"] if "temporary" in outcomes else [])):
        assert ids(outcomes[name]) == [["p/1", "p/2"], ["段落", "p/2"], []], name
        first = outcomes[name]["found"][0][0]
        assert first[:4] == ["p/1", "ships sail the sea", "Sea", True]
        assert first[4] == pytest.approx(0.7772376, abs=1e-5)  # the cosine of the vectors
        assert outcomes[name]["facts"]["passages"] == 3
    assert outcomes["embedded again"] == 0


def test_a_collection_of_the_user_s_is_searched_by_its_fields(outcomes: Any) -> None:
    own = outcomes["own"]
    # A text that the pool has, too, is the pool's passage; others are given with their text and title.
    assert ids(own) == [["p/1", "k2"], ["k3", "k2"], ["k2", "p/1"], []]
    assert own["found"][1][0][:4] == ["k3", "火车火车", "t3", None]
    scores = [item[4] for item in own["found"][1]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1.0, abs=1e-4)  # a similarity, of distances, too
    assert own["facts"]["collection"] == "docs"


def test_a_collection_is_listed_without_an_embedder(outcomes: Any) -> None:
    assert outcomes["listed"] == [
        ["k1", "ships sail the sea", "t1"], ["k2", "quick zebras jump", "t2"], ["k3", "火车火车", "t3"]
    ]  # fmt: skip
    assert "there is no collection 'other'. There is: " in outcomes["not listed"]


def test_what_cannot_be_is_one_line(outcomes: Any) -> None:
    says = {
        "no text": "is in the collection but not in the pool, and it has no text",
        "missing": "there is no collection 'other'. There is: ",
        "dimension": "vectors of 29 dimensions, and the embedder's have 2",
        "vector": {"qdrant": "name one with vector=NAME"}.get(outcomes["engine"], "'none'"),
    }
    assert outcomes["unreachable"].startswith("Unreachable: ")
    assert "no connection (" in outcomes["unreachable"]
    assert "\n" not in outcomes["unreachable"]
    if outcomes["engine"] == "chroma":  # its vectors have no name
        del says["vector"]
    for name, words in says.items():
        assert words in outcomes[name], outcomes
        assert outcomes[name].startswith("DataError" if name == "no text" else "UsageError")
        assert "\n" not in outcomes[name]
