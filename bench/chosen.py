"""The weights by which `answer_match` tells the value that an answer gives from one that it only mentions.

    python -m bench.chosen

Fitted as those of `bench.open_questions`, on the developed half; our own answers are in every fold, so that plain right
answers stay right. Only answers count in which the reference is found; the measured half is not read.
"""

import numpy as np
from bench.labelled import LANGUAGES, Labelled, read
from bench.open_questions import Array, fit

from ragstone.metrics._chosen import Choice, Text, chosen
from ragstone.metrics.answer_match import found_spans

__all__: list[str] = []
_FOLDS = 10


def features(row: Labelled) -> dict[str, float] | None:
    """The features of an answer; None where the reference is not found, or is not one value."""
    if len(row.reference) != 1:
        return None
    alias, text = row.reference[0], Text(row.answer, row.question)
    spans = chosen(found_spans(alias, row.answer, row.question), text, alias, alone=False)
    return {"bias": 1.0, **Choice(spans, text, alias).features()} if spans else None


def _table(rows: list[tuple[Labelled, dict[str, float]]]) -> tuple[Array, Array]:
    values = np.array([[float(value) for value in found.values()] for _, found in rows])
    return values, np.array([float(row.holds) for row, _ in rows])


def _read(half: str) -> list[tuple[Labelled, dict[str, float]]]:
    rows = [row for language in LANGUAGES for row in read("matches", language, half) if row.knowable]
    return [(row, found) for row in rows if (found := features(row))]


def main() -> None:
    """Prints the weights, and what they are worth."""
    rows, plain = _read("developed"), [row for row in _read("own") if row[0].holds]
    values, holds = _table(rows)
    own, own_holds = _table(plain)
    folds = np.random.default_rng(0).permutation(len(holds)) % _FOLDS
    scores = np.zeros(len(holds))
    for fold in range(_FOLDS):
        rest = folds != fold
        weights = fit(np.vstack([values[rest], own]), np.concatenate([holds[rest], own_holds]))
        scores[~rest] = values[~rest] @ weights
    said, true = scores > 0, holds > 0
    print(f"precision {(said & true).sum() / said.sum():.3f}, recall {(said & true).sum() / true.sum():.3f}")
    weights = fit(np.vstack([values, own]), np.concatenate([holds, own_holds]))
    print(f"own answers that stay right: {(own @ weights > 0).mean():.3f}")
    for name, weight in zip(rows[0][1], weights, strict=True):
        print(f'    "{name}": {weight:.1f},')


if __name__ == "__main__":
    main()
