"""What `bench/retrieval.py` measures with: vectors, texts, ranked lists and files, the same in every run."""

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SETTINGS", "official_files", "tied_lists", "unit_vectors", "word_texts"]

SETTINGS = ("base", "oracle", "mixed")
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sta", "ing")


def unit_vectors(n: int, dimensions: int, seed: int) -> "np.ndarray[Any, Any]":
    """(n, dimensions) float32, in all directions."""
    import numpy as np  # noqa: PLC0415

    matrix = np.random.default_rng(seed).standard_normal((n, dimensions), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix)


def word_texts(n: int, length: int, seed: int) -> list[str]:
    """Texts of so many words, of 50,000 that are as unevenly frequent as those of a language."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 50_001) ** 1.05
    shares /= shares.sum()
    return [" ".join(f"w{word}" for word in rng.choice(50_000, length, p=shares)) for _ in range(n)]


def tied_lists(n: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run of lists of 100 documents and their labels. There are 21 scores, so that nearly every document has an
    equal; of one to five labels in the list some are 0, and two labelled documents were not found."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(0)
    run: dict[str, dict[str, float]] = {}
    labels: dict[str, dict[str, int]] = {}
    for number in range(n):
        ids = rng.permutation(5_000)[:100]
        scores = np.round(rng.random(100) * 20) / 20
        run[f"q{number}"] = {f"d{one}": float(score) for one, score in zip(ids, scores, strict=True)}
        picked = np.concatenate([rng.choice(ids, rng.integers(1, 6), replace=False), rng.integers(5_000, 6_000, 2)])
        grades = [1, *rng.integers(0, 4, len(picked) - 1).tolist()]
        labels[f"q{number}"] = {f"d{one}": grade for one, grade in zip(picked, grades, strict=True)}
    return run, labels


def official_files(dataset: Path, folder: Path) -> int:
    """Predictions and results of retrieval as models and retrievers would leave them; chunks of about 330 tokens."""
    rows = json.loads(dataset.read_text(encoding="utf-8"))
    rng = random.Random(0)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(900)]
    for setting in SETTINGS:
        said = [rng.choice(row["answer"]) if rng.random() < 0.6 else " ".join(rng.choices(words, k=8)) for row in rows]
        said = [
            f"The answer is {one}, {' '.join(rng.choices(words, k=20))}" if rng.random() < 0.5 else one for one in said
        ]
        (folder / f"{setting}.json").write_text(
            json.dumps([{**row, "model_predictions": [one]} for row, one in zip(rows, said, strict=True)])
        )
    chunks = [
        {
            "mapped_id": row["query_id"], "doc_name": row["doc_name"], "doc_chunk": " ".join(rng.choices(words, k=260)),
            "support": int(place < row["num_doc_labels"]),
        }
        for row in rows
        for place in range(5)
    ]  # fmt: skip
    (folder / "doc_pool.json").write_text(json.dumps(chunks))
    for number in range(3):
        found = []
        for place, row in enumerate(rows):
            some = chunks[5 * place : 5 * place + 5] + [chunks[rng.randrange(len(chunks))] for _ in range(5)]
            top = rng.sample(some, 5)
            found.append({"query_id": row["query_id"], "top_chunks": top, "scores": [0.5] * 5})
        (folder / f"found-{number}.json").write_text(json.dumps(found))
    return len(rows)
