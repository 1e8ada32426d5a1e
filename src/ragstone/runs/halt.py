"""When a run starts nothing new: the user stopped it, an endpoint refuses every request, or a system always fails."""

import asyncio
from collections import Counter
from collections.abc import Sequence, Set

from ragstone.errors import (
    AlwaysFailed,
    BadReply,
    Dropped,
    EndpointRefused,
    ModelError,
    Postponed,
    RateLimited,
    ServerFault,
    SystemFailed,
    TimedOut,
)

FAULTS = (Dropped, TimedOut, RateLimited, ServerFault, BadReply)
"""Errors of an endpoint that is there: nothing of the input is wrong."""
FIRST = 10  # questions of a system: if they all fail in the same way, the next one would, too


class Halt:
    """`event` is set when nothing new is started at all. If one of several systems is refused, the others go on.
    `unanswered` and `unscored` count the cases whose requests wait for a batch; those stop nothing."""

    def __init__(self, stop: asyncio.Event, systems: Sequence[str]) -> None:
        self.stop, self.event = stop, asyncio.Event()
        self.refused: dict[str, EndpointRefused] = {}
        self.unanswered = self.unscored = 0
        self._systems = frozenset(systems)
        self._untried = {system: Counter[str]() for system in systems}

    def tried(self, systems: Set[str]) -> None:
        """These systems have records of earlier runs: how they begin is known, and the user wants the rest asked."""
        for system in systems:
            self._untried.pop(system, None)

    def answered(self, system: str) -> None:
        """The system gave an answer."""
        self._untried.pop(system, None)

    def failed(self, system: str, error: Exception, text: str) -> bool:
        """A question failed, as `text` says; whether the system is not asked any more. What a model refuses of one
        request alone says nothing of the next."""
        if (failures := self._untried.get(system)) is None:
            return False
        passing = isinstance(error, ModelError) and (error.refuses_all or not error.permanent)
        if (isinstance(error, ModelError) and not passing) or (isinstance(error, SystemFailed) and error.recorded):
            self.answered(system)
            return False
        failures[text.partition(":")[0] if passing else text] += 1
        if len(failures) > 1:
            self.answered(system)
        elif failures.total() >= FIRST:
            reason, faults = text.partition(": ")[2].rstrip("."), isinstance(error, FAULTS)
            self.refuse_system(system, AlwaysFailed(system, reason, FIRST, faults=faults))
            return True
        return False

    def halted(self, system: str) -> bool:
        """Whether nothing new is started for this system."""
        return self.all_halted or system in self.refused

    @property
    def all_halted(self) -> bool:
        """Whether nothing new is started at all."""
        return self.event.is_set() or self.stop.is_set()

    @property
    def has_stopped(self) -> bool:
        """Whether some cases may not have been asked, or not scored."""
        return bool(self.all_halted or self.refused or self.unanswered or self.unscored)

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
