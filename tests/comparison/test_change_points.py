"""Change points: what the tests of a series find, and how often they find what is not there."""

from itertools import permutations

import numpy as np
import pytest
from tests.examples import naming

from ragstone.analysis.power import spread_of
from ragstone.comparison.change_points import LEVEL, RunScores, Scan, changes, scan_figures, scan_scores
from ragstone.stats import RepeatVariance, decide


def same(*runs: list[float]) -> list[RunScores]:
    """Runs of the same questions."""
    return [RunScores(np.arange(len(run)), np.array(run, dtype=np.float64)) for run in runs]


def own(*runs: list[float]) -> list[RunScores]:
    """Runs of questions of their own."""
    return [RunScores(np.arange(len(run)) + 1000 * at, np.array(run, dtype=np.float64)) for at, run in enumerate(runs)]


def test_two_runs_of_the_same_questions_are_tested_as_pairs() -> None:
    """Nine questions fell: by the signs of nine, McNemar's exact test."""
    before, after = [1.0] * 20, [0.0] * 9 + [1.0] * 11
    scan = scan_scores(same(before, after))
    assert scan.place == 1
    assert scan.p == pytest.approx(2 / 2**9, abs=2e-3)


def test_two_runs_differ_in_a_trend_only_where_their_comparison_finds_it() -> None:
    """Seven of forty gained, none lost: 0.016 by their signs, 0.05 where a rare loss that they did not show is allowed
    for."""
    before, after = [0.0] * 10 + [0.4] * 30, [0.6] * 7 + [0.0] * 3 + [0.4] * 30
    scan = scan_scores(same(before, after))
    assert scan.p == decide(np.array(before), np.array(after)).p > LEVEL
    assert scan.visible == pytest.approx(spread_of(before, after, None).smallest())
    rng = np.random.default_rng(0)
    for _ in range(200):
        old = rng.random(30).round(1)
        new = np.where(rng.random(30) < 0.3, rng.random(30).round(1), old)
        assert scan_scores(same([*old], [*new])).p >= decide(old, new).p


def test_two_runs_of_other_questions_are_tested_as_independent_samples() -> None:
    """The same scores of other questions: Fisher's exact test has 0.0012 here, and that of pairs 0.004 with 9 of 20."""
    before, after = [1.0] * 20, [0.0] * 9 + [1.0] * 11
    assert scan_scores(own(before, after)).p == pytest.approx(0.0012, abs=2e-3)
    mixed = [1.0] * 12 + [0.0] * 8, [1.0] * 8 + [0.0] * 12
    assert scan_scores(own(*mixed)).p > 0.2


def test_identical_runs_of_a_deterministic_system_are_no_more_evidence_than_one() -> None:
    """Five questions changed for good, all for the worse: by the signs of five questions, however many nights it is."""
    before, after = [1.0] * 40, [0.0] * 5 + [1.0] * 35
    assert scan_scores(same(*[before] * 10, *[after] * 10)).p == pytest.approx(2 / 2**5, abs=0.01)


def test_a_shift_of_a_whole_run_is_tested_by_what_its_repeats_vary() -> None:
    """Means 0.7 and 0.5, of repeats that differ by 0.4: variance 0.08, Student's t of two degrees 0.2 / √0.08."""
    questions, repeats = np.tile(np.arange(20), 2), np.repeat([0, 1], 20)
    values = [np.repeat(means, 20) for means in ([0.9, 0.5], [0.7, 0.3])]
    runs = [RunScores(questions, run, 2) for run in values]
    assert scan_scores(runs).p < LEVEL
    variance = RepeatVariance.of((questions, repeats, run) for run in values)
    assert scan_scores(runs, variance=variance).p == pytest.approx(1 - 0.7071 / np.sqrt(2.5), abs=0.02)


def test_repeats_that_vary_no_more_than_chance_hide_no_change() -> None:
    questions = np.tile(np.arange(20), 2)
    runs = [RunScores(questions, np.repeat(right, 40).astype(float), 2) for right in (1, 0)]
    assert scan_scores(runs, variance=RepeatVariance(0.0, 0.0, 2)).p == scan_scores(runs).p < 0.001


def test_a_run_without_an_error_at_the_end_of_a_series_is_no_change() -> None:
    """The variance is not that of the one run, which has none."""
    rng = np.random.default_rng(5)
    runs = [list((rng.random(20) < 0.9).astype(float)) for _ in range(9)]
    for make in (same, own):
        with naming(make.__name__):
            assert scan_scores(make(*runs, [1.0] * 20)).p > 0.1


def test_the_place_of_a_change_is_found_where_every_question_changed_alike() -> None:
    for place in (1, 3, 6):
        scan = scan_scores(same(*[[1.0] * 9] * place, *[[0.0] * 9] * (7 - place)))
        assert scan.place == place
        assert 0.002 < scan.p < 0.01  # the signs of nine questions: 2 / 2**9


def test_a_change_is_found_at_its_run_by_many_questions_too() -> None:
    """With more than 5,000 units the means are drawn as normal."""
    rng = np.random.default_rng(1)
    chances = [0.85] * 6 + [0.80] * 6
    runs = [list((rng.random(1000) < chance).astype(float)) for chance in chances]
    scan = scan_scores(own(*runs))
    assert (scan.place, scan.p < 0.01) == (6, True)
    assert scan_scores(own(*runs[:6])).p > LEVEL


def test_series_that_never_vary_have_no_change() -> None:
    for make in (same, own):
        assert scan_scores(make([1.0] * 5, [1.0] * 5, [1.0] * 5)).p == 1.0
    assert scan_figures([3.0] * 9).p == 1.0
    assert scan_scores(same([100.0, 30.0], [100.0, 30.0])).p == 1.0


def test_what_is_visible_shrinks_with_the_questions() -> None:
    rng = np.random.default_rng(2)
    few, many = (
        scan_scores(same(*[list((rng.random(n) < 0.8).astype(float)) for _ in range(6)])).visible for n in (30, 480)
    )
    assert few is not None
    assert many is not None
    assert few / many == pytest.approx(4, rel=0.3)


def test_figures_of_few_runs_are_tested_by_every_order() -> None:
    figures = [1.0, 1.1, 0.9, 2.0, 2.2, 2.1]
    orders = [np.array(order) for order in permutations(figures)]

    def largest(series: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
        cuts = range(1, 6)
        return float(max(abs(series[:k].mean() - series[k:].mean()) * np.sqrt(k * (6 - k) / 6) for k in cuts))

    found = largest(np.array(figures))
    expected = np.mean([largest(order) >= found - 1e-9 for order in orders])
    scan = scan_figures(figures)
    assert scan.place == 3
    assert scan.p == pytest.approx(expected)


def test_levels_that_vary_from_run_to_run_are_no_change_of_figures() -> None:
    rng = np.random.default_rng(3)
    alarms = sum(scan_figures(list(rng.normal(0, 1, 12))).p <= LEVEL for _ in range(60))
    assert alarms <= 8
    assert scan_figures([*rng.normal(0, 1, 8), *rng.normal(4, 1, 6)]).p < 0.01


def test_a_rise_and_a_fall_are_both_found_with_their_share_of_the_level() -> None:
    series = [0.0] * 6 + [3.0] * 6 + [0.0] * 6
    asked = []

    def scan(low: int, high: int) -> Scan:
        asked.append((low, high))
        part = np.array(series[low:high])
        if part.min() == part.max():
            return Scan(1, 1.0)
        jump = int(np.abs(np.diff(part)).argmax()) + 1
        return Scan(jump, 0.03)

    assert changes(scan, scan(0, 18), 0, 18, level=0.05) == [(6, 0.03), (12, 0.03)]
    assert asked == [(0, 18), (0, 6), (6, 18), (6, 12), (12, 18)]
    assert changes(scan, scan(0, 18), 0, 18, level=0.04) == [(6, 0.03)]  # 12 of 18 runs have 0.027 of the level
    assert changes(scan, scan(0, 18), 0, 18, level=0.02) == []
