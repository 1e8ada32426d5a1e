"""Comparisons: paired by sample, tested by the book, refused where they would mean nothing."""

from typing import Any

import pytest
import scipy  # its parts are loaded by the tests that use them
from msgspec.structs import replace
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.comparison.compare_figures import Comparison, Side, compare_runs
from ragstone.comparison.compare_verdict import comparison_verdict
from ragstone.comparison.difference_tables import comparison_tables
from ragstone.error_text import told
from ragstone.errors import UsageError
from ragstone.stats import decide, holm
from ragstone.types import Record, Score

JUDGED = {"model": "m", "protocol": "matrix", "prompts": {"verify/en": "abc"}}


def side(values: dict[str, dict[str, Score | float]], name: str = "s", **meta: Any) -> Side:
    held = MemoryRun(
        [record(sample, scores) for sample, scores in values.items()], **{"question": {"benchmark": "eval"}} | meta
    )
    return Side(held, "s", name)


def compared(a: dict[str, Any], b: dict[str, Any], **options: Any) -> Comparison:
    return compare_runs(side(a, "a"), side(b, "b"), **options)


def values(metric: str, *numbers: float) -> dict[str, dict[str, Score | float]]:
    return {f"q{at:03d}": {metric: number} for at, number in enumerate(numbers)}


def test_right_and_wrong_are_tested_by_mcnemar_and_the_flips_named() -> None:
    before = [1.0] * 12 + [0.0] * 8
    after = [0.0] * 9 + [1.0] * 3 + [1.0] * 1 + [0.0] * 7
    found = compared(values("exact_match", *before), values("exact_match", *after))
    (row,) = found.rows
    assert (row.n, row.a, row.b, row.test) == (20, 0.6, 0.2, "mcnemar")
    assert row.p == pytest.approx(scipy.stats.binomtest(1, 10, 0.5).pvalue)
    assert (row.lost_total, row.gained_total) == (9, 1)
    assert [flip.sample for flip in row.lost] == [f"q{at:03d}" for at in range(9)]
    assert row.low is not None
    assert row.high is not None
    assert row.low <= row.difference <= row.high
    assert row.regressed()
    assert not row.regressed(0.5)
    assert row.regressed(0.3)


def test_what_is_rounding_alone_is_no_difference() -> None:
    """ndcg sums its gains in the order of the list: the same score, but for the last digit."""
    exact = [0.1 + 0.2, 0.7 + 0.1, 0.9, 0.1 * 3, 1.0]
    noisy = [0.3, 0.8, 0.9 - 1.1e-16, 0.3, 1.0 - 2.2e-16]
    assert exact != noisy
    (row,) = compared(values("ndcg", *exact), values("ndcg", *noisy)).rows
    assert (row.difference, row.improved, row.worsened, row.p) == (0.0, 0, 0, 1.0)
    assert not row.gained
    assert not row.lost
    # Changes that cancel each other leave nothing but rounding either, but are changes.
    (row,) = compared(values("ndcg", 0.1, 0.2, 0.5), values("ndcg", 0.2, 0.1, 0.5)).rows
    assert (row.difference, row.improved, row.worsened) == (0.0, 1, 1)
    (row,) = compared(values("ndcg", 0.1, 0.2, 0.7), values("ndcg", 0.4, 0.3, 0.3)).rows
    assert (row.difference, row.improved, row.worsened) == (0.0, 2, 1)
    (row,) = compared(values("ndcg", 0.5, 0.5), values("ndcg", 0.5, 0.5 + 1e-6)).rows
    assert row.difference == pytest.approx(5e-7)
    assert row.improved == 1


def test_other_scores_are_decided_by_the_interval_of_gains_and_losses() -> None:
    a = [0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.2, 0.3]
    b = [0.6, 0.75, 0.9, 0.55, 0.8, 0.7, 0.9, 0.85]
    (row,) = compared(values("token_f1", *a), values("token_f1", *b)).rows
    assert row.test == "newcombe"
    assert (row.p, row.low) == (decide(a, b).p, (decide(a, b).interval() or (0, 0))[0])
    assert row.low is not None
    assert row.significant()
    assert row.low > 0
    assert not row.regressed()


def test_an_interval_is_at_the_level_that_the_correction_leaves() -> None:
    """p is .03 for either metric: together they show nothing, and neither interval leaves out 0."""
    a = {f"q{at}": {"m1": 0.0, "m2": float(at > 6)} for at in range(30)}
    b = {f"q{at}": {"m1": float(at < 6), "m2": float(at > 12)} for at in range(30)}
    found = compared(a, b)
    assert [row.p for row in found.rows] == pytest.approx([2 / 2**6] * 2)
    assert not any(row.significant() for row in found.rows)
    assert all(row.low is not None and row.high is not None and row.low <= 0 <= row.high for row in found.rows)
    (alone,) = compared(a, b, metrics=["m1"]).rows
    assert alone.significant()
    assert alone.low is not None
    assert alone.low > 0
    assert (alone.level, found.rows[0].level) == pytest.approx((0.05, 0.025))


def test_the_estimate_the_interval_and_the_test_are_of_one_mean_over_pairs() -> None:
    """Questions of six, three or two pairs: by question most would rise, by pair the mean falls."""
    a: list[Record] = []
    b: list[Record] = []
    for question in range(18):
        pairs, gain = ((6, -1.0), (2, 1.0), (2, 1.0))[question % 3]
        for at in range(pairs):
            for held, value in ((a, float(gain < 0)), (b, float(gain > 0))):
                made = record(f"q{question:02d}", {"m": value})
                held.append(replace(made, case=replace(made.case, condition={"noise_ratio": at / 10})))
    sides = [Side(MemoryRun(held, question={"benchmark": "eval"}), "s", name) for held, name in ((a, "a"), (b, "b"))]
    (row,) = compare_runs(*sides).rows
    gains = [(y.scores["m"].value or 0) - (x.scores["m"].value or 0) for x, y in zip(a, b, strict=True)]
    questions = [one.case.sample.id for one in a]
    assert row.difference == pytest.approx(sum(gains) / len(gains)) == row.b - row.a == pytest.approx(-12 / 60)
    scores = ([one.scores["m"].value or 0.0 for one in side] for side in (a, b))
    decision = decide(*scores, groups=questions)
    assert (row.p, (row.low, row.high)) == (decision.p, decision.interval())
    assert row.p > 0.2  # six of 18 questions fell and twelve rose: by question the test would see a rise


def test_the_difference_of_scores_of_any_size_has_students_interval() -> None:
    (row,) = compared(values("latency", 28.0, 30.0, 31.0), values("latency", 28.5, 30.5, 31.5)).rows
    assert (row.low, row.high) == pytest.approx((0.0, 0.5))  # all three rose alike, which chance does in one of four
    several = [28.0 + at for at in range(8)]
    (row,) = compared(values("latency", *several), values("latency", *(one + 0.5 for one in several))).rows
    assert row.test == "student"
    assert (row.low, row.high) == pytest.approx((0.5, 0.5))


def test_metrics_with_the_same_scores_are_tested_once_and_shown_together() -> None:
    def scored(*numbers: float) -> dict[str, dict[str, Score | float]]:
        names = ("faithfulness", "groundedness", "ragchecker.faithfulness")
        other = {"token_f1": 0.3}
        return {f"q{at}": {**dict.fromkeys(names, number), **other} for at, number in enumerate(numbers)}

    found = compared(scored(*[0.0] * 7, 1.0, 1.0), scored(*[1.0] * 9))
    row, other = found.rows
    assert (row.metric, row.aliases) == ("faithfulness", ("groundedness", "ragchecker.faithfulness"))
    assert [one.p_holm for one in found.rows] == holm([row.p, other.p])
    assert row.p_holm == pytest.approx(2 * 2 / 2**7)  # four tests would make it 4 * 2 / 2**7
    assert row.significant()
    (table, *_) = comparison_tables(found)
    assert table.rows[0].cells[0].text == "faithfulness (same scores: groundedness, ragchecker.faithfulness)"
    (named,) = compared(scored(0.0, 1.0), scored(1.0, 1.0), metrics=["groundedness"]).rows
    assert (named.metric, named.aliases) == ("groundedness", ())


def test_primary_metrics_are_corrected_among_themselves_and_decide() -> None:
    falls = {
        f"q{at}": {"m1": float(at < 6), "m2": 0.1 * at, "m3": float(at % 2), "m4": float(at > 2)} for at in range(9)
    }
    rises = {f"q{at}": {"m1": 0.0, "m2": 0.1 * (at > 5), "m3": float(at > 3), "m4": 1.0} for at in range(9)}
    assert not compared(falls, rises).rows[0].significant()
    found = compared(falls, rises, primary=["m1"])
    first, *others = found.rows
    assert (first.metric, first.primary, first.p_holm) == ("m1", True, first.p)
    assert first.regressed()
    assert [row.p_holm for row in others] == holm([row.p for row in others])
    assert not any(row.primary or row.regressed() for row in others)
    assert comparison_verdict(found)[0].startswith("m1 fell by 0.67")
    assert "m2" not in " ".join(comparison_verdict(found))
    assert any("m2, m3, m4" in note for note in comparison_tables(found)[0].notes)
    with pytest.raises(UsageError, match="has scores of 'm9'"):
        compared(falls, rises, primary=["m9"])


def test_where_nothing_was_found_it_says_what_could_have_been() -> None:
    found = compared(values("m", *[0.0, 1.0] * 20), values("m", *[0.0, 1.0] * 18, 1.0, 0.0, 0.0, 1.0))
    (row,) = found.rows
    power = next(table for table in comparison_tables(found, power=0.05) if table.id == "compare-power")
    assert row.smallest == pytest.approx(power.rows[0].cells[2].value)
    assert power.columns[3] == "Questions for 0.05"
    assert int(power.rows[0].cells[3].text.replace(",", "")) == row.needed(0.05) > 40
    few = compared(values("m", 0.0, 1.0, 0.0), values("m", 0.0, 1.0, 0.0))
    assert few.rows[0].smallest is None
    assert comparison_tables(few)[1].rows[0].cells[2].text == "no difference"
    moved = compared(values("m", *[0.0] * 20), values("m", *[1.0] * 20))
    assert not any(table.id == "compare-power" for table in comparison_tables(moved))
    assert any(table.id == "compare-power" for table in comparison_tables(moved, power=0.1))


def test_a_single_question_has_no_interval_and_decides_nothing() -> None:
    found = compared(values("m", 0.0), values("m", 1.0))
    (row,) = found.rows
    assert (row.difference, row.low, row.high, row.p) == (1.0, None, None, 1.0)
    assert not row.significant()
    assert "No significant difference" in comparison_verdict(found)[0]


def test_p_values_are_corrected_over_the_table() -> None:
    a = {f"q{at}": {"m1": 0.0, "m2": float(at % 2), "m3": 0.5} for at in range(12)}
    b = {f"q{at}": {"m1": 1.0, "m2": float(at % 3 == 0), "m3": 0.5} for at in range(12)}
    rows = compared(a, b).rows
    assert [row.p_holm for row in rows] == holm([row.p for row in rows])


def test_lower_is_better_turns_the_direction() -> None:
    worse = compared(
        values("ragchecker.hallucination", *[0.0] * 10), values("ragchecker.hallucination", *[1.0] * 10)
    ).rows[0]
    assert worse.better == "lower"
    assert worse.gain == -1.0
    assert worse.regressed()
    assert worse.lost_total == 10
    own = {"better": {"mine": "lower"}}
    row = compare_runs(
        side(values("mine", *[1.0] * 10), "a", **own), side(values("mine", *[0.0] * 10), "b", **own)
    ).rows[0]
    assert row.gain == 1.0


def test_data_that_differ_are_refused_with_what_differs_unless_on_common() -> None:
    a, b = values("m", 1.0, 0.0, 1.0), values("m", 1.0, 0.0)
    b["other"] = {"m": 1.0}
    with pytest.raises(
        UsageError, match=r"1 only in a \('q002'…\). 1 only in b \('other'…\). 2 in both.*--on common"
    ) as refused:
        compared(a, b)
    assert told(str(refused.value), "zh") == (
        "两次运行的数据不同。1 个只在 a 中（'q002'…）。1 个只在 b 中（'other'…）。2 个在两者中都有。"
        "要比较两者都有的部分，请加上 --on common。"
    )
    with pytest.raises(UsageError) as refused:
        compared(a, {"z": {"m": 1.0}})
    assert told(str(refused.value), "zh").endswith("1 个只在 b 中（'z'…）。没有两者都有的：请比较问题相同的运行。")
    found = compared(a, b, on="common")
    assert (found.pairs, found.left_out, found.rows[0].n) == (2, (1, 1), 2)
    with pytest.raises(UsageError, match="no sample in common"):
        compared(values("m", 1.0), {"other": {"m": 1.0}}, on="common")


def judged(value: float) -> Score:
    return Score.of(value, evidence={"verdicts": [{"step": "verify"}]})


def test_verdicts_of_different_judges_are_not_compared_silently() -> None:
    held: dict[str, dict[str, Score | float]] = {
        f"q{at}": {"faithfulness": judged(1.0), "token_f1": 0.5} for at in range(3)
    }
    a = side(held, "a", question={"benchmark": "eval", "judge": JUDGED})
    for other, why in (
        ({**JUDGED, "model": "n"}, "the judge's model differs: 'm' and 'n'"),
        ({**JUDGED, "protocol": "ragas"}, "the judge's protocol differs"),
        ({**JUDGED, "prompts": {"verify/en": "xyz"}}, "the judge's prompts differ: verify/en"),
    ):
        b = side(held, "b", question={"benchmark": "eval", "judge": other})
        found = compare_runs(a, b)
        assert [row.metric for row in found.rows] == ["token_f1"]
        assert why in str(found.refused["faithfulness"])
        assert [row.metric for row in compare_runs(a, b, judges="different").rows] == ["faithfulness", "token_f1"]


def test_other_versions_of_a_metric_are_not_compared() -> None:
    a = side(values("m", 1.0, 0.0), "a", metrics={"m": 1})
    b = side(values("m", 1.0, 0.0), "b", metrics={"m": 2})
    found = compare_runs(a, b)
    assert found.rows == ()
    assert "version" in str(found.refused["m"])


def test_runs_of_different_benchmarks_share_no_question() -> None:
    with pytest.raises(UsageError, match="'eval' and b one of 'rgb'"):
        compare_runs(side(values("m", 1.0), "a"), side(values("m", 1.0), "b", question={"benchmark": "rgb"}))


def test_scores_that_failed_on_one_side_are_counted_and_not_compared() -> None:
    a = values("m", 1.0, 1.0, 0.0)
    b = values("m", 1.0, 1.0, 0.0)
    b["q001"] = {"m": Score.failed("timed_out: late")}
    (row,) = compared(a, b).rows
    assert (row.n, row.failed_a, row.failed_b) == (2, 0, 1)


def test_repeats_of_a_sample_are_one_cluster() -> None:
    def repeated(value: float) -> MemoryRun:
        held = [record(f"q{at}", {"m": value * at / 10}, repeat=r) for at in range(6) for r in range(3)]
        return MemoryRun(held, question={"benchmark": "eval"})

    (row,) = compare_runs(Side(repeated(0.5), "s", "a"), Side(repeated(1.0), "s", "b")).rows
    once = MemoryRun([record(f"q{at}", {"m": 0.5 * at / 10}) for at in range(6)], question={"benchmark": "eval"})
    twice = MemoryRun([record(f"q{at}", {"m": 1.0 * at / 10}) for at in range(6)], question={"benchmark": "eval"})
    (single,) = compare_runs(Side(once, "s", "a"), Side(twice, "s", "b")).rows
    assert row.n == 6  # what is compared is answers
    assert row.p == pytest.approx(single.p)
    assert (row.low, row.high) == pytest.approx((single.low, single.high))


def test_repeats_of_a_judge_are_one_score_however_many_there_are() -> None:
    once = MemoryRun([record(f"q{at}", {"m": 1.0}) for at in range(4)], question={"benchmark": "eval"})
    thrice = MemoryRun(
        [record(f"q{at}", {"m": float(r > 0)}, repeat=r) for at in range(4) for r in range(3)],
        question={"benchmark": "eval"},
    )
    found = compare_runs(Side(once, "s", "a"), Side(thrice, "s", "b"))
    assert (found.pairs, found.left_out) == (4, (0, 0))
    assert found.rows[0].b == pytest.approx(2 / 3)


def test_metrics_without_a_pair_and_metrics_of_one_side_only_are_reported() -> None:
    a = values("faithfulness", 1.0, 1.0)
    b: dict[str, dict[str, Score | float]] = {
        name: {"faithfulness": Score.failed("timed_out: late"), "token_f1": 0.5} for name in a
    }
    found = compared(a, b)
    assert found.rows == ()
    assert found.unpaired == {"faithfulness": (0, 2)}
    assert found.one_sided == ((), ("token_f1",))
    notes = comparison_tables(found)[0].notes
    assert any("faithfulness is not compared" in note and "2 in the second" in note for note in notes)
    assert any("token_f1" in note for note in notes)


def test_another_judge_model_behind_the_endpoint_is_reported() -> None:
    def run(model: str) -> dict[str, Any]:
        return {"q": {"m": Score.of(1.0, evidence={"verdicts": [{"step": "verify", "model": model}]})}}

    found = compared(run("gpt-2026-01"), run("gpt-2026-06"))
    assert found.judges == (("gpt-2026-01",), ("gpt-2026-06",))
    for language in ("en", "zh"):
        assert "gpt-2026-06" in comparison_tables(found, language=language)[0].notes[-1]
    assert "gpt" not in " ".join(comparison_tables(compared(run("gpt-1"), run("gpt-1")))[0].notes)


def test_a_part_of_the_cases_can_be_compared() -> None:
    a = MemoryRun(
        [record(f"q{at}", {"m": 1.0}, topic="x" if at < 3 else "y") for at in range(6)], question={"benchmark": "eval"}
    )
    b = MemoryRun(
        [record(f"q{at}", {"m": 0.0}, topic="x" if at < 3 else "y") for at in range(6)], question={"benchmark": "eval"}
    )
    assert compare_runs(Side(a, "s", "a"), Side(b, "s", "b"), where={"topic": "x"}).pairs == 3
