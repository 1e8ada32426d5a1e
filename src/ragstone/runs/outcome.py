"""What a run tells while it goes, and when it ends."""

from dataclasses import dataclass, field
from typing import Protocol

from ragstone.errors import EndpointRefused
from ragstone.types import Record, Usage

__all__ = ["NullProgress", "Outcome", "Progress"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `asked`: answers that this process asked for; `done` and `failed`: cases of this run with a
    response, and with an error, whoever asked; `already`: those among them that were there before or came from
    another process; `unscored`: scores that failed; `remaining`: cases that nobody has tried; `permanent`: failures
    that this process saw and that would come again as long as nothing is changed (a wrong key, a model not there).
    `refused`: why an endpoint (of a system, of the judge or its embedder) was not asked any more."""

    asked: int = 0
    done: int = 0
    failed: int = 0
    already: int = 0
    unscored: int = 0
    remaining: int = 0
    permanent: int = 0
    interrupted: bool = False
    refused: tuple[EndpointRefused, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def complete(self) -> bool:
        """Every case has a response and every score could be had."""
        return not (self.failed or self.unscored or self.remaining or self.refused)

    @property
    def advice(self) -> str:
        """One line on what is left and how to go on; "" where nothing is."""
        parts = []
        if self.remaining:
            parts.append(f"{self.remaining:,} of {self.done + self.failed + self.remaining:,} cases remain")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.unscored:
            parts.append(f"{self.unscored:,} {'score' if self.unscored == 1 else 'scores'} could not be made")
        if not parts:
            return ""
        if self.refused:
            reasons = " ".join(map(str, self.refused))
            return f"{reasons} {', '.join(parts)}: fix that, then run the same command again to resume."
        if self.permanent:
            parts[-1] += f" ({self.permanent:,} in a way that trying again does not change)"
        first = "mend what the messages name, then " if self.permanent else ""
        return f"{', '.join(parts)}: {first}the same command goes on with what is missing."


class Progress(Protocol):
    """Watches a run. `total` counts cases of all systems, None where unknown."""

    def start(self, total: int | None, done: int = 0) -> None: ...

    def already(self, count: int) -> None:
        """So many cases need nothing: they were in the file, or another process did them."""

    def case_done(self, record: Record, *, free: bool = False) -> None:
        """This process asked or scored this case, and it is on the disk. `free`: caches had all the replies."""

    def finish(self, outcome: Outcome | None) -> None:
        """The run has ended; None where an error ended it."""


class NullProgress:
    """A progress that shows nothing."""

    def start(self, total: int | None, done: int = 0) -> None: ...

    def already(self, count: int) -> None: ...

    def case_done(self, record: Record, *, free: bool = False) -> None: ...

    def finish(self, outcome: Outcome | None) -> None: ...
