"""The batches of one command: collected in rounds, submitted, waited for, stored."""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.errors import AllowanceSpent, ModelError, Unfinished, UsageError
from ragstone.models.allowance import Allowance
from ragstone.models.batches.http import TooLarge
from ragstone.models.batches.interfaces import no_interface, open_remote
from ragstone.models.batches.lane import Lane, wrapper_of
from ragstone.models.batches.offline import command_for
from ragstone.models.batches.remote import Status
from ragstone.models.batches.store import OVER, Batch, BatchStore, Reply
from ragstone.models.client import Client
from ragstone.models.http_errors import is_transient
from ragstone.types import Model

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 1.0, 60.0, 1.5  # seconds between two looks
_LOCK_PAUSE = 0.2  # seconds
_MOST_OVER_QUOTA = 4
_MOST_FAILURES = 20  # looks in a row that may fail before the command stops waiting


@dataclass
class Batches:
    """`--batch`: the requests of a command's models go through their providers' batch interfaces.

    folder: of the list of batches. leave: submit and end, instead of waiting. report: called with all batches that are
    waited for whenever one of them has changed."""

    folder: Path
    leave: bool = False
    report: Callable[[list[Batch]], None] = lambda batches: None

    def __post_init__(self) -> None:
        self.active = False
        self.used: set[bytes] = set()
        self.expected = 0.0
        self.spent: AllowanceSpent | None = None
        self._store: BatchStore | None = None
        self._lanes: dict[str, Lane] = {}
        self._reported: list[Batch] = []

    @property
    def store(self) -> BatchStore:
        if self._store is None:
            raise RuntimeError("Batches are used inside `rounds`.")
        return self._store

    @contextlib.asynccontextmanager
    async def lane(
        self, client: Client, *, key: str, identity: Mapping[str, Any], allowance: Allowance | None
    ) -> AsyncIterator[Callable[[Model], Model]]:
        """See `Batching`. Raises UsageError if the provider has no batch interface."""
        async with open_remote(client, key) as (interface, remote):
            lane = Lane(client, interface, identity, remote, self, allowance)
            self._lanes[lane.name] = lane
            yield wrapper_of(lane)

    @contextlib.contextmanager
    def rounds(self) -> Iterator[None]:
        """Models collect requests inside. If it ends without an error, replies that were used are deleted."""
        if not self._lanes:
            raise UsageError("--batch has no effect: no model of this command has a batch interface. Leave it out.")
        self._store, self.active, self.spent = BatchStore(self.folder), True, None
        self.expected = 0.0
        try:
            yield
            self._store.use(self.used)
            self.used.clear()
        finally:
            self.active = False
            self._store.close()
            self._store = None

    def begin_round(self) -> None:
        """Forgets what was collected in the round before."""
        self.expected = 0.0
        self.store.forget_collected()

    async def work(self, stop: asyncio.Event | None = None) -> bool:
        """Submits what was collected in this round, and waits until every batch with a reply that is wanted has ended.
        False if nothing is left to read. Raises `Unfinished` if batches remain, with `leave` or once `stop` is set."""
        for lane in self._lanes.values():
            self.store.seal(
                lane.name, provider=lane.client.provider.name, model=lane.id, base_url=lane.client.base_url,
                requests=lane.interface.requests, size=lane.size, files=Path.cwd() if lane.offline else self.folder,
            )  # fmt: skip
        wanted = [batch.id for batch in self.store.wanted()]
        if wanted:
            await self._wait(wanted, stop or asyncio.Event())
        return bool(wanted) or self.store.answered()

    async def _wait(self, numbers: list[int], stop: asyncio.Event) -> None:
        pause, failures = _FIRST_PAUSE, 0
        while True:
            hint, error = 0.0, None
            for number in numbers:
                batch = self.store.batch(number)
                try:
                    if batch.state not in OVER:
                        hint = max(hint, await self._advance(batch) or 0.0)
                except ModelError as caught:
                    error = self._passing(caught, batch)
            failures = failures + 1 if error else 0
            batches = [self.store.batch(number) for number in numbers]
            self._tell(batches)
            left = [batch for batch in batches if batch.state not in OVER]
            if not left:
                return _check_cancelled(batches)
            if failures > _MOST_FAILURES or self.leave or stop.is_set():
                raise Unfinished(f"{f'{error} ' if error else ''}{self._how_to_return(left)}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), hint or pause)
            pause = min(pause * _GROWTH, _LONGEST_PAUSE)

    def _tell(self, batches: list[Batch]) -> None:
        if batches != self._reported:
            self._reported = batches
            self.report(batches)

    def _passing(self, error: ModelError, batch: Batch) -> ModelError:
        """The error, if it may pass. Raises what the user has to mend."""
        if is_transient(error):
            return error
        if error.refuses_all and "no such model or path" in str(error) and not batch.remote:
            raise no_interface(batch.model) from None
        error.exit_code = 2
        raise error

    async def _advance(self, batch: Batch) -> float | None:
        """One step of a batch. Returns the seconds to wait, where the provider says so."""
        lane = self._lanes[batch.lane]
        if not batch.remote:
            async with self._alone():
                batch = await self._submit(lane, self.store.batch(batch.id))
        if batch.state in OVER or not batch.remote:
            return None
        status = await lane.remote.status(batch)
        if status.state == "failed":
            self._refused(lane, batch, status)
        elif status.ended:
            lane.over_quota = 0
            await self._fetch(lane, batch, status)
        else:
            self.store.update(batch.id, status=status.state, done=status.done, failed=status.failed)
        return status.retry_after

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Inside, no other process submits: the operating system ends this when the process dies."""
        lock = sqlite3.connect(self.folder / "submitting.lock", timeout=0.0, isolation_level=None)
        try:
            while True:
                try:
                    lock.execute("BEGIN EXCLUSIVE")
                    break
                except sqlite3.OperationalError:
                    await asyncio.sleep(_LOCK_PAUSE)
            yield
        finally:
            lock.close()

    async def _submit(self, lane: Lane, batch: Batch) -> Batch:
        """Uploads and creates a batch, from the step at which an earlier process ended. Each step is on the disk before
        the next; the provider is asked whether it has the batch if that cannot be known."""
        if batch.remote or batch.state in OVER:  # another process was faster
            return batch
        if not self.store.file_size(batch):
            self.store.drop(batch.id)
            raise Unfinished(f"{batch.file} is gone: it had the requests of a batch. Run the same command again.")
        try:
            if batch.state == "sealed":
                batch = self.store.update(
                    batch.id, uploaded=await lane.remote.upload(Path(batch.file)), state="uploaded"
                )
            remote: str | None = ""
            if batch.state == "creating":
                held, rivals = self.store.others(batch)
                remote = await lane.remote.find(batch, held, rivals=rivals)
            if remote is None:
                return batch
            if not remote:
                batch = self.store.update(batch.id, state="creating")
                remote = await lane.remote.create(batch)
        except TooLarge as error:
            if batch.total == 1:
                raise
            lane.size = self.store.file_size(batch) // 2
            self.store.drop(batch.id)
            log.warning("%s It is split.", error)
            return self.store.batch(batch.id)
        batch = self.store.update(batch.id, remote=remote, state="created", status="validating")
        if not lane.offline:
            self.store.remove(batch.file)
        return batch

    def _refused(self, lane: Lane, batch: Batch, status: Status) -> None:
        """The provider's validation failed."""
        self.store.drop(batch.id)
        lane.over_quota = lane.over_quota + 1 if status.code == "token_limit_exceeded" else _MOST_OVER_QUOTA
        others = [other for other in self.store.wanted() if other.lane == batch.lane and other.remote]
        if lane.over_quota < _MOST_OVER_QUOTA or (others and status.code == "token_limit_exceeded"):
            return  # its requests are asked again when the others have ended
        reasons = "; ".join(error.rstrip(".") for error in status.errors[:3]) or "no reason given"
        more = f"; and {len(status.errors) - 3} more" if len(status.errors) > 3 else ""
        raise UsageError(f"{lane.id}: the provider refused batch {batch.remote} of {batch.total:,} requests: "
                         f"{reasons}{more}. Fix this, then run the same command again.")  # fmt: skip

    async def _fetch(self, lane: Lane, batch: Batch, status: Status) -> None:
        """Downloads the replies and stores them, all at once."""
        files = [
            await lane.remote.download(place, self.folder / f"{batch.name[:16]}-{number}.results")
            for number, place in enumerate(status.results)
        ]

        def replies() -> Iterator[Reply]:
            for file in files:
                for line in lane.remote.lines(file):
                    if reply := lane.reply_of(line):
                        yield reply

        cancelled = status.state == "cancelled"
        missing = {"completed": "a reply is missing", "cancelled": "it was cancelled"}.get(status.state, "it expired")
        self.store.end(batch.id, replies(), state="cancelled" if cancelled else "ended", missing=missing,
                       status=status.state, done=status.done, failed=status.failed)  # fmt: skip
        for file in files:
            if not lane.offline:
                self.store.remove(file)

    def _how_to_return(self, batches: list[Batch]) -> str:
        if offline := [batch for batch in batches if self._lanes[batch.lane].offline]:
            return f"Run `{command_for(offline[0])}`, then the same command again to read the replies."
        shown = ", ".join(
            f"{batch.remote or 'not submitted yet'} ({batch.model}, {batch.status or batch.state}, "
            f"{batch.done:,} of {batch.total:,})"
            for batch in batches[:3]
        )
        more = f" and {len(batches) - 3} more" if len(batches) > 3 else ""
        return (
            f"{len(batches)} batch{'es' if len(batches) > 1 else ''} not finished: {shown}{more}. Run the same command "
            "again to fetch the replies; `ragstone batch list` shows the state."
        )


def _check_cancelled(batches: list[Batch]) -> None:
    if cancelled := [batch for batch in batches if batch.state == "cancelled"]:
        done = sum(batch.done for batch in cancelled)
        raise Unfinished(
            f"Batch {cancelled[0].remote} was cancelled; {done:,} of its replies are kept. Run the same command again "
            "to ask for the rest."
        )
