"""Topics of questions: clusters named by their words.

Questions of each language are clustered by themselves: TF-IDF without frequent and rare words, reduced by latent
semantic analysis (Deerwester et al. 1990), spherical k-means (Dhillon and Modha 2001). The number of clusters is the
one with the best simplified silhouette (Hruschka et al. 2004). The topics depend on the set of questions only, so that
two runs of the same questions have the same topics.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from ragstone.stats import Array
from ragstone.systems._cues import stop_words
from ragstone.text import Wording, detect

Bag: TypeAlias = tuple[str, ...]
"""The different topical words of a question."""

_FITTED = 2_000  # questions from which clusters are made; all are assigned
_WORDS = 1_000  # most frequent words that are used
_FREQUENT = 0.5  # words in a larger share of the questions name no topic
_DIMENSIONS = 40
_MOST_TOPICS, _LEAST_QUESTIONS = 12, 20  # clusters; questions per cluster, on average
_ROUNDS, _STARTS = 30, 3
_BLOCK = 2_000  # questions assigned at a time
_NAMED_BY = 3  # words of a name
_STOP_ZH = """
    什么 哪个 哪些 哪里 哪儿 多少 怎么 怎样 如何 为什么 为何 是否 可以 需要 请问 我们 你们 他们 时候 何时 有没有
    哪一年 哪年 哪天 哪位 一个 这个 那个 是不是 能否 什么样 以及 或者 因为 所以 但是 如果 已经 进行 关于 根据 其中
    主要 问题
"""
_STOP = frozenset(_STOP_ZH.split())


def topics_of(questions: Iterable[str], *, wording: Wording | None = None) -> dict[str, str]:
    """Question → name of its topic, such as "refund+invoice+card". Questions without a topical word, and those of a
    language with too few questions, have none. `wording`: what split the questions before."""
    by_language: dict[str, list[str]] = {}
    for question in sorted({*questions}):
        by_language.setdefault(detect(question), []).append(question)
    topics: dict[str, str] = {}
    for texts in by_language.values():
        if len(texts) >= 2 * _LEAST_QUESTIONS:
            topics |= _topics(texts, wording or Wording())
    return topics


def _topics(texts: Sequence[str], wording: Wording) -> dict[str, str]:
    bags = [tuple({word for word in wording(text) if _is_topical(word)}) for text in texts]
    frequencies = Counter(chain.from_iterable(bags))
    kept = [(-n, word) for word, n in frequencies.items() if 3 <= n <= _FREQUENT * len(texts)]
    vocabulary = [word for _, word in sorted(kept)[:_WORDS]]
    if len(vocabulary) < 2:
        return {}
    weights = np.array([math.log(len(texts) / frequencies[word]) for word in vocabulary])
    place = {word: number for number, word in enumerate(vocabulary)}

    def vectors(some: Sequence[Bag]) -> Array:
        rows = np.zeros((len(some), len(vocabulary)))
        found = [[place[word] for word in bag if word in place] for bag in some]
        columns = np.fromiter(chain.from_iterable(found), dtype=np.int64)
        rows[np.repeat(np.arange(len(some)), list(map(len, found))), columns] = weights[columns]
        return _unit(rows)

    step = -(-len(bags) // _FITTED)
    fitted = vectors(bags[::step])
    fitted = fitted[fitted.any(axis=1)]
    basis = np.linalg.eigh(fitted.T @ fitted)[1][:, -_DIMENSIONS:]
    centres = _best_clusters(_unit(fitted @ basis))
    assigned = np.concatenate([
        _assigned(vectors(bags[start : start + _BLOCK]) @ basis, centres) for start in range(0, len(bags), _BLOCK)
    ])  # fmt: skip
    names = _names(bags, assigned, len(centres))
    return {text: names[number] for text, number in zip(texts, assigned.tolist(), strict=True) if number >= 0}


@lru_cache(maxsize=65_536)
def _is_topical(word: str) -> bool:
    if word.isascii():
        return len(word) > 2 and any(map(str.isalpha, word)) and word not in stop_words()
    return len(word) > 1 and word not in _STOP


def _unit(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 1e-9, norms, 1.0)


def _assigned(rows: Array, centres: Array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The number of the nearest centre of each row; -1 for a row of zeros."""
    return _nearest(_unit(rows), np.linalg.norm(rows, axis=1) > 1e-9, centres)


def _nearest(units: Array, known: Any, centres: Array) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The same for rows of length 1, as far as they are `known`."""
    return np.where(known, np.argmax(np.round(units @ centres.T, 9), axis=1), -1)


def _best_clusters(rows: Array) -> Array:
    most = max(2, min(_MOST_TOPICS, len(rows) // _LEAST_QUESTIONS))
    tried = [_clusters(rows, k, seed) for k in range(2, most + 1) for seed in range(_STARTS)]
    return max(tried, key=lambda centres: round(_silhouette(rows, centres), 9))


def _clusters(rows: Array, k: int, seed: int) -> Array:
    """Spherical k-means from k-means++ starting points (Arthur and Vassilvitskii 2007); centres without rows go."""
    rng = np.random.Generator(np.random.PCG64(seed))
    chosen = [int(rng.integers(len(rows)))]
    for _ in range(k - 1):
        distance = np.clip(1 - (rows @ rows[chosen].T).max(axis=1), 0.0, None)
        if distance.sum() <= 1e-9:
            break
        chosen.append(int(np.searchsorted(np.cumsum(distance), rng.random() * distance.sum())))
    centres, before = rows[chosen], np.empty(0, dtype=np.int64)
    units, known = _unit(rows), np.linalg.norm(rows, axis=1) > 1e-9
    for _ in range(_ROUNDS):
        nearest = _nearest(units, known, centres)
        if np.array_equal(nearest, before):
            break
        centres = np.stack([rows[nearest == number].sum(axis=0) for number in np.unique(nearest[nearest >= 0])])
        centres, before = _unit(centres), nearest
    return centres


def _silhouette(rows: Array, centres: Array) -> float:
    if len(centres) < 2:
        return -1.0
    distances = np.sort(1 - rows @ centres.T, axis=1)
    own, other = distances[:, 0], distances[:, 1]
    return float(np.mean((other - own) / np.maximum(np.maximum(own, other), 1e-9)))


def _names(bags: Sequence[Bag], assigned: Iterable[int], count: int) -> list[str]:
    """The most distinctive words of each cluster: frequent in it, and more frequent than elsewhere."""
    numbers = list(assigned)
    sizes = Counter(numbers)
    inside: list[Counter[str]] = [Counter() for _ in range(count)]
    for bag, number in zip(bags, numbers, strict=True):
        if number >= 0:
            inside[number].update(bag)
    total = sum(inside, Counter[str]())
    names: list[str] = []
    for number, counts in enumerate(inside):
        rest = max(1, len(numbers) - sizes[number])

        def score(word: str, counts: Counter[str] = counts, size: int = sizes[number], rest: int = rest) -> float:
            share = counts[word] / max(1, size)
            return share * math.log((share + 0.001) / ((total[word] - counts[word]) / rest + 0.001))

        best = sorted(counts, key=lambda word: (-round(score(word), 9), word))[:_NAMED_BY]
        name = "+".join(best)
        names.append(name if name not in names else f"{name}+{number + 1}")
    return names
