"""The variance between repeats, by hand."""

import numpy as np
import pytest

from ragstone.stats import Indices, RepeatVariance, widened
from ragstone.stats.intervals import Array


def run(*rows: list[float]) -> tuple[Indices, Indices, Array]:
    """A run from the scores of each question by repeat."""
    values = np.array(rows)
    questions, repeats = np.indices(values.shape)
    return questions.ravel(), repeats.ravel(), values.ravel()


NOISY = run([1.0, 0.0], [1.0, 1.0])  # means 1 and 0.5: variance 1/8; residuals of 1/4: 4/16 / (1 · 1) / 2 = 1/8
SHIFTED = run(*[[1.0, 0.0]] * 4)  # means 1 and 0: variance 1/2; no residual


def variance(*runs: tuple[Indices, Indices, Array]) -> RepeatVariance:
    found = RepeatVariance.of(runs)
    assert found is not None
    return found


def test_what_shifts_all_questions_is_told_from_what_varies_by_question() -> None:
    assert variance(NOISY) == RepeatVariance(0.125, 0.125, 1)
    assert variance(NOISY).shift == 0.0
    assert variance(SHIFTED) == RepeatVariance(0.5, 0.0, 1)
    assert variance(SHIFTED).shift == 0.5


def test_runs_are_pooled_by_their_degrees_of_freedom() -> None:
    assert variance(NOISY, SHIFTED) == RepeatVariance(0.3125, 0.0625, 2)
    three = run(*[[0.9, 0.6, 0.3]] * 2)  # squares 2 · 0.09 with two degrees of freedom
    pooled = variance(three, SHIFTED)
    assert pooled.between == pytest.approx((0.18 + 0.5) / 3)
    assert pooled.degrees == 3
    assert pooled.rest == pytest.approx(0.0)


def test_several_scores_of_a_question_in_a_repeat_are_one_cell() -> None:
    questions, repeats, values = (np.concatenate(columns) for columns in zip(NOISY, NOISY, strict=True))
    assert variance((questions, repeats, values)) == variance(NOISY)


def test_a_question_that_a_repeat_lacks_is_left_out() -> None:
    questions, repeats, values = run([1.0, 0.0], [1.0, 1.0], [0.0, 1.0])
    assert variance((questions[:-1], repeats[:-1], values[:-1])) == variance(NOISY)


@pytest.mark.parametrize("alone", [run([1.0, 0.0]), run([1.0], [0.0])], ids=["one question", "one repeat"])
def test_without_two_repeats_of_two_questions_there_is_none(alone: tuple[Indices, Indices, Array]) -> None:
    assert RepeatVariance.of([alone]) is None


def test_draws_allow_for_few_repeats() -> None:
    """1/shift is drawn as χ² / degrees: its mean is that of the variance's inverse, and its median is above it."""
    drawn = RepeatVariance(0.5, 0.0, 4).drawn(40_000, np.random.default_rng(0))
    assert (1 / drawn).mean() == pytest.approx(2.0, rel=0.02)
    assert np.median(drawn) == pytest.approx(0.5 * 4 / 3.3567, rel=0.02)  # the median of χ² with four degrees
    few = RepeatVariance(0.125, 0.125, 1).drawn(40_000, np.random.default_rng(0))
    assert few.min() == 0.0
    assert np.mean(few > 0) == pytest.approx(0.6827, abs=0.01)  # χ² with one degree is below 1


def test_an_interval_reaches_as_far_as_repeats_vary() -> None:
    reach = RepeatVariance(0.02, 0.01, 4).reach(1 / 3 + 1 / 3)
    assert reach == pytest.approx(2.7764 * (0.01 * 2 / 3) ** 0.5, rel=1e-4)
    assert widened(0.1, (0.07, 0.14), 0.0) == pytest.approx((0.07, 0.14))
    assert widened(0.1, (-0.2, 0.4), 0.4) == pytest.approx((-0.4, 0.6))
    assert widened(0.8, (0.5, 0.9), 0.4, most=1.0) == pytest.approx((0.3, 1.0))
