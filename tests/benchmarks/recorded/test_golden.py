"""All that is said of a run of `eval`, figure by figure."""

from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record, scored, step
from tests.golden import golden, structure

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.types import Record, Score

NAMES = ("faithfulness", "context_recall", "context_precision", "answer_correctness", "answer_relevancy")


def records(system: str, shift: float, *, number_of: int = 40) -> list[Record]:
    """Forty samples, most judged three times: some failed, some that do not apply, some replies from the cache."""
    found = []
    for number in range(number_of):
        for repeat in range(3 if number % 4 else 1):
            steps = (step("decompose", tokens=90 + number), step("verify", tokens=200 + repeat, cached=number % 5 == 0))
            values = {
                name: scored(round(((number * (at + 3) + 5 * repeat) % 17) / 17 * shift, 3), *steps[: 1 + at % 2])
                for at, name in enumerate(NAMES)
            }
            one: dict[str, Score | float] = {**values, "token_f1": number % 7 / 7, "latency": 10.0 + number}
            if number % 11 == 3:
                one["context_recall"] = Score.failed("timed_out: late")
            if number % 9 == 2:
                one["answer_correctness"] = Score.not_applicable("the case has no references")
            if not repeat:
                one["context_relevance"] = 0.5 + number / 100
            one["ragchecker.hallucination"] = number % 3 / 4
            columns: Any = {"topic": "abc"[number % 3], "user": f"u{number % 5}"} if number % 8 else {"topic": "c"}
            found.append(record(f"q{number:02d}", one, repeat=repeat, system=system, **columns))
    return found


META = {
    "options": {"group_by": ["topic", "user"], "repeat": 3}, "price": "0.15/0.60",
    "question": {"judge": {"model": "openai/m-2"}},
}  # fmt: skip
ONE = MemoryRun(records("s", 0.9), **META)
TWO = MemoryRun(records("s", 0.9) + records("better", 1.0), **META)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("run", [ONE, TWO], ids=["one", "two"])
def test_tables_and_charts(run: MemoryRun, language: str) -> None:
    benchmark = RecordedAnswers()
    tables, charts = benchmark.tables(run, language=language), benchmark.charts(run, language=language)
    golden(f"recorded/{len(run.systems)}.{language}", "\n\n".join(map(structure, (*tables, *charts))))


def test_findings() -> None:
    found = [RecordedAnswers().explain(one) for one in ONE.records()]
    golden("recorded/findings", "\n".join(map(structure, found)))


def test_the_folder_of_the_kept_files_has_no_file_that_no_test_writes() -> None:
    kept = {path.name for path in (Path(__file__).parents[2] / "goldens" / "recorded").iterdir()}
    assert kept == {"1.en.txt", "1.zh.txt", "2.en.txt", "2.zh.txt", "findings.txt"}
