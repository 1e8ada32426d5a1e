"""`ragstone metrics` tells what there is to know of each metric."""

import inspect
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.cli.tools import Told

from ragstone.metrics import GROUPS, METRICS
from ragstone.metrics.faithfulness import Faithfulness
from ragstone.metrics.rank.measures import Ndcg

Ragstone: TypeAlias = Callable[..., Told]


def test_every_metric_is_listed_once_with_its_range_and_its_needs(ragstone: Ragstone) -> None:
    out = ragstone("metrics").out
    lines = [line.strip() for line in out.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    listed = [name for line in lines for name in line.split(", ")]
    assert sorted(listed) == sorted(METRICS.names())
    assert "  ndcg, ndcg@k\n" in out
    assert out.count("Range") == 0
    assert out.count("Needs the answer, passages; a judge.") >= 3
    assert out.index("five: ") < out.index("  faithfulness\n") < out.index("rank: ") < out.index("  refusal\n")


@pytest.mark.parametrize(("language", "said"), [("en", "Needs nothing."), ("zh", "。不需要其他数据。")])
def test_a_metric_that_needs_nothing_says_so_in_a_sentence(
    ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch, language: str, said: str
) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
    assert said in ragstone("metrics").out


def test_a_group_lists_its_metrics(ragstone: Ragstone) -> None:
    assert set(ragstone("metrics", "triad", "--json").document) == set(GROUPS["triad"])
    out = ragstone("metrics", "rank").out
    assert out.startswith("rank: ")
    assert "  hit, hit@k\n" in out
    assert "faithfulness" not in out


def test_a_name_tells_all_of_a_metric(ragstone: Ragstone) -> None:
    assert ragstone("metrics", "faithfulness").out == f"{inspect.getdoc(Faithfulness)}\n"
    for name in ("ndcg", "ndcg@k", "ndcg@10"):
        assert ragstone("metrics", name).out == f"{inspect.getdoc(Ndcg)}\n"


def test_as_json_a_program_learns_what_a_metric_needs(ragstone: Ragstone) -> None:
    document = ragstone("metrics", "--json").document
    assert list(document) == list(METRICS.names())
    assert document["answer_correctness"] == {
        "name": "answer_correctness",
        "about": "how far the answer's claims are the reference's, and how close the two texts are",
        "groups": ["five"],
        "needs": ["answer", "references"],
        "judge": True,
        "embedder": True,
        "range": "0 to 1, higher is better",
        "better": "higher",
        "version": 3,
    }
    assert document["rgb.judge.rejection"]["judge"] is True
    assert document["ragchecker.hallucination"]["better"] == "lower"
    assert document["ndcg@k"]["needs"] == ["passages", "labels"]
    one = ragstone("metrics", "ndcg@10", "--json").document
    assert (one["name"], one["groups"], one["doc"]) == ("ndcg@10", ["rank"], inspect.getdoc(Ndcg))
    assert all(told["about"] and told["range"] for told in document.values())


def test_an_unknown_metric_is_refused_in_one_line(ragstone: Ragstone) -> None:
    told = ragstone("metrics", "faithfullness")
    assert (told.code, told.out) == (2, "")
    assert told.err == (
        "ragstone: No metric named 'faithfullness'. Did you mean 'faithfulness'? `ragstone metrics` lists them.\n"
    )
