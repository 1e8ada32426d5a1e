"""Results on their way into the run file: written one by one, or together where they came at once, and counted when
they are there."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from ragstone.runs.entries import CaseResult
from ragstone.runs.store import RunFile
from ragstone.storage import Written
from ragstone.types import Record

# A worker is free as soon as its answer would survive the process; this many answers may wait for their commit before
# the disk slows the run down.
UNCOMMITTED = 2048
# Answers that came at once are written together: as many, or as many characters of them, in one piece of work.
BATCH, BATCH_CHARACTERS = 512, 4 * 2**20
BATCH_SECONDS = 0.5  # what a kill may cost of the time that scoring takes


class Done(Struct, gc=False):
    """A result for the file, the record to count when it is there, and whether caches had all its replies."""

    result: CaseResult
    record: Record
    free: bool


class Commits:
    """What is on its way. After its commit `counted` gets a result, and `late` is called for one that another process
    wrote before: its answer is the record then."""

    def __init__(self, file: RunFile, counted: Callable[[Record, bool], None], late: Callable[[], None]) -> None:
        self._file, self._counted, self._late = file, counted, late
        self._uncommitted, self._committed = 0, asyncio.Event()
        self._ending, self._all_counted = False, asyncio.get_running_loop().create_future()
        self._batch: list[Done] = []
        self._batch_size = 0  # characters
        self._begun = 0.0  # of the batch, in seconds
        self._turn, self._turning = 0, False

    def turn(self) -> int:
        """The number of this turn of the event loop. What ends in the turn in which it began has waited for nothing."""
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        return self._turn

    def _next_turn(self) -> None:
        self._turn, self._turning = self._turn + 1, False

    async def add(self, done: Done) -> None:
        """Keeps what came at once until it is written with its like: a kill before that costs no request."""
        now = time.monotonic()
        if not self._batch:
            self._begun = now
        self._batch.append(done)
        self._batch_size += len(done.result.response or "")
        late = now - self._begun > BATCH_SECONDS
        if late or len(self._batch) >= BATCH or self._batch_size >= BATCH_CHARACTERS:
            await self.flush()

    async def flush(self) -> None:
        """Writes what `add` has kept."""
        if self._batch:
            batch, self._batch, self._batch_size = self._batch, [], 0
            await self.put(self._file.write([done.result for done in batch], again=True), batch)

    async def put(self, writing: Written[list[bool]], batch: Sequence[Done]) -> None:
        """Takes over what is being written; waits if the disk is too far behind."""
        while self._uncommitted >= UNCOMMITTED:
            self._committed.clear()
            self._file.hurry()
            await self._committed.wait()
        self._uncommitted += len(batch)
        writing.then(partial(self._count, batch))

    async def end(self) -> None:
        """Nothing more comes: `acknowledge` returns when all is counted."""
        await self.flush()
        self._file.hurry()
        self._ending = True
        self._check_end()

    async def acknowledge(self) -> None:
        """Returns after `end`, when each result was counted. Raises what a write or the counting raised."""
        await self._all_counted

    def _count(self, batch: Sequence[Done], written: Written[list[bool]]) -> None:
        """Counts these results, whose commit has returned."""
        try:
            for kept, done in zip(written.result(), batch, strict=True):
                if kept:
                    self._counted(done.record, done.free)
                else:
                    self._late()
        except Exception as error:
            if not self._all_counted.done():
                self._all_counted.set_exception(error)
            return
        self._uncommitted -= len(batch)
        self._committed.set()
        self._check_end()

    def _check_end(self) -> None:
        if self._ending and not self._uncommitted and not self._all_counted.done():
            self._all_counted.set_result(None)
