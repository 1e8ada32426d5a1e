"""What a rule cannot tell is counted apart in verdicts, tables and gates, and read by a judge on request."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone import compare, diagnose, evaluate
from ragstone.analysis.gates import Gate, check_gates
from ragstone.benchmarks.recorded.diagnosis import explain
from ragstone.comparison.difference_tables import comparison_tables
from ragstone.models.scripted import Scripted
from ragstone.report.opening_text import opening_text
from ragstone.runs import open_run
from ragstone.stats import Estimate, decisive_interval

LONG = "At any time except in the two weeks before the stocktaking of group {n}. The lead decides about exceptions."


def rows(unsure: int, right: int, wrong: int) -> list[dict[str, Any]]:
    """Questions with long references, answered in other words, and with short ones, answered rightly or not."""
    return [
        *({"id": f"u{n}", "question": f"When may group {n} take leave?", "reference": LONG.format(n=n),
           "answer": "Always, save for the fortnight that precedes stocktaking."} for n in range(unsure)),
        *({"id": f"r{n}", "question": "Who leads?", "reference": "Ines Harrow", "answer": "Ines Harrow leads."}
          for n in range(right)),
        *({"id": f"w{n}", "question": "Who leads?", "reference": "Ines Harrow", "answer": "Tom Reed leads."}
          for n in range(wrong)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "verdict", "note"),
    [
        (
            "en",
            "6 to 10 of 12 answers are right (50% to 83%); answer_match cannot tell about 4",
            "between 0.50 and 0.83",
        ),
        ("zh", "12 个答案中 6 至 10 个正确（50% 至 83%）；其中 4 个 answer_match 无法判断", "0.50 与 0.83 之间"),
    ],
)
def test_the_verdict_counts_unsure_answers_apart_and_the_table_bounds_the_mean(
    language: str, verdict: str, note: str, tmp_path: Path
) -> None:
    result = evaluate(rows(4, 6, 2), metrics=["answer_match"], run=tmp_path / "u.run")
    summary = result.summary["answer_match"]
    assert (summary["n"], summary["unsure"], summary["total"]) == (8, 4, 12)
    worst, best = (Estimate.of_mean([1.0] * right + [0.0] * (12 - right)) for right in (6, 10))
    assert (summary["low"], summary["high"]) == (worst.low, best.high)
    with result.open() as run:
        text = opening_text(run.summaries(language=language), language=language)
    flat = " ".join(text.split())
    assert verdict in flat
    assert "answer_match.judge" in flat
    (table,) = [table for table in result.tables(language=language) if table.id == "eval-scores"]
    assert {"en": "Unsure", "zh": "不确定"}[language] in table.columns
    assert any(note in line for line in table.notes)


def test_where_all_are_unsure_the_verdict_says_so_and_calls_none_wrong(tmp_path: Path) -> None:
    result = evaluate(rows(3, 0, 0), metrics=["answer_match"], run=tmp_path / "u.run")
    with result.open() as run:
        text = " ".join(opening_text(run.summaries(language="en"), language="en").split())
        found = [explain(record) for record in run.run.records()]
    assert "answers are right" not in text
    assert "Have a judge read the answers about which answer_match cannot tell" in text
    assert [(item.right, "answer_match cannot tell" in item.reason) for item in found] == [(None, True)] * 3


@pytest.mark.parametrize(
    ("unsure", "right", "wrong", "verdict", "reason"),
    [
        (20, 20, 0, "unknown", "depends on the 20 answers"),
        (1, 99, 0, "passed", "whatever the unsure answers are"),
        (1, 0, 60, "failed", "whatever the unsure answers are"),
        (12, 0, 0, "unknown", "depends on the 12 answers"),
    ],
)
def test_a_gate_decides_only_what_does_not_depend_on_the_unsure_answers(
    unsure: int, right: int, wrong: int, verdict: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "u.run"
    evaluate(rows(unsure, right, wrong), metrics=["answer_match"], run=path)
    with open_run(path) as run:
        (result,) = check_gates(run, [Gate("answer_match", 0.7)])
    assert (result.verdict, result.unsure, result.coverage) == (verdict, unsure, 1.0)
    assert reason in result.reason
    assert f", {unsure} unsure" in result.line
    n = unsure + right + wrong
    ends = [decisive_interval([1.0] * most + [0.0] * (n - most)) for most in (right, right + unsure)]
    assert ends[0] is not None
    assert ends[1] is not None
    assert (result.low, result.high) == (ends[0][0], ends[1][1])
    assert f"不确定 {unsure} 个" in result.line_in("zh")


def test_a_judge_is_asked_once_for_each_unsure_answer_and_the_table_says_how_many(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(request: Any) -> str:
        asked.append(request.messages[-1].content)
        return json.dumps({"reason": "The exception is the same.", "verdict": "stated"})

    judge = Scripted(script)
    result = evaluate(rows(4, 6, 2), metrics=["answer_match.judge"], judge=judge, run=tmp_path / "j.run")
    assert len(asked) == 4
    assert result.summary["answer_match.judge"]["mean"] == pytest.approx(10 / 12)
    with result.open() as run:
        text = " ".join(opening_text(run.summaries(language="en"), language="en").split())
    assert "10 of 12 answers are right" in text
    (table,) = [table for table in result.tables() if table.id == "eval-scores"]
    assert any("a judge read 4 of the 12 answers" in note for note in table.notes)


def test_a_diagnosis_leaves_out_what_it_cannot_tell_and_a_second_reading_tells_some(tmp_path: Path) -> None:
    said = {
        "question": "Which paints are used?",
        "reference": "The walls are painted with lime wash, casein paint and linseed oil.",
        "answer": "They use linseed oil, casein paint and lime wash for the walls.",
    }
    result = diagnose([*rows(2, 3, 1), {"id": "said", **said}], run=tmp_path / "d.run")
    with result.open() as run:
        (system,) = run.run.systems
        found = run.benchmark.diagnosed(run.run, system)  # type: ignore[attr-defined]
        text = " ".join(opening_text(run.summaries(language="en"), language="en").split())
    assert {item.evidence.sample.id: item.evidence.outcome("as_is") for item in found} == {
        **dict.fromkeys(("u0", "u1"), "unscored"), **dict.fromkeys(("r0", "r1", "r2", "said"), "right"), "w0": "wrong",
    }  # fmt: skip
    assert "2 answers could not be scored and are left out" in text


@pytest.mark.parametrize(
    ("language", "words"), [("en", "1 of the failures may be right answers (p)"), ("zh", "1 个可能是对的答案（p）")]
)
def test_a_diagnosis_says_which_of_its_failures_the_metric_cannot_tell(
    language: str, words: str, tmp_path: Path
) -> None:
    phrase = {"id": "p", "question": "Who signs?", "reference": "the head of the respective department",
              "answer": "Whoever leads the department."}  # fmt: skip
    result = diagnose([*rows(0, 3, 1), phrase], run=tmp_path / "d.run")
    with result.open() as run:
        text = "".join(opening_text(run.summaries(language=language), language=language).split())
    assert words.replace(" ", "") in text
    least, most = (Estimate.of_count(right, 5) for right in (3, 4))
    assert f"60%[{100 * (least.low or 0):.0f},{100 * (most.high or 0):.0f}]" in text


def test_a_comparison_counts_unsure_answers_as_missing_pairs(tmp_path: Path) -> None:
    evaluate(rows(16, 8, 0), metrics=["answer_match"], run=tmp_path / "a.run")
    wrong = [{**row, "answer": "No idea"} for row in rows(16, 8, 0)]
    evaluate(wrong, metrics=["answer_match"], run=tmp_path / "b.run")
    comparison = compare(tmp_path / "a.run", tmp_path / "b.run")
    (row,) = [row for row in comparison.rows if row.metric == "answer_match" and not row.group]
    assert (row.n, row.lacking, row.failed_a) == (8, 16, 16)
    assert row.coverage == pytest.approx(8 / 24)
    notes = [note for table in comparison_tables(comparison, language="en") for note in table.notes]
    assert any("16 scores failed or are unsure in the first" in note for note in notes)
