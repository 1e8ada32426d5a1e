"""Search that the teams without a framework wrote: an inverted index with BM25, and a hashing embedder."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from typing import TYPE_CHECKING

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.diagnosis.strangers.ingest import Row
    from bench.diagnosis.strangers.settings import Settings

_SIZE = 1024


def _idf(texts: Sequence[str]) -> dict[str, float]:
    counts = Counter(word for text in texts for word in set(words(text)))
    return {word: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in counts.items()}


class Index:
    """Rows, searched by BM25."""

    def __init__(self, rows: Sequence[Row], settings: Settings) -> None:
        self.rows, self.settings = list(rows), settings
        self.counts = [Counter(words(row.text)) for row in rows]
        self.idf = _idf([row.text for row in rows])
        self.mean = sum(sum(count.values()) for count in self.counts) / max(1, len(rows))

    def score(self, wanted: Sequence[str], at: int) -> float:
        """BM25 of one row."""
        count = self.counts[at]
        length = 1.2 * (0.4 + 0.6 * sum(count.values()) / self.mean)
        return sum(self.idf[word] * count[word] * 2.2 / (count[word] + length) for word in wanted if word in count)

    def search(self, question: str, k: int) -> list[tuple[Row, float]]:
        """The k best rows with their scores."""
        settings = self.settings
        wanted = words(policy.query(question, settings))
        scored: list[tuple[float, int]] = []
        for at, row in enumerate(self.rows):
            if not policy.allowed(row.department, settings):
                continue
            if settings.has("all_words_required") and not all(word in self.counts[at] for word in wanted):
                continue
            if (score := self.score(wanted, at) * policy.weight(row.document, settings)) > 0:
                scored.append((score, at))
        best = sorted(scored, key=lambda pair: (-pair[0], pair[1]))
        if settings.has("score_threshold"):
            best = [pair for pair in best if pair[0] >= (16.0 if settings.language == "en" else 26.0)]
        return [(self.rows[at], score) for score, at in best[:k]]


class Embedder:
    """Vectors of hashed words, weighted by how rare they are; stands for an embedding model."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.idf = _idf(texts)

    def embed(self, text: str, version: str = "v1") -> list[float]:
        """A unit vector. Vectors of different versions of the model have nothing in common."""
        vector = [0.0] * _SIZE
        for word, count in Counter(words(text)).items():
            place = int.from_bytes(hashlib.md5(f"{version}{word}".encode()).digest()[:4], "big")
            vector[place % _SIZE] += self.idf.get(word, 1.0) * (1 + math.log(count))
        vector[0] += 1e-3  # a text without known words has a vector, too
        norm = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / norm for value in vector]


def question_version(settings: Settings) -> str:
    """The model that embeds questions: after an upgrade another one than embedded the documents."""
    return "v2" if settings.has("embedder_broken") else "v1"
