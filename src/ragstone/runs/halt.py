"""When a run starts nothing new: the user stopped it, or an endpoint refuses every request."""

import asyncio
from collections.abc import Sequence

from ragstone.errors import EndpointRefused, Postponed


class Halt:
    """`event` is set when nothing new is started at all. If one of several systems is refused, the others go on.
    `unanswered` and `unscored` count the cases whose requests wait for a batch; those stop nothing."""

    def __init__(self, stop: asyncio.Event, systems: Sequence[str]) -> None:
        self.stop, self.event = stop, asyncio.Event()
        self.refused: dict[str, EndpointRefused] = {}
        self.unanswered = self.unscored = 0
        self._systems = frozenset(systems)

    def halted(self, system: str) -> bool:
        """Whether nothing new is started for this system."""
        return self.all_halted or system in self.refused

    @property
    def all_halted(self) -> bool:
        """Whether nothing new is started at all."""
        return self.event.is_set() or self.stop.is_set()

    def refuse_system(self, system: str, error: EndpointRefused) -> None:
        """The endpoint of this system refuses."""
        if isinstance(error, Postponed):
            self.unanswered += 1
            return
        self.refused.setdefault(system, error)
        if self._systems <= self.refused.keys():
            self.event.set()

    def refuse_scoring(self, error: EndpointRefused) -> None:
        """An endpoint that metrics use refuses: a judge's or an embedder's."""
        if isinstance(error, Postponed):
            self.unscored += 1
            return
        self.refused.setdefault("", error)
        self.event.set()

    async def watch(self) -> None:
        """Waits until the user stops the run."""
        await self.stop.wait()
        self.event.set()
