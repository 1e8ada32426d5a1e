"""The parts that every construction has: passes over items, rejected items with their reasons, and what each pass kept.

A pass yields the tasks that its model is asked, and makes the next items of their replies. Both are functions of the
items alone, so a construction that is started again comes to the same tasks and asks only those without a reply."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import msgspec

from ragstone.construction.builders.steps import Reply, Role, Step, Task
from ragstone.structs import JSON, Frozen
from ragstone.types import Passage

_PASSAGES = ("chunks", "found", "near", "negative", "passage", "positive")  # fields that repeat the corpus
_DETAIL = 300  # characters

Replies: TypeAlias = Mapping[tuple[str, int], Reply]
"""(key of the task, repeat) → its reply. A task that could not be asked is missing."""


class Rejected(Frozen, frozen=True):
    """An item that a pass did not keep. `reason` is a short, stable name, `detail` what was found, `item` the item."""

    id: str
    at: str
    reason: str
    detail: str = ""
    item: dict[str, Any] = {}  # noqa: RUF012  (msgspec copies it)


def rejected(item: Any, at: str, reason: str, detail: str = "") -> Rejected:
    """A rejected item (a struct with an id) with what it was, without the passages that were found for it."""
    kept: dict[str, Any] = msgspec.to_builtins(item)
    fields = {name: _named(value) for name, value in kept.items() if name not in _PASSAGES}
    return Rejected(item.id, at, reason, detail[:_DETAIL], fields)


def _named(value: Any) -> Any:
    """The value with the id of a chunk in place of the chunk."""
    if isinstance(value, list | tuple):
        return [_named(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: field.get("id") if name == "chunk" and isinstance(field, dict) else field for name, field in value.items()
    }


class PassYield(Frozen, frozen=True):
    """What went into a pass and what it kept. `asked`: requests to a model that have a reply."""

    name: str
    entered: int
    kept: int
    asked: int = 0


Kept: TypeAlias = tuple[Sequence[Any], Sequence[Rejected]]
"""The items that a pass keeps, and those that it does not."""


class Search(Protocol):
    """Finds the passages of the corpus that are nearest to each text, best first."""

    async def __call__(self, texts: Sequence[str], /, *, k: int) -> list[list[Passage]]: ...


class Pass(Protocol):
    """A pass by its name. `step` None: it asks nobody. `tasks` yields what is asked about the items; `finish` returns
    the items that are kept, which may be of another kind, and those that are not. At most: `each` tasks for an item,
    and `most(n)` items kept of n. `grows`: a later round may keep more of the same items."""

    @property
    def name(self) -> str: ...
    @property
    def step(self) -> Step | None: ...
    @property
    def role(self) -> Role: ...
    @property
    def each(self) -> int: ...
    @property
    def grows(self) -> bool: ...
    def tasks(self, items: Sequence[Any], /) -> Iterator[Task]: ...
    def most(self, entered: int, /) -> int: ...
    async def finish(self, items: Sequence[Any], replies: Replies, search: Search, /) -> Kept: ...


@dataclass(frozen=True)
class State:
    """The items that are left, those that were rejected so far, and the yields of the passes that are done."""

    items: tuple[Any, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    yields: tuple[PassYield, ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """A construction: its name, the settings that must be equal to resume it, its passes, the items it starts with, and
    the corpus that is searched. `then`: the constructions that start with the items that are left. `more`: given the
    state at the end, the same construction with more items, those of this one first; None: there is none."""

    name: str
    settings: Mapping[str, JSON]
    passes: Sequence[Pass]
    start: Sequence[Any] = ()
    corpus: Sequence[Passage] = ()
    then: Callable[[Sequence[Any]], Sequence["Pipeline"]] = lambda _: ()
    more: Callable[[State], "Pipeline | None"] = lambda _: None

    @property
    def steps(self) -> dict[str, Step]:
        """The steps of all passes by name, those of the constructions that follow among them."""
        own = {pass_.step.name: pass_.step for pass_ in self.passes if pass_.step is not None}
        return own | {name: step for later in self.then(()) for name, step in later.steps.items()}

    def shared(self, larger: "Pipeline") -> int:
        """How many passes both begin with: these are not done again."""
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self.passes, larger.passes, strict=False)))


async def advance(state: State, pass_: Pass, replies: Replies, search: Search) -> State:
    """The state after a pass."""
    kept, rejected = await pass_.finish(state.items, replies, search)
    done = PassYield(pass_.name, len(state.items), len(kept), len(replies))
    return State(tuple(kept), (*state.rejected, *rejected), (*state.yields, done))
