"""That chance is taken for a difference as rarely as `docs/what-the-numbers-mean.md` says."""

import pytest
from bench.decisions import cells


def test_chance_is_rarely_taken_for_a_difference_by_few_questions() -> None:
    found = list(cells(200, (10,)))
    assert max(cell.false for cell in found) <= 0.06
    assert max(cell.false_before for cell in found) > 0.5  # what it replaces


@pytest.mark.slow
def test_chance_is_rarely_taken_for_a_difference() -> None:
    assert not {(cell.name, cell.n): cell.false for cell in cells(2000) if cell.false > 0.06}
