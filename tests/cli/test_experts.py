"""`ragstone agreement experts`: labels of people, the judge of a run against them, calibrated means."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate
from ragstone.api.experts import agreement_of_experts
from ragstone.errors import DataError, UsageError


def data(count: int) -> list[dict[str, Any]]:
    """Answers of which every third is wrong; English and Chinese."""
    rows = []
    for n in range(count):
        zh = n % 2
        answer = f"{n}" if n % 3 else "1000000"
        question = f"第{n}个数是多少？" if zh else f"What is number {n}?"
        rows.append({"id": f"q{n}", "question": question, "answer": answer, "reference": f"{n}", "part": "xy"[zh]})
    return rows


def labels(count: int) -> list[dict[str, Any]]:
    """Two experts; the second is wrong about every tenth answer, and cannot tell once."""
    rows = []
    for n in range(count):
        right = bool(n % 3)
        rows.append({"id": f"q{n}", "expert": "ann", "correct": "yes" if right else "no"})
        second = "cannot tell" if n == 5 else "yes" if right != (n % 10 == 7) else "no"
        rows.append({"id": f"q{n}", "expert": "bo", "correct": second})
    return rows


def test_experts_and_the_judge_are_compared_and_its_mean_is_calibrated(tmp_path: Path) -> None:
    run = evaluate(data(200), ["answer_match"], run=tmp_path / "e.run").run
    found = agreement_of_experts(labels(80), run)
    (agreed,) = found.agreed
    assert (agreed.task, agreed.items, agreed.experts) == ("correct", 79, ("ann", "bo"))
    assert agreed.equal == pytest.approx(71 / 79)
    assert agreed.statistics["kappa"] is not None
    assert agreed.disputed == tuple(f"q{n}" for n in range(7, 80, 10))
    whole = found.judged[0]
    assert (whole.metric, whole.part, whole.n) == ("answer_match", "", 80)
    assert {one.part for one in found.judged} == {"", "en", "zh", "short", "long"}
    calibrated = found.calibrated["correct", "answer_match"]
    assert not isinstance(calibrated, str)
    assert calibrated.low <= calibrated.mean <= calibrated.high
    assert calibrated.naive == pytest.approx(133 / 200)
    assert calibrated.saved > 50


def test_the_command_prints_tables_in_both_languages(tmp_path: Path, ragstone: Any) -> None:
    run = evaluate(data(90), ["answer_match"], run=tmp_path / "e.run").run
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in labels(60)), encoding="utf-8")
    told = ragstone("agreement", "experts", str(path), "--run", str(run))
    assert told.code == 0
    assert "The judge against the experts" in told.out
    told = ragstone("agreement", "experts", str(path), "--run", str(run), "--language", "zh", "--by", "part")
    assert "校准后的均值" in told.out
    document = json.loads(ragstone("agreement", "experts", str(path), "--json").out)
    assert [table["id"] for table in document["tables"]] == ["experts-agreed"]


def test_fewer_than_fifty_labels_give_no_calibrated_mean(tmp_path: Path) -> None:
    run = evaluate(data(60), ["answer_match"], run=tmp_path / "e.run").run
    assert agreement_of_experts(labels(49), run).calibrated["correct", "answer_match"] == "49 of 50 labels"


def test_stars_are_scaled(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "expert": expert, "task": "tone", "label": 1 + (n + (expert == "bo" and n == 3)) % 5}
            for n in range(20) for expert in ("ann", "bo")]  # fmt: skip
    (agreed,) = agreement_of_experts(rows, scale=(1, 5)).agreed
    assert agreed.statistics["weighted_kappa"] is not None
    assert agreed.disputed == ("q3",)
    with pytest.raises(DataError, match=r"the label 2 is outside of 0\.\.1; set the scale"):
        agreement_of_experts(rows)


@pytest.mark.parametrize(
    ("row", "message"),
    [({"id": "q", "correct": "yes"}, "has no expert"), ({"expert": "ann", "correct": "yes"}, "has no id"),
     ({"id": "q", "expert": "ann", "correct": "maybe"}, "neither yes or no nor a number"),
     ({"id": "q", "expert": "ann", "correct": ""}, "has no label")],
)  # fmt: skip
def test_bad_labels_are_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        agreement_of_experts([row])


def test_a_run_without_the_labelled_questions_is_refused(tmp_path: Path) -> None:
    run = evaluate(data(5), ["answer_match"], run=tmp_path / "e.run").run
    rows = [{"id": "other", "expert": "ann", "correct": "yes"}]
    with pytest.raises(UsageError, match="has no metric for correct"):
        agreement_of_experts(rows, run)
