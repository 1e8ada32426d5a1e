"""Effective lengths and the ends of their intervals, against values worked by hand."""

import pytest

from ragstone.benchmarks.niah.aggregate import CellScores
from ragstone.benchmarks.niah.effective import Bar, effective, nolima_bar, ruler_bar
from ragstone.stats import count_interval, wilson


def cells(found: dict[int, tuple[int, int]], *, repeats: int = 1) -> CellScores:
    """Length → cells found, of how many; all repeats of a cell are alike."""
    scores = CellScores()
    for length, (right, n) in found.items():
        for depth in range(n):
            scores.values[length, float(depth)] = [float(depth < right)] * repeats
    return scores


def test_a_length_is_sure_where_enough_cells_are_found_from_there_on() -> None:
    # Wilson's low end of 22 of 22 is 85.1%, of 23 of 23 it is 85.7%: only the latter excludes less than 85.6%.
    assert wilson(22, 22)[0] < 0.856 < wilson(23, 23)[0]
    both = effective(cells({1000: (12, 12), 2000: (11, 11), 4000: (12, 12)}), ruler_bar())
    assert (both.reached, both.low, both.high, both.ends) == (4000, 2000, None, True)
    fewer = effective(cells({1000: (11, 11), 2000: (11, 11)}), ruler_bar())
    assert (fewer.reached, fewer.low, fewer.high) == (2000, 0, None)


def test_a_length_is_excluded_where_its_own_interval_lies_below_the_bar() -> None:
    # The high end of 5 of 10 is 79.7%, the 96.5% quantile of beta(6, 5); of 6 of 10 it is 86.6%, of beta(7, 4).
    assert count_interval(5, 10)[1] < 0.856 < count_interval(6, 10)[1]
    grid = {1000: (10, 10), 2000: (10, 10), 4000: (10, 10), 8000: (6, 10), 16000: (5, 10)}
    found = effective(cells(grid), ruler_bar())
    assert (found.reached, found.low, found.high, found.ends) == (4000, 1000, 8000, False)
    assert effective(cells(grid | {32000: (6, 10)}), ruler_bar()).high is None  # the longest may still be above


def test_repeats_of_a_cell_that_always_agree_tell_no_more_than_one() -> None:
    grid = {1000: (10, 10), 2000: (6, 10), 4000: (7, 10)}
    once, often = (effective(cells(grid, repeats=repeats), ruler_bar()) for repeats in (1, 10))
    assert once == often


def test_nothing_is_sure_of_one_cell_a_length() -> None:
    found = effective(cells({1000: (1, 1), 2000: (0, 1)}), ruler_bar())
    assert (found.reached, found.low, found.high) == (1000, 0, None)


def test_nothing_found_may_begin_at_the_shortest_length_or_below() -> None:
    found = effective(cells({1000: (1, 20), 2000: (0, 20)}), ruler_bar())
    assert (found.reached, found.low, found.high) == (0, 0, 0)


def test_the_bar_of_nolima_is_a_share_of_an_uncertain_mean_that_the_shortest_length_meets() -> None:
    scores = cells({1000: (15, 20), 2000: (15, 20), 4000: (2, 20)})
    bar = nolima_bar(scores)
    assert bar is not None
    assert bar.score == pytest.approx([0.85 * end for end in (0.75, *count_interval(15, 20))])
    found = effective(scores, bar)
    assert (found.reached, found.low, found.high) == (2000, 1000, 2000)
    assert nolima_bar(cells({1000: (0, 20)})) is None


def test_pending_cases_end_the_search_and_leave_the_longer_lengths_open() -> None:
    scores = cells({1000: (20, 20), 2000: (20, 20)})
    scores.planned = {(4000, 0.0): 1}
    found = effective(scores, ruler_bar())
    assert (found.reached, found.low, found.high, found.ends, found.pending) == (2000, 1000, None, False, True)
    assert effective(scores, Bar((1.1, 1.1, 1.1))).reached == 0
