"""What a batch interface does, whichever provider has it: `files.py`, `message_batches.py` or `offline.py`. Its lines
have the bodies of requests and replies as they are alone, so that they are read like those."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ragstone.models.batches.store import Batch

STATES = (
    "validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"
)  # fmt: skip


@dataclass(frozen=True)
class Status:
    """What the provider says of a batch. state: one of OpenAI's words (`STATES`). results: where the replies are.
    errors: why it failed; code: of the first error.
    done, failed: requests so far. retry_after: seconds until it is to be asked again, None if it does not say."""

    state: str
    done: int = 0
    failed: int = 0
    results: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    code: str = ""
    retry_after: float | None = None

    @property
    def ended(self) -> bool:
        return self.state in ("completed", "expired", "cancelled")


@dataclass(frozen=True)
class Line:
    """The result of one request: the HTTP status (0: it was not asked; `body` says why) and the body of the reply."""

    id: str
    status: int
    body: bytes


class Remote(Protocol):
    """The batch interface of one model."""

    def line(self, key: str, payload: Mapping[str, Any]) -> bytes:
        """A chat request as a line of the batch's file."""

    async def upload(self, file: Path) -> str:
        """Hands over the file. Returns the provider's id of it, "" if it goes with `create`."""

    async def create(self, batch: Batch) -> str:
        """Starts the batch. Returns the provider's id of it."""

    async def find(self, batch: Batch, held: Collection[str], *, rivals: bool) -> str | None:
        """The id of this batch, if an earlier process has started it; "" if not, None if that is not known before some
        batch has ended. held: the ids of all other batches. rivals: others of as many requests are looked for, too."""

    async def status(self, batch: Batch) -> Status: ...

    async def download(self, place: str, file: Path) -> Path:
        """Fetches one of `Status.results`."""

    def lines(self, file: Path) -> Iterator[Line]:
        """What is in a fetched file."""

    async def cancel(self, batch: Batch) -> None: ...


def known_state(state: Any) -> str:
    """A provider's word for a state as one of `STATES`; a new word means that the batch has not ended."""
    text = str(state or "").lower()
    return text if text in STATES else "in_progress"


def count(value: Any) -> int:
    """A provider's count; 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
