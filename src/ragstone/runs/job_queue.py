"""What there is to do: cases are leased from the run file a few at a time, and come to the workers lane by lane."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragstone.runs.case_stream import Item, Ledger, batches
from ragstone.runs.halt import Halt
from ragstone.runs.leases import Lease, State
from ragstone.runs.schema import key_of
from ragstone.runs.store import RunFile
from ragstone.types import Case, System

__all__ = ["Job", "JobQueue"]

# As much as half of what is in flight is taken at one go, so that processes share the end of a run well; more where
# the system answers faster than that brings work. What is done already is passed in larger steps.
LARGEST_TAKE = 256
LARGEST_GLANCE = 512
SETTLED = (State.DONE, State.FAILED)
FREE = (State.ASK, State.SCORE)
# How far the stream is read ahead where cases wait for others of their lane.
AHEAD_CASES = 1024
AHEAD_BYTES = 64 * 2**20
# How often to look whether other processes have finished, in seconds: at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


@dataclass(slots=True)
class Job:
    """A case of a system that is this process's to do."""

    system: System
    system_key: str
    item: Item
    claim: Lease


class JobQueue:
    """The cases of all systems that are not done. `settled` is told of those that others have done, or a run before."""

    def __init__(
        self,
        run_file: RunFile,
        cases: Callable[[], Iterable[Case]],
        *,
        systems: Sequence[System],
        versions: frozenset[tuple[str, int]],
        concurrency: int,
        halt: Halt,
        settled: Callable[[Sequence[Lease]], None],
    ) -> None:
        self.file, self.cases, self.systems, self.versions = run_file, cases, systems, versions
        self.halt, self._settled = halt, settled
        self.ledger = Ledger()
        self.ready: asyncio.Queue[Job | None] = asyncio.Queue()
        self.lanes: dict[tuple[str, str], deque[Job]] = {}
        self.room = asyncio.Event()  # set whenever a job is taken, and at the stop
        self.waiting = self.waiting_bytes = 0  # leased and not begun
        self.take = self.smallest_take = max(1, min(concurrency // 2, LARGEST_TAKE))
        self.winning = False  # whether the last taking brought work
        self.glance = 0  # how many cases to look at in one go, where it seems that they are done

    def close(self) -> None:
        """Lets go of what was remembered."""
        self.ledger.close()

    # --- for the workers ---------------------------------------------------------------------------------------

    async def get(self) -> Job | None:
        """The next job; None at the end."""
        return await self.ready.get()

    def end(self, workers: int) -> None:
        """Nothing more comes: so many workers may go."""
        for _ in range(workers):
            self.ready.put_nowait(None)

    def begin(self, job: Job) -> None:
        """A worker does this job now."""
        self.waiting -= 1
        self.waiting_bytes -= len(job.item.want.payload)
        self.room.set()

    def wake(self) -> None:
        """Looks again whether to go on: the run, or a system, was halted."""
        self.room.set()

    def next_in_lane(self, job: Job) -> Job | None:
        """The next of the lane of this one, which is done."""
        place = (job.system_key, job.item.want.lane)
        line = self.lanes.get(place)
        if line:
            return line.popleft()
        self.lanes.pop(place, None)
        return None

    # --- the stream --------------------------------------------------------------------------------------------

    async def fill(self) -> None:
        """Leases all that is missing, as the workers get on, and waits for what other processes have of it."""
        for number, system in enumerate(self.systems):
            await self._pass(system, new=number == 0)
        pause = FIRST_PAUSE
        while not self.halt.all and (left := await self._look_at_deferred()):
            pause = min(2 * pause, LONGEST_PAUSE)
            if left == "free":  # their process died, or gave them back
                for system in self.systems:
                    await self._pass(system, deferred=True)
                pause = FIRST_PAUSE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.halt.event.wait(), pause)

    async def _pass(self, system: System, *, new: bool = False, deferred: bool = False) -> None:
        """Once through the stream for one system. `new`: ids are checked; `deferred`: only what others had."""
        key, shut_lanes = key_of(system.id), set[str]()
        for batch in batches(self.cases(), lambda: max(self.take, self.glance)):
            if self.halt.all:
                return
            if new:
                self.ledger.note([item.want.key for item in batch])
            if self.halt.of(system.id):
                continue  # the other systems go on, and their passes do not note the ids again
            items = batch
            if deferred:
                mine = self.ledger.deferred(key, [item.want.key for item in batch])
                items = [item for item in batch if item.want.key in mine]
            if len(items) > self.take:
                # Looks before it takes: who comes to an almost finished run must not take all the rest of it.
                items = [item for item, _ in await self._claim(key, items, shut_lanes, take=False)]
                self.glance = 0 if items else min(2 * self.glance, LARGEST_GLANCE)
            while items:
                await self._wait_for_room()
                if self.halt.of(system.id):
                    break
                part, items = items[: self.take], items[self.take :]
                won = await self._claim(key, part, shut_lanes, soon=not self.ready.qsize())
                self._fit(len(won))
                self._enqueue([Job(system, key, item, claim) for item, claim in won])

    async def _claim(
        self, system_key: str, items: list[Item], shut_lanes: set[str], *, take: bool = True, soon: bool = True
    ) -> list[tuple[Item, Lease]]:
        """What of these can be had, and is had with `take`. The rest is counted, or deferred where others have it."""
        wants = [item.want for item in items]
        claims = await self.file.claim(system_key, wants, self.versions, shut_lanes=shut_lanes, take=take, soon=soon)
        elsewhere = [want for want, claim in zip(wants, claims, strict=True) if claim.state is State.ELSEWHERE]
        shut_lanes.update(want.lane for want in elsewhere if want.lane)
        free = [(item, claim) for item, claim in zip(items, claims, strict=True) if claim.state in FREE]
        kept = {item.want.key for item, _ in free} if not take else set()
        self.ledger.settle(system_key, [want.key for want in wants if want.key not in kept])
        self.ledger.defer(system_key, elsewhere)
        self._settled(claims)
        return free

    def _fit(self, won: int) -> None:
        """Fits how much is taken at one go to how fast the system answers."""
        if not won:  # passing over what is done or others have: in larger steps
            self.glance = max(2 * self.take, self.glance)
        elif self.winning and not self.ready.qsize():  # while this was taken, the workers ran out of work
            self.take = min(2 * self.take, LARGEST_TAKE)
        elif self.ready.qsize() >= self.take // 2:
            self.take = max(self.take // 2, self.smallest_take)
        self.winning = won > 0

    def _enqueue(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self.waiting += 1
            self.waiting_bytes += len(job.item.want.payload)
            lane = job.item.want.lane
            if not lane:
                self.ready.put_nowait(job)
            elif (line := self.lanes.get((job.system_key, lane))) is not None:
                line.append(job)
            else:
                self.lanes[job.system_key, lane] = deque()
                self.ready.put_nowait(job)

    async def _wait_for_room(self) -> None:
        while not self.halt.all and self.waiting:
            few = self.ready.qsize() < self.take
            if few and self.waiting < AHEAD_CASES and self.waiting_bytes < AHEAD_BYTES:
                return
            self.room.clear()
            await self.room.wait()

    async def _look_at_deferred(self) -> str:
        """Counts what other processes have finished. "free" where some of the rest can be had, "taken" where all of
        it is in their hands, "" where nothing is left."""
        left = ""
        for system in self.systems:
            if system.id in self.halt.refused:
                continue
            key, after = key_of(system.id), 0
            while rows := self.ledger.waiting(key, after, LARGEST_GLANCE):
                after = rows[-1][0]
                wants = [want for _, want in rows]
                claims = await self.file.claim(key, wants, self.versions, take=False)
                settled = [claim.state in SETTLED for claim in claims]
                self.ledger.settle(key, [want.key for want, is_so in zip(wants, settled, strict=True) if is_so])
                self._settled([claim for claim, is_so in zip(claims, settled, strict=True) if is_so])
                if any(claim.state in FREE for claim in claims):
                    left = "free"
                elif not all(settled):
                    left = left or "taken"
        return left
