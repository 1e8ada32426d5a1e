"""Wrong values from Python are told in a line, and never taken for others in silence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.test_evaluate import rows

from ragstone import api, evaluate
from ragstone.errors import UsageError

compare: Callable[..., Any] = api.compare
check_gates: Callable[..., Any] = api.check_gates  # not held to their types, as a caller's script is not


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"limit": -1}, "limit=-1"),
        ({"limit": 0}, "limit=0"),
        ({"sample": 0}, "sample=0"),
        ({"metrics": [None]}, "None is no metric"),
        ({"metrics": [7]}, "7 is no metric"),
        ({"judge": 7, "metrics": "faithfulness"}, "7 is not a model"),
        ({"embedder": 7, "metrics": "semantic_similarity"}, "`embed`"),
        ({"group_by": "colour"}, "`group_by` colour"),
    ],
)
def test_a_wrong_value_of_evaluate_is_told(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        evaluate(rows(), run=tmp_path / "a.run", **wrong)
    assert not (tmp_path / "a.run").exists()


def test_one_name_may_stand_for_a_list_of_one(tmp_path: Path) -> None:
    runs = [tmp_path / "a.run", tmp_path / "b.run"]
    for run in runs:
        evaluate(rows(), metrics="token_f1", group_by="topic", run=run)
    assert {row.metric for row in compare(*runs, metrics="token_f1", group_by="topic").rows} == {"token_f1"}


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda run: compare(run, run, on="most"), "'most': it is all or common"),
        (lambda run: compare(run, run, judges="any"), "'any': it is same or different"),
        (lambda run: check_gates(run, {"token_f1": 0.5}, mode="strict"), "'strict': choose interval or point"),
        (lambda run: check_gates(run, {"token_f1": 0.5}, min_coverage=95), "from 0 to 1, not 95"),
        (lambda run: check_gates(run, {"token_f1": float("nan")}), "expected a number"),
        (lambda run: check_gates(run, {"token_f1": "0.5"}), "expected a number"),
    ],
)
def test_a_wrong_value_of_compare_or_a_gate_is_told(tmp_path: Path, work: Callable[[Path], Any], told: str) -> None:
    evaluate(rows(), metrics="token_f1", run=tmp_path / "a.run")
    with pytest.raises(UsageError, match=told):
        work(tmp_path / "a.run")
