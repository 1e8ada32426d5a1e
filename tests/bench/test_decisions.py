"""That chance is taken for a difference as rarely as `docs/what-the-numbers-mean.md` says."""

import pytest
from bench.decisions import cells, seconds


def test_chance_is_rarely_taken_for_a_difference_by_few_questions() -> None:
    found = list(cells(400, (10,)))
    assert max(cell.false for cell in found) <= 0.06
    assert max(cell.false_before for cell in found) > 0.5  # what it replaces


@pytest.mark.slow
def test_chance_is_rarely_taken_for_a_difference() -> None:
    assert not {(cell.name, cell.n): cell.false for cell in cells(2000) if cell.false > 0.06}


@pytest.mark.slow
def test_many_comparisons_take_seconds() -> None:
    assert seconds(100) < 1.2  # 10,000 of them: two minutes on the slowest machine, ten seconds on ours
