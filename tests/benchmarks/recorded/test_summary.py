"""What a reader of scored answers sees first."""

from rich.cells import cell_len
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.summary import summaries
from ragstone.report.opening_text import opening_text


def test_a_terminal_shows_the_question_and_answer_behind_an_advice() -> None:
    run = MemoryRun([record(f"q-{at}", {"answer_match": at / 4}, answer=f"Answer {at}\n\x1b[31m") for at in range(4)])
    found = summaries(run, {})
    text = opening_text(found, width=60)
    assert text.index("· Why? → Answer 0") < text.index("· Why? → Answer 1")
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
