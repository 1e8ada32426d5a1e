"""When a run begins nothing new: the user stopped it, or an endpoint refuses whatever it is asked."""

import asyncio
from collections.abc import Sequence

from ragstone.errors import EndpointRefused

__all__ = ["Halt"]


class Halt:
    """`event` is set when nothing new is begun at all. Where one of several systems is refused, the others go on."""

    def __init__(self, stop: asyncio.Event, systems: Sequence[str]) -> None:
        self.stop, self.event = stop, asyncio.Event()
        self.refused: dict[str, EndpointRefused] = {}
        self._systems = frozenset(systems)

    def of(self, system: str) -> bool:
        """Whether nothing new is begun for this system."""
        return self.event.is_set() or self.stop.is_set() or system in self.refused

    @property
    def all(self) -> bool:
        """Whether nothing new is begun at all."""
        return self.event.is_set() or self.stop.is_set()

    def system(self, system: str, error: EndpointRefused) -> None:
        """The endpoint of this system refuses."""
        self.refused.setdefault(system, error)
        if self._systems <= self.refused.keys():
            self.event.set()

    def scoring(self, error: EndpointRefused) -> None:
        """An endpoint that metrics ask refuses: of a judge, or of an embedder."""
        self.refused.setdefault("", error)
        self.event.set()

    async def watch(self) -> None:
        """Waits for the user's stop."""
        await self.stop.wait()
        self.event.set()
