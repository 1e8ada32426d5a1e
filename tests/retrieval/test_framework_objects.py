"""Retrievers, embedders and rerankers of LangChain, LlamaIndex and Haystack with the real packages, named by their file
and as live objects, in the environment of tests/systems/test_frameworks.py."""

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

APP = Path(__file__).parent / "apps" / "framework_objects.py"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each object found for "ships sea run" and "trains rails", of which two passages each are wanted."""
    python, reason = environment("frameworks", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if python is None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("objects")
    paths = [Path(ragstone.__file__).parents[1], Path(msgspec.__file__).parents[1]]
    quiet = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [str(python), str(APP)], cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder),
             "PATH": "/usr/bin", **quiet},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # nothing else was printed there


def ids(lists: Any) -> list[list[str]]:
    assert isinstance(lists, list), lists
    return [[key for key, _ in passages] for passages in lists]


@pytest.mark.parametrize(
    "name",
    [
        "langchain_store", "langchain_store_retriever", "langchain_mmr_retriever", "langchain_retriever",
        "llamaindex_index", "llamaindex_retriever", "langchain_embeddings", "llamaindex_embedding",
        "live langchain_store", "live llamaindex_index",
    ],
)  # fmt: skip
def test_it_gives_as_many_of_the_pool_s_passages_as_are_asked_for(found: Any, name: str) -> None:
    assert ids(found[name]) == [["p/1", "p/2"], ["p/2", "p/1"]]
    assert found[name][0][0] == ["p/1", "title of p/1"]  # LangChain's documents have no ids: their text tells


@pytest.mark.parametrize(
    "name",
    ["langchain_store", "langchain_store_retriever", "langchain_mmr_retriever", "llamaindex_index",
     "llamaindex_retriever", "haystack_retriever"],
)  # fmt: skip
def test_what_a_store_or_retriever_has_is_listed(found: Any, name: str) -> None:
    assert sorted(found[f"listed {name}"]) == sorted(
        ["ships sail the sea", "trains run on rails", "火车在铁路上", "quick zebras jump"]
    )


def test_what_has_no_list_of_its_passages_is_told(found: Any) -> None:
    assert "cannot be listed: it is a Words. Name a folder" in found["listed langchain_retriever"]


def test_a_retriever_of_haystack_is_asked_with_its_query(found: Any) -> None:
    assert ids(found["haystack_retriever"])[1] == ["p/2"]
    assert ids(found["haystack_retriever"])[0][0] == "p/1"
    assert "InMemoryEmbeddingRetriever takes no `query`" in found["haystack_embedding_retriever"]


@pytest.mark.parametrize("name", ["langchain_compressor", "llamaindex_postprocessor", "haystack_ranker"])
def test_a_reranker_gives_its_order(found: Any, name: str) -> None:
    assert ids(found[name])[0] == ["p/2", "p/1"]  # the longest first; BM25 has them the other way round
