"""The weights by which `refusal` reads an answer together with its question, fitted on the developed half.

    python -m bench.open_questions

Logistic regression with a quadratic penalty on the features of `_open_questions.py`; precision and recall are of ten
folds, each judged by weights that were fitted without it. Phrases that were written on this half find more of its gaps
than of any other text's: in copies of each answer a part of the gaps is known by their negation only, or not at all.
The measured half is not read.
"""

import random
from dataclasses import replace

import numpy as np
from bench.labelled import LANGUAGES, Labelled, read
from numpy.typing import NDArray

from ragstone.metrics._open_questions import Reading, Unit, reading
from ragstone.metrics.refusal import refusal_spans

__all__ = ["Array", "fit"]
Array = NDArray[np.float64]
_PENALTY, _FOLDS, _STEPS = 1.0, 10, 25
_COPIES, _UNKNOWN = 4, 0.3


def features(row: Labelled, chance: random.Random | None = None) -> dict[str, float] | None:
    """The features of an answer; None where it has no gap. With `chance`, of a copy with fewer known gaps."""
    found = reading(row.answer, row.question, by_phrase=bool(refusal_spans(row.answer)))
    if found is None:
        return None
    if chance:
        units = [_forgotten(unit, chance) for unit in found.units]
        if not any(unit.gap for unit in units):
            return None
        declines = found.by_phrase and chance.random() > _UNKNOWN
        found = Reading(found.folded, units, found.language, found.question, declines)
    return {"bias": 1.0, **found.features()}


def _forgotten(unit: Unit, chance: random.Random) -> Unit:
    known = unit.kind in {"silent", "unable"} and chance.random() < _UNKNOWN
    return replace(unit, kind="negated") if known else unit


def fit(values: Array, holds: Array, copies: int = 1) -> Array:
    """The weights, by Newton's method; `copies`: rows for each answer."""
    weights = np.zeros(values.shape[1])
    penalty = _PENALTY * copies * np.eye(len(weights))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (chance - holds) + penalty @ weights
        weights -= np.linalg.solve((values.T * (chance * (1 - chance))) @ values + penalty, slope)
    return weights


def main() -> None:
    """Prints the weights, and what they are worth."""
    rows = [(language, row) for language in LANGUAGES for row in read("refusals", language, "developed")]
    read_rows = [(language, row, found) for language, row in rows if (found := features(row))]
    names = list(read_rows[0][2])
    values, holds = _table([(row, found) for _, row, found in read_rows], names)
    folds = np.random.default_rng(0).permutation(len(holds)) % _FOLDS
    scores = np.zeros(len(holds))
    for fold in range(_FOLDS):
        scores[folds == fold] = values[folds == fold] @ _fitted([
            row for (_, row, _), of in zip(read_rows, folds, strict=True) if of != fold
        ], names)  # fmt: skip
    print(f"loss {np.logaddexp(0, -(2 * holds - 1) * scores).mean():.4f}")
    for language in LANGUAGES:
        here = np.array([language == of for of, _, _ in read_rows])
        said, true = (scores > 0) & here, (holds > 0) & here
        all_true = sum(row.holds for of, row in rows if of == language)
        right = (said & true).sum()
        print(f"{language}: precision {right / said.sum():.3f}, recall {right / all_true:.3f}")
    for name, weight in zip(names, _fitted([row for _, row, _ in read_rows], names), strict=True):
        print(f'    "{name}": {weight:.1f},')


def _table(rows: list[tuple[Labelled, dict[str, float]]], names: list[str]) -> tuple[Array, Array]:
    values = np.array([[float(found[name]) for name in names] for _, found in rows])
    return values, np.array([float(row.holds) for row, _ in rows])


def _fitted(rows: list[Labelled], names: list[str]) -> Array:
    """The weights for these answers and their copies."""
    chance = random.Random(0)
    copies = [(row, features(row, chance if copy else None)) for row in rows for copy in range(_COPIES)]
    return fit(*_table([(row, found) for row, found in copies if found], names), _COPIES)


if __name__ == "__main__":
    main()
