"""That slices without an effect are rarely named and planted ones are found, coarsely (`bench/slices.py`)."""

import pytest
from bench.slices import NOISE, PLANTED, REPEATS, Planted, false_alarms, power
from scipy.stats import binom

pytestmark = pytest.mark.slow
REPLICATES = 80


@pytest.mark.parametrize("conditions", [({},), REPEATS, NOISE], ids=["one answer", "repeats", "conditions"])
def test_nothing_is_named_where_nothing_fails_more(conditions: tuple[dict[str, float], ...]) -> None:
    alarms, tested = false_alarms(REPLICATES, 150, conditions=conditions)
    assert tested > 100
    assert alarms <= binom.ppf(0.999, REPLICATES, 0.05)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_what_is_planted_is_found_and_comes_first(planted: Planted) -> None:
    found, first, beside = power(20, 600, planted, 0.75)
    assert found >= 0.9
    assert first >= 0.85
    assert beside <= 0.4
