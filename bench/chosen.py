"""The weights by which `answer_match` tells the value that an answer gives from one that it only mentions.

    python -m bench.chosen --rgb FOLDER

Fitted as those of `bench.open_questions`, on the developed half, where four of ten answers are traps; so that plain
right answers stay right, our own are in every fold, and so are sentences of real passages that state the reference:
what the extractive system answers to RGB's questions. FOLDER has en_fact.json and zh_refine.json (`ragstone pull rgb`).
Only answers count in which the reference is found; the measured half is not read.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench.labelled import LANGUAGES, Labelled, read
from bench.open_questions import Array, fit
from numpy.typing import NDArray

from ragstone.metrics._chosen import Choice, Text, chosen
from ragstone.metrics.answer_match import found_spans
from ragstone.systems.extractive import Extractive
from ragstone.types import Passage, Query

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


def _extracted(folder: Path) -> Iterator[tuple[Labelled, dict[str, float]]]:
    """What the extractive system answers from three positive and two negative passages, where it states the one
    reference of a question."""
    for name in ("en_fact", "zh_refine"):
        for line in (folder / f"{name}.json").read_text("utf-8").splitlines():
            row = json.loads(line)
            slots = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
            if len(slots) != 1:
                continue
            texts = [*row["positive"][:3], *row["negative"][:2]]
            query = Query(row["query"], tuple(Passage(str(place), text) for place, text in enumerate(texts)))
            answer = asyncio.run(Extractive().answer(query)).answer
            for alias in [slots[0]] if isinstance(slots[0], str) else slots[0]:
                said = Labelled((alias,), answer, True, True, row["query"])
                found = features(said)
                if found:
                    yield said, found
                    break


def _parted(count: int) -> NDArray[np.int64]:
    """The fold of each row."""
    return np.random.default_rng(0).permutation(count) % _FOLDS


def main() -> None:
    """Prints the weights, and what they are worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rgb", type=Path, required=True, metavar="FOLDER", help="with RGB's published files")
    rows = _read("developed")
    values, holds = _table(rows)
    own, own_holds = _table([row for row in _read("own") if row[0].holds])
    plain, plain_holds = _table(list(_extracted(parser.parse_args().rgb)))
    folds, plain_folds = _parted(len(holds)), _parted(len(plain))
    scores, plain_scores = np.zeros(len(holds)), np.zeros(len(plain))
    for fold in range(_FOLDS):
        rest, plain_rest = folds != fold, plain_folds != fold
        weights = fit(
            np.vstack([values[rest], plain[plain_rest], own]),
            np.concatenate([holds[rest], plain_holds[plain_rest], own_holds]),
        )
        scores[~rest], plain_scores[~plain_rest] = values[~rest] @ weights, plain[~plain_rest] @ weights
    said, true = scores > 0, holds > 0
    print(f"precision {(said & true).sum() / said.sum():.3f}, recall {(said & true).sum() / true.sum():.3f}")
    weights = fit(np.vstack([values, plain, own]), np.concatenate([holds, plain_holds, own_holds]))
    print(f"answers that stay right: our own {(own @ weights > 0).mean():.3f}, RGB's {(plain_scores > 0).mean():.3f}")
    for name, weight in zip(rows[0][1], weights, strict=True):
        print(f'    "{name}": {weight:.1f},')


if __name__ == "__main__":
    main()
