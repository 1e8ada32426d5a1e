"""A planted bad question of every kind is rejected for its reason, and the right ones beside it are kept."""

import pytest
from bench.build_types import PLANTED, measure


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", PLANTED)
def test_bad_questions_of_a_type_are_caught_and_good_ones_kept(kind: str, language: str) -> None:
    found = measure(PLANTED[kind], language, 16)
    assert found.bad >= 2
    assert found.caught == found.bad
    assert found.strange == ()
    assert found.lost <= 0.05 * found.good
    assert found.good >= 6 or PLANTED[kind].all_bad
