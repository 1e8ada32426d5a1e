"""More metrics of a benchmark by name, with a judge and without one."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.api.test_doors import Unit

from ragstone import bench
from ragstone.cli import run as cli
from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.runs import open_run

SMALL: dict[str, Any] = {
    "fictional_size": 3, "limit": 1, "data_languages": ["en"], "abilities": ["noise"], "noise_ratios": [0.0],
}  # fmt: skip


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """A judge that finds one claim, in the first of five passages."""
    claim = {"id": 1, "supported_by": [1], "contradicted_by": [], "quote": ""}
    decomposed = {
        "answer_claims": [{"sentence": 1, "text": "a", "relevant": True}],
        "reference_claims": [{"text": "b"}],
        "questions": [],
        "noncommittal": False,
    }
    verified = {
        "answer_claims": [{**claim, "in_reference": True}],
        "reference_claims": [{**claim, "in_answer": True}],
        "passages": [{"id": place, "relevant": place < 3, "useful": place < 3} for place in range(1, 6)],
    }
    path = tmp_path / "judge.jsonl"
    lines = [
        {"contains": "You take apart an answer", "text": json.dumps(decomposed)},
        {"contains": "You check claims against passages", "text": json.dumps(verified)},
        {"default": "not addressed"},
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return f"scripted/{path}"


def test_metrics_that_need_a_judge_are_scored_by_the_one_that_was_named(tmp_path: Path, judge: str) -> None:
    names = ["triad", "ragchecker.precision", "token_f1"]
    result = bench(
        "rgb", model="local/extractive", judge=judge, metrics=names, run=tmp_path / "a.run",
        model_options=ModelOptions(cache=None), **SMALL,
    )  # fmt: skip
    assert result.outcome.complete
    with open_run(result.run) as run:
        (record,) = run.records()
        values = {name: record.scores[name].value for name in ("groundedness", "context_relevance", "answer_relevance")}
        assert values == {"groundedness": 1.0, "context_relevance": 2 / 5, "answer_relevance": 1.0}
        assert record.scores["ragchecker.precision"].value == 1.0
        assert record.scores["token_f1"].status == "scored"
        assert run.meta["question"]["judge"]["protocol"] == "matrix"


def test_without_a_judge_they_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"faithfulness needs a judge: judge=.PROVIDER/MODEL"):
        bench("rgb", model="local/extractive", metrics=["faithfulness"], run=tmp_path / "a.run", **SMALL)
    assert not (tmp_path / "a.run").exists()


def test_a_metric_that_needs_an_embedder_gets_one(tmp_path: Path, judge: str) -> None:
    result = bench(
        "rgb", model="local/extractive", judge=judge, embedder=Unit(), metrics=["answer_relevancy"],
        run=tmp_path / "a.run", model_options=ModelOptions(cache=None), **SMALL,
    )  # fmt: skip
    with open_run(result.run) as run:
        (record,) = run.records()
        assert run.meta["question"]["judge"]["embedder"] == "ours/unit"
    assert record.scores["answer_relevancy"].status in ("scored", "not_applicable")


def test_the_command_line_takes_what_such_metrics_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["bench", "rgb", "--model", "local/extractive", "--fictional-size", "2", "--limit", "1", "--dry-run"]
    rubric = ["--rubric", "toxicity", "--verify", "separate", "--embedder", "local/e5-small"]
    assert cli([*asked, "--judge", "openai/gpt-4o-mini", "--metrics", "answer_relevancy", *rubric]) == 0
    assert "cases" in capsys.readouterr().out
    assert cli([*asked, "--verify", "separate"]) == 2
    assert "--verify separate needs a judge" in capsys.readouterr().err
