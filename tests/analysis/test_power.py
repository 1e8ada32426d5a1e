"""What a number of questions can show, against simulations and published figures."""

import numpy as np
import pytest

from ragstone.analysis.power import Spread, spread_of
from ragstone.stats import decide

_DRAWS = 400


def test_the_questions_that_a_difference_of_right_and_wrong_needs() -> None:
    # Connor 1987: (1.96 sqrt(0.3) + 0.8416 sqrt(0.3 - 0.01))^2 / 0.01 = 233; for the exact test about 20 more.
    found = Spread(100, 0.3, True, True).needed(0.1)
    assert 233 < found <= 256
    assert Spread(100, 0.3, True, True).needed(-0.1) == found
    assert Spread(100, 0.3, True, True).needed(0.1, tested=5) > 1.3 * found


def test_the_questions_that_a_shift_needs() -> None:
    # (1.959964 + 0.841621)^2 * 0.04 / 0.01, and a little for the shift itself in the variance that is tested.
    assert 31 <= Spread(10, 0.04, False, True).needed(0.1) <= 38


def test_few_questions_can_show_nothing_whatever_the_difference() -> None:
    # With five questions the exact test has p = 1/16 at best.
    assert Spread(5, 0.0, True, True).smallest() is None
    assert Spread(5, 0.01, False, False).smallest() is None
    assert Spread(9, 0.01, False, True).smallest() is not None
    assert Spread(9, 0.01, False, True).smallest(tested=40) is None


@pytest.mark.parametrize(("units", "changed"), [(30, 0.2), (100, 0.2), (300, 0.05)])
def test_the_smallest_difference_of_right_and_wrong_is_found_in_four_of_five_runs(units: int, changed: float) -> None:
    smallest = Spread(units, changed, True, True).smallest()
    assert smallest is not None
    rng = np.random.default_rng(3)
    both = max(changed, smallest)
    gains, losses = (both + smallest) / 2, (both - smallest) / 2
    drawn = rng.choice([1.0, -1.0, 0.0], size=(_DRAWS, units), p=[gains, losses, 1 - both])
    found = np.mean([decide((row < 0).astype(float), (row > 0).astype(float)).p < 0.05 for row in drawn])
    assert 0.72 <= found <= 0.93


def test_the_smallest_difference_of_scores_is_found_in_four_of_five_runs() -> None:
    rng = np.random.default_rng(4)
    before, noise = rng.uniform(0.3, 0.6, 40), rng.normal(0, 0.1, (_DRAWS, 40))
    spread = spread_of(before.tolist(), (before + noise[0]).tolist(), range(40))
    smallest = spread.smallest()
    assert smallest is not None
    found = np.mean([decide(before.tolist(), (before + smallest + row).tolist()).p < 0.05 for row in noise])
    assert 0.7 <= found <= 0.97


def test_the_pairs_of_a_question_are_one_unit() -> None:
    before, after = [0.0, 1.0, 0.5, 0.25], [1.0, 1.0, 0.25, 0.5]
    once = spread_of(before, after, list("wxyz"))
    twice = spread_of(before * 2, after * 2, list("wxyz") * 2)
    assert twice == once
    assert (once.units, once.whole, once.shares) == (4, False, True)
    assert spread_of([0.0, 1.0], [1.0, 1.0], "ab") == Spread(2, 0.5, True, True)
