"""RAGChecker's verdicts give the figures that its program publishes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told

from ragstone.benchmarks.recorded.ragchecker import figures
from ragstone.errors import DataError

# The verdicts of RAGChecker's example (amazon-science/RAGChecker, examples/checking_outputs.json, two results; E:
# entailment, N: neutral, C: contradiction), without its texts, and what its README says of them.
EXAMPLE = [
    {
        "answer2response": "NEEEEEEEENC",
        "response2answer": "EEEEEECNEENNNNNENNNNEE",
        "retrieved2response": "NENN NNNN NNNN NNNN NNNN NNNN NENN NNNN ENNE NNNE NNNN",
        "retrieved2answer": "NENN NNNN NNNN ENNN EENN ENNE CCNN" + " NNNN" * 14 + " NENN",
    },
    {
        "answer2response": "NEEEE",
        "response2answer": "EECENEEE",
        "retrieved2response": "NEN NEE CEE ENE CEE",
        "retrieved2answer": "NEN NEE NEN CEE NNE ENE EEE NEE",
    },
]
PUBLISHED = {
    "overall": {"precision": 76.4, "recall": 62.5, "f1": 68.3},
    "retriever": {"claim_recall": 61.4, "context_precision": 87.5},
    "generator": {
        "context_utilization": 87.5, "noise_sensitivity_in_relevant": 19.1, "noise_sensitivity_in_irrelevant": 0.0,
        "hallucination": 4.5, "self_knowledge": 27.3, "faithfulness": 68.2,
    },
}  # fmt: skip
VERDICTS = {"E": "Entailment", "N": "Neutral", "C": "Contradiction"}


def spelled(result: dict[str, str]) -> dict[str, Any]:
    flat = {key: [VERDICTS[letter] for letter in result[key]] for key in result if not key.startswith("retrieved")}
    rows = {key: [[VERDICTS[letter] for letter in row] for row in result[key].split()] for key in result.keys() - flat}
    return {"query": "?", "gt_answer": "x", "response": "y", "retrieved_context": [], **flat, **rows}


def written(tmp_path: Path, results: list[Any]) -> Path:
    path = tmp_path / "checking_outputs.json"
    path.write_text(json.dumps({"results": results}), encoding="utf-8")
    return path


def test_its_example_gives_its_published_figures(tmp_path: Path, ragstone: Callable[..., Told]) -> None:
    path = written(tmp_path, [spelled(result) for result in EXAMPLE])
    told = ragstone("score", "ragchecker", path, "--json")
    assert told.document == [{"file": str(path), "results": 2, "metrics": PUBLISHED}]
    lines = ragstone("score", "ragchecker", path).out
    assert "2 results" in lines
    assert "    precision: 76.4" in lines


def test_where_there_is_nothing_to_divide_by_it_is_0_as_there(tmp_path: Path) -> None:
    bare: dict[str, Any] = {
        "answer2response": [],
        "response2answer": [],
        "retrieved2response": [],
        "retrieved2answer": [],
    }
    found = figures(written(tmp_path, [bare]))["metrics"]
    assert {value for group in found.values() for value in group.values()} == {0.0}
    only = {"answer2response": ["Entailment", "Neutral"], "response2answer": []}
    assert figures(written(tmp_path, [only]))["metrics"] == {"overall": {"precision": 50.0, "recall": 0.0, "f1": 0.0}}
    silent = {"answer2response": [], "response2answer": ["Entailment", "Neutral"]}
    assert figures(written(tmp_path, [silent]))["metrics"]["overall"] == {"precision": 0.0, "recall": 50.0, "f1": 0.0}


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ([], "has no list of results"),
        ([{"query": "?", "response": "y"}], "checking outputs, not its inputs"),
        ([{"answer2response": ["Yes"]}], "'Yes' is no verdict; expected Entailment, Neutral, Contradiction"),
        ([{"retrieved2response": ["Neutral"]}], "not a list of verdicts for each claim"),
    ],
)
def test_what_cannot_be_read_is_named(results: list[Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=told):
        figures(written(tmp_path, results))
