"""An embedder whose vectors are no numbers makes failed scores with the reason, never a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.evaluation.judging import scripted_judge
from tests.evaluation.test_evaluate import rows

from ragstone import evaluate

METRICS = ("semantic_similarity", "answer_relevancy", "answer_correctness")


class Odd:
    """An embedder that gives this value everywhere."""

    id = "own/odd"

    def __init__(self, value: float, lacking: int = 0) -> None:
        self.value, self.lacking = value, lacking

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
        return np.full((len(texts) - self.lacking, 3), self.value, dtype=np.float32)


@pytest.mark.parametrize("embedder", [Odd(np.nan), Odd(np.inf), Odd(1.0, lacking=1)], ids=["nan", "inf", "lacking"])
@pytest.mark.parametrize("protocol", ["matrix", "ragas"])
def test_vectors_of_no_number_are_failed_scores(
    tmp_path: Path, embedder: Odd, protocol: Literal["matrix", "ragas"]
) -> None:
    data = [row for row in rows() if row["reference"] and row["contexts"]][:2]
    metrics = METRICS if protocol == "matrix" else METRICS[1:]
    result = evaluate(
        data, metrics, scripted_judge(), embedder=embedder, judge_protocol=protocol, run=tmp_path / "e.run",
        model_options=None,
    )  # fmt: skip
    assert len(result.summary) == len(metrics)
    for name, told in result.summary.items():
        assert told["mean"] is None, name
        assert told["failed"] == len(data), name
