"""What every language of the fictional data is made of, and the small tools that keep it deterministic.

The standard library promises the same sequence for a seed only for `random.random()`; `choice`, `sample` and `shuffle`
may change between versions of Python. So everything here is made from `random()` alone, and nothing iterates a set.
"""

import datetime as dt
import hashlib
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from ragstone.structs import Frozen

T = TypeVar("T")
RANGE = re.compile(r"~(\d+)-(\d+)(?:/(\d+))?")


class Unmet(Exception):
    """No sentence is left that may be used here: the row is generated again from another seed."""


class Stuck(Exception):
    """A passage could not be written without breaking a rule: the question is drawn again."""


class DuplicateEvent(Exception):
    """Another question has this event: the question is drawn again, before its chunks are written."""


class Document(Frozen, frozen=True):
    """A passage and what it is good for.

    Positives: "plain" (states the answer), "brief" (a short item that states it) or "far" (names what is asked about at
    the start and answers much later). Negatives: "rumour" (uncertain evidence from before the event), "other_year",
    "other_category" (concept confusion) or "related" (same subject, no answer). `beside`: the texts that stand on the
    same page, until it is cut (see `pages`).
    """

    text: str
    kind: str
    beside: tuple[str, ...] = ()


class GeneratedItem(Frozen, frozen=True):
    """A generated question. `positive` has one group for base questions, and one group a slot for integration; a
    document of group i holds an alias of slot i (base: of every slot). No negative holds any alias."""

    query: str
    slots: tuple[tuple[str, ...], ...]
    positive: tuple[tuple[Document, ...], ...]
    negative: tuple[Document, ...]
    domain: str


class PoolChunk(Frozen, frozen=True):
    """A document of a pool with its article's title. `support`: it states the answer of its question; where a question
    needs two chunks, the fact that tells which event is meant, or the answer of that event."""

    document: Document
    title: str
    support: bool = False


class Collected(Frozen, frozen=True):
    """A question with the chunks collected for it. `facts` are the aliases of what must be known to answer it: those of
    the answer last, before them, where two chunks are needed, those of what tells the event. Fact by fact, `needed` is
    the place among `chunks` of one that states it. `names` are of what the chunks tell of: where no two questions share
    one, no chunk answers the question of another."""

    query: str
    facts: tuple[tuple[str, ...], ...]
    chunks: tuple[PoolChunk, ...]
    needed: tuple[int, ...]
    names: tuple[str, ...]
    domain: str


class Fact(Frozen, frozen=True):
    """A real, well-known fact with a plausible false answer. Each of `positive` holds an alias of `answer`; replacing
    every alias by `fake` must leave a text that reads well. No negative holds an alias or the fake."""

    query: str
    answer: tuple[str, ...]
    fake: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    domain: str


def seeded(*key: str | int) -> random.Random:
    """A generator for this key, the same in every process and on every machine."""
    digest = hashlib.blake2b("/".join(map(str, key)).encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))


class Drawn(dict[str, T]):
    """The values of a world, and others that are drawn anew wherever they stand: `~20-400` is a number between these,
    `~20-4000/10` one in steps of ten, `~person` what `draws` makes under that name."""

    def __init__(
        self, values: Mapping[str, T], rng: random.Random, draws: Mapping[str, Callable[[random.Random], T]],
        number: Callable[[int], T],
    ) -> None:  # fmt: skip
        super().__init__(values)
        self.rng, self.draws, self.number = rng, draws, number

    def __missing__(self, key: str) -> T:
        if key[:1] != "~":
            raise KeyError(key)
        if match := RANGE.fullmatch(key):
            low, high, step = (int(part or 1) for part in match.groups())
            return self.number(between(self.rng, low // step, high // step) * step)
        return self.draws[key[1:]](self.rng)


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """One of the items, all equally likely. Raises IndexError if there is none."""
    return items[int(rng.random() * len(items))]


def between(rng: random.Random, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def chance(rng: random.Random, share: float) -> bool:
    """True with this probability."""
    return rng.random() < share


def weighted(rng: random.Random, items: Sequence[tuple[float, T]]) -> T:
    """One of the (weight, item) pairs' items, in proportion to its weight (any positive numbers)."""
    point = rng.random() * sum(weight for weight, _ in items)
    for weight, item in items:
        point -= weight
        if point < 0:
            return item
    return items[-1][1]


def strong(worlds: Iterable[Mapping[str, object]]) -> frozenset[str]:
    """The keys that have another value in nearly every one of these worlds: a sentence that has one seldom recurs."""
    values: dict[str, dict[str, None]] = {}
    count = 0
    for count, world in enumerate(worlds, 1):  # noqa: B007
        for key, value in world.items():
            values.setdefault(key, {})[repr(value)] = None
    return frozenset(key for key, found in values.items() if len(found) >= 0.8 * count)


def shuffled(rng: random.Random, items: Iterable[T]) -> list[T]:
    """The items in random order, as a new list."""
    result = list(items)
    for i in range(len(result) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        result[i], result[j] = result[j], result[i]
    return result


def sample(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    """`count` different items (by position) in random order; all of them if there are fewer."""
    if count * 4 > len(items):
        return shuffled(rng, items)[:count]
    chosen: dict[int, None] = {}
    while len(chosen) < count:
        chosen[int(rng.random() * len(items))] = None
    return [items[i] for i in chosen]


class Deck(Generic[T]):
    """Draws without replacement and starts again when empty, so that repeats are as far apart as possible."""

    __slots__ = ("items", "random", "remaining")

    def __init__(self, rng: random.Random, items: Sequence[T]) -> None:
        self.random, self.items = rng.random, items
        self.remaining: list[T] = []

    def draw(self) -> T:
        """The next item. Raises IndexError for a deck of no items."""
        remaining = self.remaining
        if not remaining:
            remaining.extend(self.items)
        i = int(self.random() * len(remaining))
        remaining[i], remaining[-1] = remaining[-1], remaining[i]
        return remaining.pop()


def add_days(day: dt.date, days: int) -> dt.date:
    """The date `days` days later (earlier if negative)."""
    return day + dt.timedelta(days=days)
