"""What several constructions do alike: passes that ask nobody, passes that decide on one item at a time, and the reader
and the checker that they ask."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec

from ragstone.construction.builders.pipeline import Kept, Rejected, Replies, Search, rejected
from ragstone.construction.builders.steps import Reply, Role, Step, Task
from ragstone.optional import load
from ragstone.text import find_answer
from ragstone.text.wording import Wording
from ragstone.types import Passage

T = TypeVar("T")
_PERMUTATIONS, _BANDS = 128, 16
_RUN = 3  # words


class _Answer(msgspec.Struct):
    answer: str
    found: bool


class _Answering(msgspec.Struct):
    passages: list[int]


def numbers_problem(shown: Mapping[str, Any], reply: Any) -> str:
    """What is wrong with the numbers of passages in a reply, "" for nothing."""
    strange = [number for number in reply.passages if not 1 <= number <= len(shown["passages"])]
    return f"there is no passage {strange[0]}" if strange else ""


READ = Step("read", _Answer)
"""A reader answers a question from numbered passages, or from what it knows if there are none."""

ANSWERING = Step("answering", _Answering, numbers_problem)
"""Which of the numbered passages answer a question."""


def numbered(texts: Sequence[str]) -> dict[str, str]:
    """Passages as both steps show them."""
    return {str(number): text for number, text in enumerate(texts, 1)}


def with_title(passage: Passage) -> str:
    """The text of a passage under its title, if it has one."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def states(answers: Iterable[str], text: str, language: str = "") -> bool:
    """Whether a text states one of these answers."""
    return any(find_answer(answer, text, language) for answer in answers)


def is_right(reply: Reply | None, slots: Sequence[Sequence[str]], language: str = "") -> bool:
    """Whether a reader found an answer that states every part (slot) in one of its spellings."""
    if reply is None or reply.value is None or not reply.value.found:
        return False
    return all(states(slot, reply.value.answer, language) for slot in slots)


class Reason(NamedTuple):
    """Why an item is not kept: a short, stable name, and what was found."""

    name: str
    detail: str = ""


class BasePass:
    """Base of a pass with one task for an item, which keeps no more items than it is given."""

    each: ClassVar[int] = 1
    grows: ClassVar[bool] = False
    step: ClassVar[Step | None]
    role: ClassVar[Role] = "checker"

    def most(self, entered: int, /) -> int:
        """All of them."""
        return entered


class LocalPass(BasePass):
    """Base of a pass that asks nobody."""

    step = None

    def tasks(self, items: Sequence[Any], /) -> Iterator[Task]:
        """None."""
        return iter(())


class EachPass(BasePass, ABC):
    """Base of a pass that decides on each item by itself."""

    name: str

    @abstractmethod
    def decide(self, item: Any, replies: Replies, /) -> Any:
        """The item that goes on, which may be changed, or the `Reason` why none does."""

    async def finish(self, items: Sequence[Any], replies: Replies, search: Search, /) -> Kept:
        """The items that were kept, and the others with their reasons."""
        return one_by_one(items, lambda item: self.decide(item, replies), self.name)


class AskPass(EachPass):
    """Base of a pass with one request for an item."""

    @abstractmethod
    def shown(self, item: Any, /) -> Mapping[str, Any] | None:
        """What the model is shown of an item; None: it is not asked."""

    def tasks(self, items: Sequence[Any], /) -> Iterator[Task]:
        """A task for each item that has something to show."""
        asked = ((item, self.shown(item)) for item in items)
        return (Task(item.id, shown, item.language) for item, shown in asked if shown is not None)


class ParsedPass(AskPass):
    """Base of a pass that decides by the parsed reply. An item that nobody was asked about goes on."""

    @abstractmethod
    def judge(self, item: Any, reply: Any, /) -> Any:
        """As `decide`."""

    def decide(self, item: Any, replies: Replies, /) -> Any:
        """As `judge`, if there is a reply of the right shape."""
        reply = replies.get((item.id, 0))
        if reply is None:
            return item
        return Reason("no_usable_reply", reply.problem) if reply.value is None else self.judge(item, reply.value)


def one_by_one(
    items: Sequence[Any], decide: Callable[[Any], Any], at: str
) -> tuple[Sequence[Any], Sequence[Rejected]]:  # fmt: skip
    """The items that `decide` returns, and those for which it returns a `Reason`, rejected by the pass `at`."""
    decided = [(item, decide(item)) for item in items]
    dropped = [rejected(item, at, *result) for item, result in decided if isinstance(result, Reason)]
    return [result for _, result in decided if not isinstance(result, Reason)], dropped


@dataclass(frozen=True)
class Distinct(LocalPass):
    """Drops items whose text nearly repeats an earlier one of their group, or one of the `known` texts, and those with
    the same words in any group. `known`: pairs of a text and its group, None for one that is of every group."""

    text: Callable[[Any], str]
    known: Sequence[tuple[str, str | None]] = ()
    group: Callable[[Any], str | None] = lambda _: None
    name: str = "distinct"

    async def finish(self, items: Sequence[Any], replies: Replies, search: Search, /) -> Kept:
        """The items that were kept, and the others, each with the text that it repeats."""
        texts = [
            *((None, *pair) for pair in self.known),
            *((item, self.text(item), self.group(item)) for item in items),
        ]
        kept, repeated = distinct(texts, lambda entry: entry[1], group=lambda entry: entry[2])
        dropped = [rejected(item, self.name, "near_duplicate", other[1]) for (item, *_), other in repeated if item]
        return [item for item, *_ in kept if item is not None], dropped


@dataclass(frozen=True)
class Take(LocalPass):
    """The first `size` items of each group; the others are surplus. `groups`: how many groups there can be."""

    size: int
    group: Callable[[Any], Hashable] = lambda _: ""
    groups: int = 1
    name: str = "accept"

    def most(self, entered: int, /) -> int:
        """`size` items of each group."""
        return min(self.groups * self.size, entered)

    async def finish(self, items: Sequence[Any], replies: Replies, search: Search, /) -> Kept:
        """The items that are taken, group by group, and the surplus."""
        groups: dict[Hashable, list[Any]] = {}
        for item in items:
            groups.setdefault(self.group(item), []).append(item)
        kept = [item for group in groups.values() for item in group[: self.size]]
        left = [item for group in groups.values() for item in group[self.size :]]
        return kept, [rejected(item, self.name, "surplus") for item in left]


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
