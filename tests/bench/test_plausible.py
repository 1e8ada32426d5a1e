"""The judge of the benchmarks: its samples are what they say, and it answers our steps so that every score is there."""

import pytest
from bench.peers import data, plausible

from ragstone.metrics import Tools, make_metrics
from ragstone.metrics.judge import MatrixJudge, Prompts
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample, Score


class Vectors:
    """An embedder whose vectors follow from the lengths of the texts."""

    id = "lengths"

    async def embed(self, texts: list[str], /, *, kind: str = "passage") -> object:
        import numpy as np

        matrix = np.array([[1.0, len(text) % 5] for text in texts])
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def test_samples_are_of_the_promised_size_and_share_no_sentence() -> None:
    rows = data.rows(100)
    assert rows == data.rows(100)
    assert rows[:3] == data.rows(3)
    assert all(len(row.retrieved_contexts) == 5 for row in rows)
    lengths = [len(text.split()) for row in rows for text in row.retrieved_contexts]
    assert min(lengths) >= 110
    assert max(lengths) <= 140
    seen: set[str] = set()
    for row in rows:
        mine = {part for text in (*row.retrieved_contexts, row.response, row.reference) for part in data.split(text)}
        assert not mine & seen
        seen |= mine


async def test_every_score_of_a_sample_is_there_after_two_requests() -> None:
    def reply(request: Request) -> str:
        return plausible.answer({"messages": [{"content": turn.content} for turn in request.messages]})

    model, prompts = Scripted(reply), Prompts.load()
    judge = MatrixJudge(model, embedder=Vectors(), prompts=prompts)  # type: ignore[arg-type]
    metrics = make_metrics(["five"], Tools(judge=judge, model=model, embedder=Vectors(), prompts=prompts))  # type: ignore[arg-type]
    (row,) = data.rows(1)
    sample = Sample("s", row.user_input, ((row.reference,),), language="en")
    response = Response(row.response, tuple(Passage(text[:9], text) for text in row.retrieved_contexts))
    case = Case("c", sample, {}, Query(row.user_input))
    scores = []
    for metric in metrics:
        score = metric.score(case, response)
        scores.append(score if isinstance(score, Score) else await score)
    assert [score.status for score in scores] == ["scored"] * 5
    assert len(model.requests) == 2
    values = {metric.name: score.value for metric, score in zip(metrics, scores, strict=True)}
    # Three of four sentences of the answer are in the contexts, and all of the reference's.
    assert values["faithfulness"] == pytest.approx(0.75)
    assert values["context_recall"] == 1.0
