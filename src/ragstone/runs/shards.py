"""Cases asked by workers elsewhere, shard by shard: each is a run file of its own, merged as it comes home.

A `Pool` is whatever runs the workers. A shard that comes home incomplete (its worker died, or was stopped) costs what
was in flight: the rest is sent again, in smaller parts if nothing comes of it.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ragstone.errors import EndpointRefused
from ragstone.runs.entries import CaseResult, write_results
from ragstone.runs.halt import Halt
from ragstone.runs.job_queue import FREE, CaseJob, JobQueue
from ragstone.runs.leases import State
from ragstone.runs.merge import attached, copy_records
from ragstone.runs.outcome import Outcome
from ragstone.runs.reader import open_run
from ragstone.runs.schema import LAYOUT, key_of
from ragstone.runs.store import RunFile
from ragstone.storage import connect, insert, transaction
from ragstone.structs import to_json
from ragstone.types import Case, Record, Response

SHARD_SECONDS = 5.0  # what a shard should take: longer ones lose more with a worker, shorter ones cost more each
FEWEST_CASES, MOST_CASES, MOST_BYTES = 8, 2000, 16 * 2**20
GATHER_SECONDS = 0.05  # how long the first cases of a shard wait for more
DEATHS = 3  # of workers at one and the same case, before it counts as failed


@dataclass(frozen=True)
class Shard:
    """Cases of one system. `answers`: case id → the stored response of a case that only lacks the scores of `metrics`
    (name, version), and the judge's replies that are known (`Lease.interim`). Without them all metrics are scored."""

    system: str
    cases: Sequence[Case]
    answers: Mapping[str, tuple[Response, Mapping[str, str]]] = field(default_factory=dict)
    metrics: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, jobs: Sequence[CaseJob]) -> "Shard":
        """The shard of jobs that are alike (`_kind`)."""
        leases = {job.item.case.id: job.lease for job in jobs}
        answers = {
            name: (lease.response, lease.interim) for name, lease in leases.items() if lease.response is not None
        }
        return cls(jobs[0].system.id, [job.item.case for job in jobs], answers, jobs[0].lease.missing)

    def store(self, path: Path) -> None:
        """Writes the known answers into the shard's run file, which exists."""
        if not self.answers:
            return
        system, connection = key_of(self.system), connect(path, LAYOUT)
        results = [CaseResult(system, key_of(name), to_json(answer)) for name, (answer, _) in self.answers.items()]
        interim = [
            (system, key_of(name), *reply) for name, (_, replies) in self.answers.items() for reply in replies.items()
        ]
        with contextlib.closing(connection), transaction(connection):
            write_results(connection, results)
            insert(connection, "INSERT OR IGNORE INTO verdicts VALUES {}", interim)


def _kind(job: CaseJob) -> tuple[str, frozenset[tuple[str, int]]]:
    """What the jobs of a shard have in common: the system and the scores that are missing."""
    return job.system_key, job.lease.missing


@dataclass(frozen=True)
class Returned:
    """What came of a shard: its run file (None: nothing is left of it), which the receiver deletes, how the run in the
    worker ended (None: the worker died), and the ids of the cases whose replies were all cached."""

    file: Path | None
    outcome: Outcome | None = None
    free: frozenset[str] = frozenset()


class Pool(Protocol):
    """Workers that ask and score shards. `size`: how many shards at once; `concurrency`: cases of a shard at once."""

    size: int
    concurrency: int

    async def ask(self, shard: Shard, /) -> Returned: ...

    async def stop(self) -> None:
        """Lets the workers finish what is in flight and return what they have."""


def merge_shard(path: Path, shard: Path) -> None:
    """Adds a shard to a run file in one transaction. What the file has is kept."""
    with contextlib.closing(connect(path, LAYOUT)) as connection, attached(connection, path, shard):
        copy_records(connection, shard, keep_first=True)


@dataclass
class _Part:
    """Jobs on their way, how many workers died over the first alone, and how many to send at once."""

    jobs: list[CaseJob]
    size: int
    deaths: int = 0


@dataclass
class Shards:
    """Sends the jobs of a queue to a pool. `count` is called with a record of each case that is done, whether its
    replies were cached; `ended` with the outcome of each shard."""

    pool: Pool
    file: RunFile
    jobs: JobQueue
    halt: Halt
    versions: frozenset[tuple[str, int]]
    remaining: Callable[[], int]
    count: Callable[[Record, bool], None]
    ended: Callable[[Outcome], None]
    _seconds: float = 0.0  # of a case, in one shard
    _in_flight: int = 0
    _merging: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def senders(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], int]:
        """What sends the jobs, and how many of it run at once."""
        return self._work, self.pool.size

    async def _work(self) -> None:
        waiting: deque[CaseJob] = deque()
        while (job := waiting.popleft() if waiting else await self.jobs.get()) is not None:
            self.jobs.begin(job)
            batch = [job, *await self._more(job, waiting)]
            part = _Part(batch, len(batch))
            while part.jobs and not self.halt.halted(job.system.id):
                await self._send(part)
            for head in {sent.item.row.lane: sent for sent in batch if sent.item.row.lane}.values():
                if (following := self.jobs.next_in_lane(head)) is not None:
                    waiting.append(following)

    async def watch(self) -> None:
        """Stops the workers when the run is halted."""
        await self.halt.event.wait()
        await self.pool.stop()

    async def _more(self, first: CaseJob, waiting: deque[CaseJob]) -> list[CaseJob]:
        """Further jobs for the shard of this one: those that are alike, a lane's together."""
        jobs, size = self.jobs.rest_of_lane(first), len(first.item.row.payload)
        give_up = time.monotonic() + GATHER_SECONDS
        while len(jobs) + 1 < self._cases() and size < MOST_BYTES:
            if (job := self.jobs.next_ready()) is None:
                if self.jobs.ended or time.monotonic() > give_up:
                    break
                await asyncio.sleep(GATHER_SECONDS / 10)
                continue
            if _kind(job) != _kind(first):
                waiting.append(job)
                break
            self.jobs.begin(job)
            lane = [job, *self.jobs.rest_of_lane(job)]
            jobs += lane
            size += sum(len(job.item.row.payload) for job in lane)
        return jobs

    def _cases(self) -> int:
        """How many cases the next shard has: for so many seconds, but at the end of a run so few that all workers have
        some."""
        wanted = int(SHARD_SECONDS / self._seconds) if self._seconds else 4 * self.pool.concurrency
        fair = (self.remaining() - self._in_flight) // (2 * self.pool.size)
        return max(min(self.pool.concurrency, FEWEST_CASES), min(wanted, fair, MOST_CASES))

    async def _send(self, part: _Part) -> None:
        """Sends the next jobs of a part that are alike and takes what comes home; those that are done leave it."""
        kind, started = _kind(part.jobs[0]), time.monotonic()
        jobs = [job for job in part.jobs if _kind(job) == kind][: part.size]
        sent = {id(job) for job in jobs}
        self._in_flight += len(jobs)
        try:
            returned = await self.pool.ask(Shard.of(jobs))
        finally:
            self._in_flight -= len(jobs)
        outcome = returned.outcome
        if outcome is not None and not outcome.remaining:
            self._seconds = (self._seconds + (time.monotonic() - started) / len(jobs)) / (2 if self._seconds else 1)
        left = await self._merge(jobs, returned)
        part.jobs = [*left, *(job for job in part.jobs if id(job) not in sent)]
        if outcome is not None:
            self.ended(outcome)
            if outcome.refused:
                self._refused(outcome.refused[0], left)
        if len(left) < len(jobs):
            part.deaths, part.size = 0, 2 * part.size
            return
        part.deaths, part.size = part.deaths + (len(jobs) == 1), max(1, part.size // 4)
        if part.deaths >= DEATHS and not self.halt.halted(jobs[0].system.id):
            await self._give_up(part.jobs.pop(0))
            part.deaths = 0

    async def _merge(self, jobs: Sequence[CaseJob], returned: Returned) -> list[CaseJob]:
        """Merges a shard; returns those of its jobs that are not done."""
        if returned.file is None:
            return list(jobs)
        try:
            async with self._merging:  # one at a time, so that none waits for SQLite's lock
                await asyncio.to_thread(merge_shard, self.file.path, returned.file)
            left = await self._unsettled(jobs)
            missing = {job.item.case.id for job in left}
            done = [(job.system.id, job.item.case.id) for job in jobs if job.item.case.id not in missing]
            with open_run(self.file.path) as run:  # the shard's file lacks what a dead worker left beside it
                for record in run.find(done):
                    if record is not None:
                        self.count(record, record.case.id in returned.free)
        finally:
            returned.file.unlink(missing_ok=True)
        return left

    async def _unsettled(self, jobs: Sequence[CaseJob]) -> list[CaseJob]:
        rows = [job.item.row for job in jobs]
        leases = await self.file.lease(jobs[0].system_key, rows, self.versions)
        for job, lease in zip(jobs, leases, strict=True):
            job.lease = lease
        return [job for job in jobs if job.lease.state in FREE]

    def _refused(self, error: EndpointRefused, left: Sequence[CaseJob]) -> None:
        """An endpoint refused in a worker: that of the metrics, if an answer has no scores."""
        if any(job.lease.state is State.SCORE for job in left):
            self.halt.refuse_scoring(error)
        elif left:
            self.halt.refuse_system(left[0].system.id, error)
        self.jobs.wake()

    async def _give_up(self, job: CaseJob) -> None:
        error = f"worker_died: {DEATHS} workers ended while they asked this case"
        await self.file.write([CaseResult(job.system_key, job.item.row.key, error=to_json(error))])
        self.count(Record(job.system.id, job.item.case, None, error, {}), False)
