"""What a reader of scored answers sees first."""

import pytest
from rich.cells import cell_len
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.diagnosis import explain
from ragstone.benchmarks.recorded.summary import summaries
from ragstone.report.opening_text import opening_text
from ragstone.types import Score


def test_a_terminal_shows_the_question_and_answer_behind_an_advice() -> None:
    run = MemoryRun([record(f"q-{at}", {"answer_match": at / 4}, answer=f"Answer {at}\n\x1b[31m") for at in range(4)])
    found = summaries(run, {})
    text = opening_text(found, width=60)
    assert text.index("· Why q-0? → Answer 0") < text.index("· Why q-1? → Answer 1")
    assert "Answer 2" not in text  # two are enough
    assert "\x1b" not in text
    assert "not measurements" in text


def test_a_long_example_is_one_line_as_wide_as_the_terminal_in_chinese_too() -> None:
    run = MemoryRun([record("q", {"answer_match": 0.0}, answer="很长的答案" * 100)])
    (line,) = [line for line in opening_text(summaries(run, {}), width=60).splitlines() if "很长" in line]
    assert line.endswith("…")
    assert cell_len(line) <= 60


def test_without_advice_there_is_no_note_on_advice() -> None:
    (summary,) = summaries(MemoryRun([record("q", {"answer_match": 1.0})]), {}).values()
    assert (summary.actions, summary.notes) == ((), ())


NA = Score(None, "not_applicable", "none")
RIGHT = [record(f"q-{at}", {"answer_match": float(at > 0)}) for at in range(3)]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "2 of 3 answers are right (67% "), ("zh", "3 个答案中 2 个正确（67% ")]
)
def test_a_verdict_opens_with_the_share_of_right_answers_in_words(language: str, said: str) -> None:
    (summary,) = summaries(MemoryRun(RIGHT), {}, language=language).values()
    assert said in summary.verdict
    assert "answer_match" not in summary.verdict


def test_the_number_of_answers_is_that_of_the_metric_beside_it() -> None:
    first = record("q-9", {"answer_match": 1.0, "recall": Score(None, "not_applicable", "no_labels")})
    run = MemoryRun([first, *(record(f"q-{at}", {"answer_match": 1.0, "recall": 1.0}) for at in range(3))])
    (summary,) = summaries(run, {}).values()
    assert "4 of 4 answers are right" in summary.verdict
    assert summary.verdict.endswith("], on 3 of 4 answers.")


@pytest.mark.parametrize(
    ("language", "numbers"),
    [("en", (" (4 answers)", " (3 of 4 answers)")), ("zh", ("（4 个答案）", "（4 个答案中的 3 个）"))],
)
def test_metrics_of_different_numbers_of_answers_each_say_theirs(language: str, numbers: tuple[str, str]) -> None:
    first = record("q-9", {"faithfulness": 1.0, "recall": NA})
    run = MemoryRun([first, *(record(f"q-{at}", {"faithfulness": 1.0, "recall": 1.0}) for at in range(3))])
    (summary,) = summaries(run, {}, language=language).values()
    assert all(f"]{number}" in summary.verdict for number in numbers), summary.verdict
    assert summary.verdict[:-1].endswith(numbers[1])


@pytest.mark.parametrize(
    ("language", "said"), [("en", "returns its passages with these ids"), ("zh", "段落是否带有这些 id")]
)
def test_a_recall_of_nothing_at_all_asks_whether_the_passages_have_ids(language: str, said: str) -> None:
    none, some = ([record(f"q-{at}", {"recall": value * (at == 0)}) for at in range(5)] for value in (0.0, 1.0))
    (summary,) = summaries(MemoryRun(none), {}, language=language).values()
    assert said in summary.actions[0].text
    (summary,) = summaries(MemoryRun(some), {}, language=language).values()
    assert said not in summary.actions[0].text


def test_a_graded_metric_of_correctness_is_named_with_its_bar_and_a_gate_moves_the_bar() -> None:
    run = MemoryRun([record(f"q-{at}", {"answer_correctness": at / 4, "faithfulness": 1.0}) for at in range(5)])
    (summary,) = summaries(run, {}).values()
    assert "3 of 5 answers are right (60% " in summary.verdict
    assert "; answer_correctness 0.50" in summary.verdict
    assert "faithfulness 1.00" in summary.verdict
    assert summary.notes[0] == "Right: answer_correctness ≥ 0.5."
    (gated,) = summaries(run, {"answer_correctness": 0.9}).values()
    assert "1 of 5 answers are right" in gated.verdict


@pytest.mark.parametrize("unscored", [True, False])
def test_a_verdict_counts_the_right_answers_that_the_cards_count(unscored: bool) -> None:
    refusals = [
        record(f"u-{at}", {"answer_match": NA if unscored else 0.0}, answer=answer, meta={"answerable": False})
        for at, answer in enumerate(("I do not know.", "It is Paris."))
    ]
    records = [*RIGHT, *refusals]
    (summary,) = summaries(MemoryRun(records), {}).values()
    right = [explain(one).right for one in records]
    assert f"{right.count(True)} of {len(right) - right.count(None)} answers are right" in summary.verdict


def test_where_different_metrics_decide_or_none_the_verdict_names_the_metrics() -> None:
    mixed = [record("a", {"answer_correctness": NA, "answer_match": 1.0}), record("b", {"answer_correctness": 1.0})]
    for records in (mixed, [record("a", {"faithfulness": 0.5})]):
        (summary,) = summaries(MemoryRun(records), {}).values()
        assert "right" not in summary.verdict
