"""Interventions inside applications of the real frameworks, which were not written for them: given passages, another
number of passages, a search alone. 64 questions at once, each with passages of its own."""

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
EXAMPLES = Path(__file__).parents[2] / "examples"
ALL = {"k", "passages", "retrieve"}
FULL = {
    "langchain_app.py:chain": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
    "langchain_app.py:rag": (ALL | {"history"}, {1: ["3"], 5: ["3", "4"]}),  # it prompts with two at most
    "langchain_app.py:mapped": (ALL, {1: ["4"], 5: ["4", "3"]}),  # its reranker returns two
    "langchain_app.py:threads": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
    "llamaindex_app.py:engine": (ALL, {1: ["3"], 5: ["7", "6", "5", "4", "3"]}),
    "llamaindex_app.py:streaming": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
    "haystack_app.py:pipeline": (ALL, {1: ["3"], 5: ["7", "6", "5", "4", "3"]}),
    "haystack_app.py:chat": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
    "haystack_app.py:embedded": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
    "dspy_app.py:Searching": (ALL, {1: ["3"], 5: ["3", "4", "5", "6", "7"]}),
}
# With the frameworks' own stores: what they find is theirs, and how much of it is k.
STORES = {
    "langchain_app.py:make_store_chain": 4,
    "llamaindex_app.py:make_index_engine": 2,
    "haystack_app.py:joining": 10,
    "dspy_app.py:Embedded": 3,
}
OTHERS = ["langchain_app.py:make_agent", "langchain_app.py:undecided", "langchain_app.py:fake", "dspy_app.py:Rag"]
OFFLINE = {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the applications did, by their names."""
    import numpy as np

    python, reason = environment("frameworks", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if python is None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("interventions")
    paths = [Path(ragstone.__file__).parents[1], Path(np.__file__).parents[1]]
    done = subprocess.run(
        [str(python), str(APPS / "intervene.py"), *(str(APPS / name) for name in (*FULL, *STORES, *OTHERS)),
         *(str(EXAMPLES / name) for name in ("langchain_app/app.py:chain", "llamaindex_app/app.py:engine"))],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder),
             "PATH": "/usr/bin", **OFFLINE},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return {Path(place).parent.name + "/" + Path(place).name: value for place, value in json.loads(done.stdout).items()}


def stages(response: Any) -> dict[str, list[str]]:
    """The stages of an answer with the ids of their passages, or the numbers of the items that they are about."""
    return {
        step["name"]: [named(part) if isinstance(part, dict) else part for part in step["output"]]
        for step in response.get("steps", ())
    }


def named(passage: Mapping[str, Any]) -> str:
    return str(passage["id"]) if passage["id"].startswith("given-") else str(passage["text"]).split()[1]


@pytest.mark.parametrize("system", FULL)
def test_each_of_many_questions_is_answered_from_its_own_given_passages(
    replies: Mapping[str, Any], system: str
) -> None:
    reply = replies[f"frameworks/{system}"]
    assert set(reply["accepts"]) == FULL[system][0]
    assert len(reply["given"]) == 64
    for item, response in enumerate(reply["given"]):
        assert f"Item {item} costs {item}000 crowns." in response["answer"], response
        names = [f"given-{item}-0", f"given-{item}-1"]
        assert [passage["id"] for passage in response["passages"]] == names
        assert not any("relevant" in passage for passage in response["passages"])
        found = stages(response)
        assert found.get("prompt", names) == found["fetch"] == names


@pytest.mark.parametrize("system", FULL)
def test_closed_book_has_no_passages_and_no_price(replies: Mapping[str, Any], system: str) -> None:
    response = replies[f"frameworks/{system}"]["closed"]
    assert "error" not in response, response
    assert "crowns" not in response["answer"]
    assert "passages" not in response


@pytest.mark.parametrize("system", FULL)
def test_k_changes_what_reaches_the_prompt_and_the_application_stays_as_it_is(
    replies: Mapping[str, Any], system: str
) -> None:
    reply = replies[f"frameworks/{system}"]
    for k, expected in FULL[system][1].items():
        found = stages(reply["k"][str(k)])
        assert found.get("prompt", found["fetch"]) == expected
    assert stages(reply["as_is"])["fetch"][:3] == ["3", "4", "5"]  # asked first and last, with the same objects


@pytest.mark.parametrize("system", FULL)
def test_a_search_uses_the_question_as_it_stands_and_answers_nothing(replies: Mapping[str, Any], system: str) -> None:
    reply = replies[f"frameworks/{system}"]
    for response, count in ((reply["search"], 3), (reply["search_k"], 6)):
        assert response.get("answer") == ""
        assert response["finish_reason"] == "no_answer"
        found = stages(response)
        assert "rewrite" not in found
        assert found["fetch"] == [str(3 + step) for step in range(count)]


@pytest.mark.parametrize("system", STORES)
def test_the_stores_of_the_frameworks_take_every_intervention(replies: Mapping[str, Any], system: str) -> None:
    reply = replies[f"frameworks/{system}"]
    assert set(reply["accepts"]) == ALL
    for item, response in enumerate(reply["given"]):
        assert f"Item {item} costs {item}000 crowns." in response["answer"], response
        assert [passage["id"] for passage in response["passages"]] == [f"given-{item}-0", f"given-{item}-1"]
    assert "crowns" not in reply["closed"]["answer"]
    own = len(stages(reply["as_is"])["fetch"])
    assert own == STORES[system]
    for response, count in ((reply["k"]["1"], 1), (reply["k"]["5"], 5), (reply["search_k"], 6), (reply["search"], own)):
        found = stages(response)["fetch"]
        assert (found[0], len(found)) == ("3", count)


def test_a_retriever_that_is_made_for_each_question_can_be_given_passages_but_not_asked_alone(
    replies: Mapping[str, Any],
) -> None:
    reply = replies["frameworks/langchain_app.py:make_agent"]
    assert reply["accepts"] == ["history", "passages"]
    for item, response in enumerate(reply["given"]):
        assert response["answer"].startswith(f"Item {item} costs {item}000 crowns.")
    assert reply["search"]["kind"] == "retrieves_no_passages"
    assert reply["k"]["1"]["kind"] == "takes_no_k"


def test_given_passages_that_are_not_looked_at_are_a_named_outcome(replies: Mapping[str, Any]) -> None:
    reply = replies["frameworks/langchain_app.py:undecided"]
    assert {response["kind"] for response in reply["given"]} == {"ignored_passages"}
    assert reply["as_is"]["answer"] == "It depends."


@pytest.mark.parametrize("system", ["langchain_app.py:fake", "dspy_app.py:Rag"])
def test_an_application_without_a_retriever_takes_no_passages(replies: Mapping[str, Any], system: str) -> None:
    reply = replies[f"frameworks/{system}"]
    assert reply["accepts"] == []
    assert {response["kind"] for response in reply["given"]} == {"takes_no_passages"}


@pytest.mark.parametrize("system", ["langchain_app/app.py:chain", "llamaindex_app/app.py:engine"])
def test_the_example_applications_allow_every_intervention(replies: Mapping[str, Any], system: str) -> None:
    reply = replies[system]
    assert reply["accepts"] == ["k", "passages", "retrieve"]
    for item, response in enumerate(reply["given"]):
        assert response["answer"].startswith(f"Item {item} costs {item}000 crowns."), response
    assert "error" not in reply["closed"]
    assert [len(stages(reply["k"][k])["fetch"]) for k in ("1", "5")] == [1, 5]
    assert len(reply["search_k"]["passages"]) == 6
