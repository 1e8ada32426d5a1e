"""Near-duplicates among texts, by MinHash over runs of three words (the library `rensa`)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ragstone.optional import load
from ragstone.text.wording import Wording

T = TypeVar("T")

_PERMUTATIONS, _BANDS = 128, 16
_RUN = 3  # words


class NearDuplicates:
    """Remembers texts; `add` says which earlier one a text nearly repeats. `least`: the Jaccard similarity of their
    runs of three words from which two texts of one group are near-duplicates; of two groups only equal ones are."""

    def __init__(self, least: float = 0.8) -> None:
        rensa = load("rensa", extra="build", purpose="`ragstone build`")
        self._rensa, self._least = rensa, least
        self._index = rensa.RMinHashLSH(threshold=least, num_perm=_PERMUTATIONS, num_bands=_BANDS)
        self._hashes: list[Any] = []
        self._runs: list[tuple[frozenset[str], str | None]] = []
        self._words = Wording()

    def add(self, text: str, group: str | None = None) -> int | None:
        """The number of the first earlier text that this one nearly repeats, and None for a new one, which is kept. A
        text without a group is of every group."""
        runs = self._runs_of(text)
        minhash = self._rensa.RMinHash(num_perm=_PERMUTATIONS, seed=1)
        minhash.update(sorted(runs))
        near: list[int] = sorted(
            number for number in self._index.query(minhash) if self._similar(runs, group, *self._runs[number])
        )
        if near:
            return near[0]
        self._index.insert(len(self._runs), minhash)
        self._runs.append((runs, group))
        return None

    def _runs_of(self, text: str) -> frozenset[str]:
        words = self._words(text)
        if len(words) <= _RUN:
            return frozenset([" ".join(words)])
        return frozenset(" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))

    def _similar(self, a: frozenset[str], group: str | None, b: frozenset[str], other: str | None) -> bool:
        one_group = group is None or other is None or group == other
        return a == b or (one_group and len(a & b) >= self._least * len(a | b))


def distinct(
    items: Iterable[T],
    text: Callable[[T], str],
    *,
    group: Callable[[T], str | None] = lambda _: None,
    least: float = 0.8,
) -> tuple[Sequence[T], Sequence[tuple[T, T]]]:
    """The items whose texts repeat no earlier one, and the others, each with the item that it nearly repeats."""
    seen, kept = NearDuplicates(least), list[T]()
    repeated: list[tuple[T, T]] = []
    for item in items:
        near = seen.add(text(item), group(item))
        if near is None:
            kept.append(item)
        else:
            repeated.append((item, kept[near]))
    return kept, repeated
