"""Requests, tokens and money of a judge are those of the server's log, whatever came back."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.test_eval import asked, by_judge, judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import FakeEndpoint

SAME = "No."
ASK_THE_SAME = "ragas.faithfulness,ragas.answer_correctness"  # for the statements of the answer
SHAPES: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "usable": (judging, "faithfulness,context_recall", ()),
    "the same text to every request": (lambda payload: SAME, "faithfulness,context_recall", ()),
    "the same empty object": (lambda payload: {}, "faithfulness", ()),
    "passages one by one": (judging, "faithfulness,context_precision", ("--verify", "separate")),
    "two metrics that ask the same": (lambda payload: {"statements": []}, ASK_THE_SAME, ()),
    "two metrics that ask the same and get no object": (
        lambda payload: SAME,
        f"{ASK_THE_SAME},rubric.empathy,rubric.bias",
        (),
    ),
    "several metrics that share a request": (lambda payload: {"nuggets": []}, "nuggets.all,nuggets.vital", ()),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_request_counts(tmp_path: Path, shape: str) -> None:
    answer, metrics, more = SHAPES[shape]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    async with FakeEndpoint(answer=answer) as endpoint:
        options = by_judge(endpoint, "--metrics", metrics, "--no-cache", "--run", "a.run", "--json", *more)
        told = await ran(tmp_path, "eval", "data.jsonl", *options, "--price", "1000/2000")
    assert told.out, told.err
    (cost,) = (table for table in told.document["tables"] if table["id"] == "eval-cost")
    cells = [cell.get("text", "").replace(",", "") for cell in cost["rows"][-1]["cells"]]
    sent = asked(endpoint)  # each with a usage of 11 and 3 tokens
    assert cells[1:4] == [str(sent), str(11 * sent), str(3 * sent)]
    assert cells[5] == f"{(11 * sent * 1000 + 3 * sent * 2000) / 1e6:.4f}"
