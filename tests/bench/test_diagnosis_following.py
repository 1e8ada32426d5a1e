"""The first advice of a diagnosis, followed on the faulty system with other questions, buys what it said."""

from pathlib import Path

import pytest
from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.following import GOAL, Followed, followed, trials
from bench.diagnosis.worlds import fictional

TRIED = ("rewriter drops the subject", "k = 1", "reranker reversed")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_following_the_first_advice_buys_a_gain_inside_its_interval(tmp_path: Path) -> None:
    """Three faults whose changes are tried, and three of which only the most is known, each with other questions."""
    names = (*TRIED, "loses 20% of gold", "documents missing", "mixes entities")
    population = fictional(120, seed=7)
    found: list[Followed] = []
    for trial in trials([(FAULTS[name],) for name in names], population, 1):
        fix = diagnosed(trial, tmp_path).result.fixes()[0]
        assert fix.cause == trial.faults[0].cause, trial.name
        assert fix.tried == (trial.faults[0].name in TRIED), trial.name
        found.append(followed(trial, fix, population))
    inside = [one.inside for one in found if one.inside is not None]
    assert len(inside) >= 5
    assert sum(inside) >= GOAL * len(inside), [one.row for one in found]
    assert all(one.truth > 0 for one in found if one.fix.tried)
