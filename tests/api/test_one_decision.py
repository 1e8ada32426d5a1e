"""Sentences, intervals, p, colours and exit codes of a comparison never contradict each other."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.benchmarks.recorded.memory_run import MemoryRun, record
from tests.examples import naming

from ragstone.analysis.sides import RIGHT
from ragstone.comparison.compare_figures import Comparison, Difference, Side, compare_runs, gain_of_row
from ragstone.comparison.compare_verdict import comparison_summary, comparison_verdict, verdict_of
from ragstone.comparison.difference_tables import comparison_tables
from ragstone.messages import messages
from ragstone.report.opening import better_line
from ragstone.types import Record

METRICS = ("answer_match", "ragchecker.hallucination", "latency")  # the second is better if lower
SHAPES: dict[str, Any] = {
    "right or wrong": lambda draw, chance: float(draw.random() < chance),
    "half": lambda draw, chance: draw.choice([0.0, 0.5, 1.0]) if draw.random() < 0.5 else float(draw.random() < chance),
    "graded": lambda draw, chance: draw.betavariate(0.1 + 3 * chance, 0.1 + 3 * (1 - chance)),
    "any size": lambda draw, chance: 100 * chance + draw.gauss(0, 10),
}


def some_comparison(seed: int) -> Comparison:
    """Of up to 50 questions, one to three metrics, repeats on some, and a verdict that is often one of the metrics."""
    draw = random.Random(seed)
    questions, answers, system = draw.choice([1, 2, 5, 10, 20, 50]), draw.choice([1, 1, 3]), draw.random()
    shift = draw.choice([0.0, 0.0, 0.1, 0.3, -0.3])
    kinds = [draw.choice([*SHAPES][: 4 if name == "latency" else 3]) for name in METRICS]
    count, same = draw.randint(1, len(METRICS)), draw.random() < 0.5
    sides = []
    for at in range(2):
        chance = min(1.0, max(0.0, system + at * shift))
        held = []
        for number in range(questions * answers):
            scores = {name: SHAPES[kind](draw, chance) for name, kind in zip(METRICS[:count], kinds, strict=False)}
            made = record(f"q{number // answers}", scores, part=number % answers)
            held.append(made if answers == 1 else _under(made, number % answers))
        sides.append(Side(MemoryRun(held, question={"benchmark": "eval"}), "s", "ab"[at]))

    def right(one: Record) -> float | None:
        value = one.scores["answer_match"].value or 0.0
        return value if same and value in (0.0, 1.0) else float(value > 0.3)

    return compare_runs(*sides, readers=(right, right))


def _under(one: Record, part: int) -> Record:
    return replace(one, case=replace(one.case, condition={"noise_ratio": part / 10}))


def check(comparison: Comparison) -> None:
    """Everything that is said of each row says the same."""
    said, words = comparison_verdict(comparison), messages("ragstone.comparison.compare_verdict", "en")
    moved = [line for line in said if " rose by " in line or " fell by " in line]
    differs = [row for row in comparison.rows if row.significant()]
    assert len(moved) == len(differs)
    table, *_ = comparison_tables(comparison)
    dots = {dot.label: dot for dot in comparison_summary(comparison).dots}
    for row, shown in zip(comparison.rows, table.rows, strict=True):
        excludes = row.low is not None and row.high is not None and (row.low > 0 or row.high < 0)
        assert excludes == (row.p_holm < 0.05) == row.significant()
        assert (float(shown.cells[4].text) < 0.05) == excludes or round(row.p_holm, 3) == 0.05
        assert any(line.startswith(f"{row.label} ") for line in moved) == excludes
        assert row.regressed() == (excludes and row.gain < 0)
        tone = dots[row.label].tone
        assert tone == ("" if not excludes or row.better == "neither" else "good" if row.gain > 0 else "missed")
        sentence = next((line for line in moved if line.startswith(f"{row.label} ")), "")
        assert words["regression"] not in sentence or row.regressed()
    failing = any(row.regressed() for row in comparison.rows)
    assert (verdict_of(comparison) in ("regression", "mixed")) == failing
    _check_right(next(row for row in comparison.rows if RIGHT in (row.metric, *row.aliases)))


def _check_right(row: Difference) -> None:
    """The sentence that a page opens with is of the row of right answers."""
    line = better_line(gain_of_row(row), ("a", "b"), messages("ragstone.report.opening", "en"))
    assert ("gives more right answers than" in line and "tell" not in line) == row.significant()
    assert not row.significant() or line.startswith("b" if row.difference > 0 else "a")


@given(st.integers(0, 2**32))
def test_what_is_said_of_a_comparison_never_contradicts_itself(seed: int) -> None:
    check(some_comparison(seed))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_comparisons_never_contradict_themselves(part: int) -> None:
    for seed in range(500 * part, 500 * part + 500):
        with naming(seed):
            check(some_comparison(seed))


@pytest.mark.parametrize(("won", "lost", "n"), [(4, 0, 10), (5, 0, 30), (5, 0, 100), (9, 2, 40)])
def test_few_changes_are_no_difference_in_any_sentence(won: int, lost: int, n: int) -> None:
    a = [record(f"q{at}", {"answer_match": float(won <= at < won + lost)}) for at in range(n)]
    b = [record(f"q{at}", {"answer_match": float(at < won)}) for at in range(n)]
    sides = (Side(MemoryRun(one, question={"benchmark": "eval"}), "s", name) for one, name in ((a, "a"), (b, "b")))

    def right(one: Record) -> float | None:
        return one.scores["answer_match"].value

    comparison = compare_runs(*sides, readers=(right, right))
    (row,) = comparison.rows
    assert row.aliases == (RIGHT,)
    assert not row.significant()
    check(comparison)
