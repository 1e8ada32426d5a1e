"""What a run reports while it goes on and when it ends."""

from dataclasses import dataclass, field
from typing import Protocol

from ragstone.error_text import failure_in
from ragstone.errors import EndpointRefused
from ragstone.messages import messages
from ragstone.types import Record, Usage


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `asked`: requests by this process for an answer; `done` and `failed`: cases of this run with a
    response and with an error, from any process; `already`: those among them from earlier runs or other processes;
    `unscored`: scores that failed; `remaining`: cases not tried yet; `permanent`: failures in this process that
    retrying cannot change (a wrong key, an unknown model); `recorded`: failures that the data have instead of answers,
    which leave nothing to do. `refused`: why an endpoint (of a system, the judge or its embedder) is not asked any
    more."""

    asked: int = 0
    done: int = 0
    failed: int = 0
    already: int = 0
    unscored: int = 0
    remaining: int = 0
    permanent: int = 0
    recorded: int = 0
    interrupted: bool = False
    refused: tuple[EndpointRefused, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def complete(self) -> bool:
        """Whether every case has a response, or a recorded error, and every score succeeded."""
        return not (self.failed > self.recorded or self.unscored or self.remaining or self.refused)

    @property
    def advice(self) -> str:
        """One line of English on what is left and how to go on; "" if nothing is."""
        return self.advice_in("en")

    def advice_in(self, language: str) -> str:
        """`advice` in a language; what an endpoint wrote stays as it is."""
        texts = messages(__name__, language)
        total, failures = self.done + self.failed + self.remaining, self.failed - self.recorded
        permanent = self.permanent == failures
        failed = "all_permanent" if permanent else "some_permanent" if self.permanent else "failed"
        parts = [
            texts["remain"].format(n=self.remaining, total=total) if self.remaining else "",
            texts[failed].format(n=failures, permanent=self.permanent) if failures else "",
            texts["score" if self.unscored == 1 else "scores"].format(n=self.unscored) if self.unscored else "",
        ]
        if not any(parts):
            return ""
        listed = texts["join"].join(filter(None, parts))
        if self.refused:
            reasons = " ".join(failure_in(str(error), language) for error in self.refused)
            return texts["refused"].format(reasons=reasons, parts=listed, advice=texts[self.refused[0].advice])
        return texts["fix" if self.permanent else "again"].format(parts=listed)


class Progress(Protocol):
    """Watches a run. `total` counts the cases of all systems, None if unknown."""

    def start(self, total: int | None, done: int = 0) -> None: ...

    def already(self, count: int) -> None:
        """This many cases need no work: they were in the file, or another process did them."""

    def case_done(self, record: Record, *, free: bool = False) -> None:
        """This process asked or scored this case, and the result is on the disk. `free`: caches had all the replies."""

    def finish(self, outcome: Outcome | None) -> None:
        """The run has ended; None if an error ended it."""


class NullProgress:
    """A `Progress` that shows nothing."""

    def start(self, total: int | None, done: int = 0) -> None: ...

    def already(self, count: int) -> None: ...

    def case_done(self, record: Record, *, free: bool = False) -> None: ...

    def finish(self, outcome: Outcome | None) -> None: ...
