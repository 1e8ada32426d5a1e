"""Agreement of raters and calibrated means equal other libraries' figures, and published ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import calibration
from ragstone.analysis.calibration import LEAST_LABELS, calibrated_mean
from ragstone.analysis.raters import alpha, bootstrap, fleiss_kappa, pearson, ranks, spearman, weighted_kappa
from ragstone.errors import UsageError

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "raters_oracle.json").read_text(encoding="utf-8"))
EXPERTS = Path(__file__).parents[3] / "shared" / "data" / "experts" / "ragchecker_meta.jsonl"


def ratings(name: str) -> Any:
    return np.array([[np.nan if value is None else value for value in row] for row in ORACLE[name]], dtype=float)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_with_missing_values_equals_krippendorffs(level: Any) -> None:
    assert alpha(ratings("missing"), level) == pytest.approx(ORACLE["alpha"][level], abs=1e-12)


def test_fleiss_kappa_equals_statsmodels() -> None:
    assert fleiss_kappa(ratings("ratings")) == pytest.approx(ORACLE["fleiss"], abs=1e-12)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_weighted_kappa_equals_scikit_learn(weights: Any) -> None:
    rows = ratings("ratings")
    assert weighted_kappa(rows[:, 0], rows[:, 1], weights) == pytest.approx(ORACLE["weighted"][weights], abs=1e-12)


def test_correlations_equal_scipy() -> None:
    rows = ratings("ratings")
    assert pearson(rows[:, 0], rows[:, 2]) == pytest.approx(ORACLE["pearson"], abs=1e-12)
    assert spearman(rows[:, 0], rows[:, 2]) == pytest.approx(ORACLE["spearman"], abs=1e-12)
    assert list(ranks(np.array([3.0, 1.0, 3.0, 2.0]))) == [3.5, 1.0, 3.5, 2.0]


def test_what_is_undefined_is_none() -> None:
    same = np.ones((4, 2))
    assert alpha(same) is None
    assert fleiss_kappa(same) is None
    assert weighted_kappa(same[:, 0], same[:, 1]) is None
    assert pearson(same[:, 0], same[:, 1]) is None
    assert alpha(np.array([[1.0, np.nan], [np.nan, 2.0]])) is None
    assert bootstrap(lambda rows: 1.0, same[:1]) is None


@pytest.mark.parametrize("case", ORACLE["ppi"], ids=["perfect", "good", "useless", "reversed"])
def test_a_calibrated_mean_equals_ppi_python(case: dict[str, Any]) -> None:
    found = calibrated_mean(case["y"], case["f"], case["u"])
    assert found.mean == pytest.approx(case["mean"], abs=1e-9)
    # Deviations against the other labels, and those that few labels do not show: wider by up to 3% at 80 labels.
    half = (case["high"] - case["low"]) / 2
    assert found.error * 1.959964 == pytest.approx(half, rel=0.015)
    assert 1.0 < (found.high - found.low) / (2 * half) < 1.04


@pytest.mark.parametrize("quality", ["perfect", "useless", "reversed"])
@pytest.mark.parametrize("kind", ["0/1", "graded"])
def test_the_calibrated_interval_covers_the_truth_whatever_the_judge_is_worth(quality: str, kind: str) -> None:
    found = calibration.at_random(kind, quality, 50, 0.8, 700)
    covered = sum(one.low <= 0.8 <= one.high for one in found) / len(found)
    # 92% and less for a perfect judge, if the interval were Student's. Labels with which it always agrees do not show
    # that it never errs.
    assert 0.93 <= covered <= (0.99 if (quality, kind) == ("perfect", "0/1") else 0.975)
    width, alone = (np.mean([b - a for a, b in ends]) for ends in (
        [(one.low, one.high) for one in found], [one.labels_only[1:] for one in found]
    ))  # fmt: skip
    assert width <= 1.05 * alone
    assert (width < 0.6 * alone) == (quality == "perfect")


def test_strata_that_are_labelled_unequally_still_cover_the_mean_of_all() -> None:
    rng = np.random.default_rng(8)
    covered = plain = 0
    for _ in range(400):
        strata = np.array(["a", "b"])[(rng.random(800) < 0.5).astype(int)]
        truth = (rng.random(800) < np.where(strata == "a", 0.9, 0.4)).astype(float)
        judge = np.clip(truth * 0.6 + 0.4 * rng.random(800), 0, 1)
        chosen = rng.random(800) < np.where(strata == "a", 0.05, 0.25)
        found = calibration.calibrated(truth, judge, chosen, strata)
        covered += found.low <= 0.65 <= found.high
        alone = calibration.calibrated(truth, judge, chosen)
        plain += alone.low <= 0.65 <= alone.high
    assert 0.925 <= covered / 400 <= 0.98
    assert plain < covered


def test_the_judge_saves_labels_only_where_it_is_of_use() -> None:
    perfect, _, useless, contrary = (calibrated_mean(case["y"], case["f"], case["u"]) for case in ORACLE["ppi"])
    assert perfect.saved > 300
    assert perfect.weight > 0.85
    assert useless.saved == contrary.saved == 0
    assert contrary.weight == 0.0
    for found in (perfect, useless, contrary):
        assert found.high - found.low <= 1.05 * (found.labels_only[2] - found.labels_only[1])


def test_strata_are_calibrated_one_by_one() -> None:
    rng = np.random.default_rng(3)
    strata = np.array(["a", "b"] * 300)
    truth = (rng.random(600) < np.where(strata == "a", 0.9, 0.2)).astype(float)
    judge = np.where(strata == "a", 1.0 - 0.5 * (rng.random(600) < 0.5), truth)
    chosen = np.arange(600) < 120
    both = calibrated_mean(truth[chosen], judge[chosen], judge[~chosen],
                           strata=(list(strata[chosen]), list(strata[~chosen])))  # fmt: skip
    assert both.low <= truth.mean() <= both.high
    plain = calibrated_mean(truth[chosen], judge[chosen], judge[~chosen])
    assert both.high - both.low < plain.high - plain.low


def test_too_few_labels_are_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match=f"49 labels: a calibrated mean needs {LEAST_LABELS} or more"):
        calibrated_mean([1.0] * 49, [1.0] * 49, [0.5] * 100)
    labels = [0.0, 1.0] * 30
    with pytest.raises(UsageError, match="The stratum 'b' has 1 labels"):
        calibrated_mean(labels, labels, [0.5], strata=(["a"] * 59 + ["b"], ["a"]))


@pytest.mark.skipif(not EXPERTS.is_file(), reason="the expert labels of RAGChecker are not beside this clone")
@pytest.mark.parametrize(
    ("aspect", "experts", "judge"),
    [("correctness", (63.67, 59.19), (49.66, 46.95)), ("completeness", (71.91, 68.36), (60.67, 58.11)),
     ("overall", (70.09, 68.89), (61.93, 60.90))],
)  # fmt: skip
def test_the_published_correlations_of_ragchecker(
    aspect: str, experts: tuple[float, float], judge: tuple[float, float]
) -> None:
    rows = [json.loads(line) for line in EXPERTS.read_text(encoding="utf-8").splitlines()]
    labels = np.array([row["labels"][aspect] for row in rows], dtype=float)
    assert len(labels) == 280
    found = (pearson(labels[:, 0], labels[:, 1]), spearman(labels[:, 0], labels[:, 1]))
    assert [round(100 * (value or 0), 2) for value in found] == list(experts)
    scores = np.array([[np.nan if v is None else v for v in row["judge"][aspect]] for row in rows], dtype=float)
    filled = np.where(np.isnan(scores), np.nanmedian(scores), scores)
    gap = filled[:, 1] - filled[:, 0]
    twice, people = np.concatenate([gap, gap]), np.concatenate([labels[:, 0], labels[:, 1]])
    assert round(100 * (pearson(twice, people) or 0), 2) == judge[0]
    # Differences that are equal but for the rounding of floats have one rank or two: the second decimal depends on it.
    assert 100 * (spearman(twice, people) or 0) == pytest.approx(judge[1], abs=0.025)
