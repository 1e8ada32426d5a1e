"""Which questions to label next: known chances, a narrower interval, and the same coverage."""

import numpy as np
from bench.calibration import chosen, lopsided_world

from ragstone.analysis.next_labels import LEAST_OF_STRATUM, next_labels, score_strata


def test_strata_depend_on_the_scores_alone_and_keep_equal_scores_together() -> None:
    scores = {f"q{n}": (n % 10) / 10 for n in range(100)}
    strata = score_strata(scores)
    assert sorted(set(strata.values())) == ["0.00..0.20", "0.30..0.60", "0.70..0.90"]
    assert strata["q3"] == strata["q13"] == "0.30..0.60"
    assert set(score_strata({f"q{n}": float(n % 4 > 0) for n in range(40)}).values()) == {"0.00..0.00", "1.00..1.00"}
    rare = score_strata({f"q{n}": float(n == 0) for n in range(40)})
    assert set(rare.values()) == {"0.00..1.00"}  # one question in forty is no stratum
    assert score_strata({}) == {}


def test_most_labels_go_where_the_judge_errs_most() -> None:
    scores = {f"q{n}": 0.1 if n % 2 else 0.9 for n in range(400)}
    wrong = {f"q{n}": float(n % 4 == 0 if n % 2 == 0 else 0) for n in range(80)}
    plan = next_labels(scores, wrong, 60)
    of = {stratum.name: stratum for stratum in plan.strata}
    assert of["0.90..0.90"].spread > 1.3 * of["0.10..0.10"].spread
    assert of["0.90..0.90"].proposed > 1.5 * of["0.10..0.10"].proposed
    assert plan.now is not None
    assert plan.then < plan.at_random < plan.now
    assert len(plan.ids) == len({*plan.ids}) == 60
    assert not {*plan.ids} & {*wrong}


def test_a_longer_list_continues_a_shorter_one_and_few_labels_are_drawn_alike() -> None:
    scores = {f"q{n}": (n % 10) / 10 for n in range(300)}
    plan = next_labels(scores, {}, 50)
    assert plan.now is None
    assert [stratum.proposed for stratum in plan.strata] == [15, 20, 15]  # as the strata's sizes
    assert {*plan.ids} <= {*next_labels(scores, {}, 70).ids}
    assert {*plan.ids} != {*next_labels(scores, {}, 50, seed=1).ids}
    everything = next_labels(scores, {}, 10_000)
    assert len(everything.ids) == 300
    few = next_labels({f"q{n}": float(n < 100) for n in range(1000)}, {}, 100)
    assert min(stratum.proposed for stratum in few.strata) >= LEAST_OF_STRATUM


def test_labels_that_are_chosen_narrow_the_interval_and_keep_its_coverage() -> None:
    random, best = chosen(lopsided_world, 150, 200)
    covered = np.mean([one.low <= 0.876 <= one.high for one in best])
    assert 0.9 <= covered <= 0.99
    width = [np.mean([one.high - one.low for one in some]) for some in (random, best)]
    assert width[1] < 0.94 * width[0]
