"""A mean with a gate has one interval on a screen: the one that decides."""

from pathlib import Path

import pytest

from ragstone import evaluate
from ragstone.analysis.gates import Gate, check_gates
from ragstone.stats import Estimate


@pytest.mark.parametrize("right", [0, 7, 16, 20])
def test_verdict_table_and_dots_show_the_interval_of_the_gate(right: int, tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": f"Who leads group {n}?", "reference": "Ines Harrow",
         "answer": "Ines Harrow." if n < right else "Tom Reed."} for n in range(20)
    ]  # fmt: skip
    path = tmp_path / "g.run"
    result = evaluate(rows, metrics=["answer_match", "token_f1"], gates={"answer_match": 0.5}, run=path)
    with result.open() as opened:
        (gate,) = check_gates(opened.run, [Gate("answer_match", 0.5)])
        summary = next(one for one in opened.summaries(language="en").values() if one.dots)
        (table,) = [table for table in opened.tables(language="en") if table.id == "eval-scores"]
    cells = {row.cells[0].text: row.cells[1] for row in table.rows}
    (dot,) = [dot for dot in summary.dots if dot.label == "answer_match"]
    assert (cells["answer_match"].low, cells["answer_match"].high) == (gate.low, gate.high) == (dot.low, dot.high)
    assert gate.low is not None
    assert gate.high is not None
    assert f"[{100 * gate.low:.0f}, {100 * gate.high:.0f}]" in summary.verdict
    assert any("exact interval" in note and "answer_match" in note for note in table.notes)
    plain = Estimate.of_mean([1.0] * right + [0.0] * (20 - right))
    assert (plain.low, plain.high) != (gate.low, gate.high)
