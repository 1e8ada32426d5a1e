"""That the intervals of a needle test contain the truth as often as they say, coarsely."""

import numpy as np
from bench.needle_coverage import effective_lengths, means, template_errors


def test_intervals_over_cells_whose_repeats_are_alike_cover_their_mean() -> None:
    shares = {row[:3]: row[3] for row in means(120)}
    assert len(shares) == 68
    assert not {cells: share for cells, share in shares.items() if share < 0.935}
    assert 0.94 <= np.mean(list(shares.values())) <= 0.975
    # Where repeats are alike (a correlation of 0.3 or more) the intervals are not too wide either.
    assert not {cells: share for cells, share in shares.items() if cells[2] >= 0.3 and share > 0.985}


def test_intervals_of_effective_lengths_contain_the_true_one() -> None:
    rows = list(effective_lengths(12))
    assert len(rows) == 27
    assert np.mean([under + over for _, _, under, over, *_ in rows]) <= 0.03
    found = {row[0]: row for row in rows}
    assert found["breaks off, 15 depths × 3"][4:] >= (4, 5.5, 6)  # and they say something
    assert found["breaks off, 15 depths × 3"][6] <= 7


def test_equal_templates_seldom_differ_and_would_often_if_each_trial_counted() -> None:
    by_cell, by_trial = template_errors(120)
    assert by_cell <= 0.08
    assert by_trial >= 0.12
