"""Comparisons, gates and agreement of two rich runs, figure by figure."""

import dataclasses
from typing import Any, Literal

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record
from tests.benchmarks.recorded.test_golden import META, records
from tests.golden import figures, golden, structure

from ragstone.analysis.gates import Gate, GateResult, check_gates, gates_of
from ragstone.comparison.compare_figures import Side, compare_runs
from ragstone.comparison.compare_verdict import comparison_verdict, verdict_of
from ragstone.comparison.difference_tables import comparison_tables
from ragstone.errors import UsageError
from ragstone.experts.agreement import agreement, gap
from ragstone.types import Score

A, B = (
    Side(MemoryRun(records("s", shift, number_of=count), **META), "s", name)
    for name, shift, count in (("a.run", 1.0, 40), ("b.run", 0.8, 37))
)


# What is held of each; another field may be added.
HELD = (
    "metric", "group", "kind", "system", "verdict", "n", "samples", "mean", "low", "high", "difference", "test", "p",
    "p_holm", "better", "failed_a", "failed_b", "lacking", "only_a", "only_b", "gained", "lost", "gained_total",
    "lost_total", "improved", "worsened", "sample", "before", "after", "flipped", "scored", "total", "coverage",
    "worst", "only_system", "agree", "kappa", "first", "second",
)  # fmt: skip


def fields(value: Any) -> str:
    held = {name: getattr(value, name) for name in HELD if hasattr(value, name)}
    return ", ".join(f"{name}={told(one)}" for name, one in held.items() if one not in (None, "", (), {}))


def told(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return "(" + " ".join(map(told, value)) + ")"
    return fields(value) if dataclasses.is_dataclass(value) else str(value)


WAYS: dict[str, dict[str, Any]] = {
    "common": {},
    "where": {"where": {"topic": "b"}, "metrics": ["faithfulness", "token_f1"]},
    "groups": {"group_by": ["topic"], "metrics": ["context_recall", "ragchecker.hallucination"]},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_comparison(way: str) -> None:
    found = compare_runs(A, B, on="common", judges="different", **WAYS[way])
    lines = [fields(row) + f" gain={row.gain:.6g} coverage={row.coverage:.6g}" for row in found.rows]
    lines += [f"{row.label}: {[row.regressed(by, level) for by in (None, 0.0, 0.08) for level in (0.05, 1e-4)]}"
              for row in found.rows]  # fmt: skip
    lines.append(f"{found.pairs} pairs, left out {found.left_out}, changed {found.changed}, {found.unpaired}")
    lines += [
        verdict_of(found),
        *(figures(line) for language in ("en", "zh") for line in comparison_verdict(found, language=language)),
    ]
    for language in ("en", "zh"):
        for moves in (None, 2):
            lines += map(structure, comparison_tables(found, language=language, moves=moves))
    golden(f"analysis/compare-{way}", "\n".join(lines))


GATES = [
    *(Gate("faithfulness", threshold) for threshold in (0.2, 0.45, 0.47, 0.9)),
    *(Gate("ragchecker.hallucination", threshold, "over") for threshold in (0.1, 0.24, 0.25, 0.4)),
    Gate("context_recall", 0.5), Gate("answer_correctness", 0.4),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["interval", "point"])
def test_gates(mode: Literal["interval", "point"]) -> None:
    lines = []
    for run in (A.run, MemoryRun(records("s", 1.0) + records("better", 1.1, number_of=30))):
        for least in (0.0, 0.9, 0.95):
            lines += [
                f"{one.gate.metric} {one.gate.threshold} {fields(one)} / {figures(one.line)}"
                for one in check_gates(run, GATES, mode=mode, min_coverage=least)
            ]
    golden(f"analysis/gates-{mode}", "\n".join(lines))


def gated(values: list[float], gate: Gate, mode: Literal["interval", "point"] = "point") -> GateResult:
    run = MemoryRun([record(f"q{at}", {"token_f1": value}) for at, value in enumerate(values)])
    (result,) = check_gates(run, [gate], mode=mode)
    return result


def test_a_mean_that_is_just_the_threshold_passes_on_both_sides() -> None:
    for side in ("under", "over"):
        assert gated([0.5] * 6, Gate("token_f1", 0.5, side)).verdict == "passed"
        assert gated([1.0] * 9, Gate("token_f1", 1.0, side), "interval").verdict == ("warned", "passed")[side == "over"]
    assert gated([0.5, 0.5, 0.499], Gate("token_f1", 0.5)).verdict == "failed"
    assert gated([0.5, 0.5, 0.501], Gate("token_f1", 0.5, "over")).verdict == "failed"
    assert gated([0.1, 0.5, 0.9, 0.4] * 2, Gate("token_f1", 0.5), "interval").verdict == "warned"
    assert gated([0.1] * 9, Gate("token_f1", 0.5), "interval").verdict == "failed"


def test_at_most_five_samples_are_named_the_worst_first_and_none_that_is_just_the_threshold() -> None:
    values = [0.5, 0.4, 0.1, 0.3, 0.2, 0.0, 0.45, 0.6]
    assert [name for name, _ in gated(values, Gate("token_f1", 0.5)).worst] == ["q5", "q2", "q4", "q3", "q1"]
    assert gated(values, Gate("token_f1", 0.5, "over")).worst == (("q7", 0.6),)


@pytest.mark.parametrize(
    ("metric", "threshold", "words"),
    [
        ("token_f1", 80, "80% is token_f1=0.8"), ("token_f1", 100, "100% is token_f1=1"),
        ("token_f1", 101, "from 0 to 1"),
        ("token_f1", 1.5, "1.5% is token_f1=0.015"), ("token_f1", -0.1, "from 0 to 1"), ("token_f1", True, "a number"),
        ("token_f1", float("inf"), "a number"), ("token_f1", "0.5", "a number"),
    ],
)  # fmt: skip
def test_a_threshold_that_cannot_be_meant(metric: str, threshold: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        gates_of({metric: threshold}, {})
    assert words in str(caught.value)
    assert (" is token_f1=" in str(caught.value)) == (" is token_f1=" in words)


def test_thresholds_that_can_be_meant() -> None:
    assert gates_of({"token_f1": 0, "mine": 80}, {"latency": -3.5}) == [
        Gate("token_f1", 0), Gate("mine", 80), Gate("latency", -3.5, "over"),
    ]  # fmt: skip
    assert len(gates_of({"token_f1": 0.2}, {"token_f1": 1})) == 2
    for under, over in (({"ragchecker.hallucination": 0.2}, {}), ({}, {"token_f1": 0.2}), ({"own": 1}, {})):
        with pytest.raises(UsageError, match=r"values of .* are better"):
            gates_of(under, over, {"better": {"own": "lower"}})


def test_agreement_and_gaps() -> None:
    kinds = ("supports", "neither", "contradicts")
    first, second = (
        [
            {
                "answer_support": {
                    (at, n): kinds[(at * (n + way) + way * sample) % 3] for at in range(4) for n in range(3)
                },
                "useful": {(at,): (at + way * sample) % 4 < 2 for at in range(sample + 1)},
            }
            for sample in range(9)
        ]
        for way in (0, 1)
    )
    lines = [fields(one) for one in agreement(first, second)]  # type: ignore[arg-type]
    found = gap("m", [0.1, None, 0.5, 0.9, 0.2], [0.3, 0.4, None, 0.7, 0.6])
    assert found is not None
    assert found.n == 3
    assert found.difference == pytest.approx(0.4 / 3)
    assert gap("m", [None], [0.2]) is None
    golden("analysis/agreement", "\n".join([*lines, fields(found)]))


def test_a_pair_with_one_score_is_missing_only_if_the_other_failed() -> None:
    """Nothing to score is no lack; who alone has a score is counted by side."""
    failed, nothing = Score.failed("late"), Score.not_applicable("no references")
    a: list[Score | float] = [1.0, 1.0, 1.0, failed, nothing, nothing, failed, failed, 0.5]
    b: list[Score | float] = [1.0, failed, nothing, 1.0, 1.0, nothing, failed, nothing, 0.25]
    sides = (
        Side(MemoryRun([record(f"q{at}", {"m": one}) for at, one in enumerate(each)], **META), "s", "r")
        for each in (a, b)
    )
    (row,) = compare_runs(*sides).rows
    assert (row.n, row.lacking, row.only_a, row.only_b, row.failed_a, row.failed_b) == (2, 4, 1, 1, 3, 2)


def test_of_a_system_without_records_nothing_is_covered() -> None:
    run = MemoryRun([record("q", {"token_f1": 0.5})])
    run.systems = {**run.systems, "silent": {}}
    spoken, silent = check_gates(run, [Gate("token_f1", 0.4)], mode="point")
    assert (spoken.coverage, spoken.verdict) == (1.0, "passed")
    assert (silent.coverage, silent.total, silent.mean, silent.verdict) == (0.0, 0, None, "unknown")
