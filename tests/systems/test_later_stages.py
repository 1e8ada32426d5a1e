"""What comes after the first retriever of an application passes on the given passages, with the real frameworks: second
retrievers, rerankers, filters, joins, routers, graphs. 24 questions at once, each with passages of its own."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from bench.peers.environment import environment

import ragstone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

APPS = Path(__file__).parent / "apps" / "frameworks"
RERANKS = {
    "later_langchain": (
        "second retriever", "second store", "compressor alone", "graph", "graph with schemas", "function",
    ),
    "later_llamaindex": ("function",),
    "later_haystack": ("ranker", "meta field"),
    "later_dspy": (),
}  # fmt: skip
"""Applications whose reranker has a number of passages, by their modules."""

OFFLINE = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}


@pytest.fixture(scope="module", params=RERANKS)
def replied(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Mapping[str, Any]]:
    """A module, and what its applications did, by their names."""
    import numpy as np

    python, reason = environment("frameworks", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if python is None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(request.param)
    paths = [Path(ragstone.__file__).parents[1], Path(np.__file__).parents[1]]
    done = subprocess.run(
        [str(python), str(APPS / "later.py"), request.param],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder),
             "PATH": "/usr/bin", **OFFLINE},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return request.param, json.loads(done.stdout)


@pytest.fixture
def replies(replied: tuple[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return replied[1]


def stages(response: Any) -> dict[str, list[str]]:
    """The stages of an answer with the texts of their passages."""
    assert "error" not in response, response
    return {
        step["name"]: [part["text"] if isinstance(part, dict) else part for part in step["output"]]
        for step in response["steps"]
    }


def test_given_passages_are_in_every_prompt_once_and_in_their_order(replies: Mapping[str, Any]) -> None:
    for name, reply in replies.items():
        assert {"passages", "retrieve"} <= set(reply["accepts"]), name
        assert len(reply["given"]) == 24
        for item, response in enumerate(reply["given"]):
            texts = [f"Item {item} costs {item}000 crowns.", f"第{item}号商品没有第二个价格 (crowns)。"]
            assert response.get("answer", "").splitlines() == texts, (name, response)
            found = stages(response)
            assert found["fetch"] == texts, name
            assert found["prompt"] == texts, name


def test_closed_book_has_no_passage_even_where_a_reranker_needs_one(replies: Mapping[str, Any]) -> None:
    for name, reply in replies.items():
        assert reply["closed"].get("answer") in ("no price", "Empty Response"), (name, reply["closed"])
        assert "passages" not in reply["closed"], name


def test_what_ranks_the_output_of_a_retriever_is_a_stage_and_k_is_its_number(
    replied: tuple[str, Mapping[str, Any]],
) -> None:
    module, replies = replied
    for name in RERANKS[module]:
        reply = replies[name]
        asked = stages(reply["as_is"])
        assert len(asked["fetch"]) > len(asked["rerank"]), name
        assert asked["prompt"] == asked["rerank"], name
        for k in (1, 5):
            found = stages(reply["k"][str(k)])
            assert len(found["prompt"]) == k, name
            assert len(found["fetch"]) >= len(asked["fetch"]), name  # not less than before
