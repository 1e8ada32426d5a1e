"""The queue of unfinished cases, from a benchmark to the workers: the stream of checked cases, in batches of bounded
size, leased from the run file a few at a time and handed to the workers lane by lane."""

import asyncio
import contextlib
import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.runs.entries import CaseRow
from ragstone.runs.halt import Halt
from ragstone.runs.leases import Lease, State
from ragstone.runs.schema import key_of, text_of
from ragstone.runs.store import RunFile
from ragstone.storage import storage_errors
from ragstone.structs import to_json
from ragstone.types import Case, System

BATCH_BYTES = 2**20  # a batch is in memory several times while it is leased
# At most half of what is in flight is leased at once, so that processes share the end of a run evenly; more if the
# system answers faster than leasing brings work. Cases that are done already are skipped in larger steps.
MAX_TAKE = 512
MAX_LOOKAHEAD = 512
SETTLED = (State.DONE, State.FAILED)
FREE = (State.ASK, State.SCORE)
# How far the stream is read ahead while cases wait for others of their lane.
AHEAD_CASES = 1024
AHEAD_BYTES = 64 * 2**20
# How often to check whether other processes have finished, in seconds: at first and at most.
FIRST_PAUSE, MAX_PAUSE = 0.1, 2.0


class StreamedCase(Struct, gc=False):
    """A case and the row that is written for it."""

    case: Case
    row: CaseRow


def batches(cases: Iterable[Case], size: Callable[[], int]) -> Iterator[list[StreamedCase]]:
    """The cases in lists of at most `size()` cases and about `BATCH_BYTES`. `UsageError` names a case that cannot be
    written: its record could not say what was asked."""
    batch: list[StreamedCase] = []
    limit, total_bytes = size(), 0
    for case in cases:
        try:
            payload = to_json(replace(case, lane="") if case.lane else case)  # the grouping is not part of its content
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"Case {case.id!r} cannot be written as JSON: {' '.join(str(error).split())}.") from error
        batch.append(StreamedCase(case, CaseRow(key_of(case.id), payload, key_of(case.lane) if case.lane else "")))
        total_bytes += len(payload)
        if len(batch) >= limit or total_bytes > BATCH_BYTES:
            yield batch
            batch = []
            limit, total_bytes = size(), 0
    if batch:
        yield batch


class Ledger:
    """What a run remembers of all its cases: the ids that it has seen, and the cases that other processes have. It is a
    temporary SQLite database, on disk beyond its first megabyte."""

    _WHERE = "a temporary database"

    def __init__(self) -> None:
        with storage_errors(self._WHERE):
            self._db = sqlite3.connect("", isolation_level=None)
            for statement in (
                "PRAGMA journal_mode=OFF",
                "PRAGMA synchronous=OFF",
                "PRAGMA cache_size=-1024",
                "CREATE TABLE seen (case_id TEXT PRIMARY KEY) WITHOUT ROWID",
                "CREATE TABLE deferred (system_id TEXT, case_id TEXT, lane TEXT, PRIMARY KEY (system_id, case_id))",
            ):
                self._db.execute(statement)

    def close(self) -> None:
        self._db.close()

    def note(self, keys: Sequence[str]) -> None:
        """Notes new ids; `UsageError` names one that occurred before."""
        listed = json.dumps(keys)
        with storage_errors(self._WHERE):
            query = "SELECT case_id FROM seen WHERE case_id IN (SELECT value FROM json_each(?))"
            repeated = [row[0] for row in self._db.execute(query, (listed,))]
            if not repeated and len(set(keys)) == len(keys):
                self._db.execute("INSERT INTO seen SELECT value FROM json_each(?)", (listed,))
                return
        first = repeated[0] if repeated else next(key for index, key in enumerate(keys) if key in keys[:index])
        raise UsageError(
            f"Two cases have the id {text_of(first)!r}: ids must be unique, because records are stored by case id."
        )

    def defer(self, system_key: str, rows: Iterable[CaseRow]) -> None:
        """Another process has these cases: check them again later."""
        with storage_errors(self._WHERE):
            self._db.executemany(
                "INSERT OR IGNORE INTO deferred VALUES (?, ?, ?)",
                [(system_key, row.key, row.lane) for row in rows],
            )

    def settle(self, system_key: str, keys: Iterable[str]) -> None:
        """These cases need no further check."""
        with storage_errors(self._WHERE):
            self._db.execute(
                "DELETE FROM deferred WHERE system_id = ? AND case_id IN (SELECT value FROM json_each(?))",
                (system_key, json.dumps(list(keys))),
            )

    def deferred(self, system_key: str, keys: Sequence[str]) -> set[str]:
        """Which of these are deferred."""
        with storage_errors(self._WHERE):
            rows = self._db.execute(
                "SELECT case_id FROM deferred WHERE system_id = ? AND case_id IN (SELECT value FROM json_each(?))",
                (system_key, json.dumps(keys)),
            ).fetchall()
        return {row[0] for row in rows}

    def waiting(self, system_key: str, after: int, limit: int) -> list[tuple[int, CaseRow]]:
        """The next deferred cases as (position, row without payload), in the order in which they were deferred."""
        with storage_errors(self._WHERE):
            rows = self._db.execute(
                "SELECT rowid, case_id, lane FROM deferred WHERE rowid > ? AND system_id = ? ORDER BY rowid LIMIT ?",
                (after, system_key, limit),
            ).fetchall()
        return [(row[0], CaseRow(row[1], "", row[2])) for row in rows]


class CaseJob(Struct, gc=False):
    """A case of a system that this process has leased."""

    system: System
    system_key: str
    item: StreamedCase
    lease: Lease


class JobQueue:
    """The unfinished cases of all systems. `settled` is called with those that other processes or earlier runs did."""

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
        self.ready: deque[CaseJob | None] = deque()  # None, after `end`: no more for any worker
        self._idle: deque[asyncio.Future[None]] = deque()  # workers that wait for a job
        self.lanes: dict[tuple[str, str], deque[CaseJob]] = {}
        self.room = asyncio.Event()  # set whenever a job starts, and at the stop
        self.waiting = self.waiting_bytes = 0  # leased and not started
        self.take = self.smallest_take = max(1, min(concurrency // 2, MAX_TAKE))
        self.lease_succeeded = False  # whether the last attempt to lease brought work
        self.ended = False  # whether nothing more comes
        self.lookahead = 0  # how many cases to check at once if they seem to be done

    def close(self) -> None:
        """Deletes the temporary database."""
        self.ledger.close()

    # --- for the workers ---------------------------------------------------------------------------------------

    async def get(self) -> CaseJob | None:
        """The next job; None at the end."""
        while not self.ready:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(turn)
            await turn
        return self.next_ready()

    def next_ready(self) -> CaseJob | None:
        """The next job; None if there is none now."""
        return self.ready.popleft() if self.ready and self.ready[0] is not None else None

    def _add(self, job: CaseJob | None) -> None:
        """One more job, for a worker that waits if there is one."""
        self.ready.append(job)
        while self._idle:
            if not (turn := self._idle.popleft()).done():
                turn.set_result(None)
                return

    def rest_of_lane(self, job: CaseJob) -> list[CaseJob]:
        """The jobs that wait in the lane of this one, which begin with it. The lane stays this worker's until
        `next_in_lane` finds nothing more."""
        line = self.lanes.get((job.system_key, job.item.row.lane), deque())
        jobs = list(line)
        line.clear()
        for one in jobs:
            self.begin(one)
        return jobs

    def end(self, workers: int) -> None:
        """Nothing more comes: this many workers may stop."""
        self.ended = True
        for _ in range(workers):
            self._add(None)

    def begin(self, job: CaseJob) -> None:
        """A worker starts this job now."""
        self.waiting -= 1
        self.waiting_bytes -= len(job.item.row.payload)
        self.room.set()

    def wake(self) -> None:
        """Checks again whether to go on: the run or a system was halted."""
        self.room.set()

    def next_in_lane(self, job: CaseJob) -> CaseJob | None:
        """The next job in the lane of this one, which is done."""
        lane = (job.system_key, job.item.row.lane)
        line = self.lanes.get(lane)
        if line:
            return line.popleft()
        self.lanes.pop(lane, None)
        return None

    # --- the stream --------------------------------------------------------------------------------------------

    async def fill(self) -> None:
        """Leases all that is missing as fast as the workers need it, and waits for what other processes have leased."""
        for number, system in enumerate(self.systems):
            await self._pass(system, new=number == 0)
        pause = FIRST_PAUSE
        while not self.halt.all_halted and (left := await self._check_deferred()):
            pause = min(2 * pause, MAX_PAUSE)
            if left == "free":  # their process died or gave them back
                for system in self.systems:
                    await self._pass(system, deferred=True)
                pause = FIRST_PAUSE
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.halt.event.wait(), pause)

    async def _pass(self, system: System, *, new: bool = False, deferred: bool = False) -> None:
        """Goes through the stream once for one system. `new`: check the ids; `deferred`: only what others had."""
        key, shut_lanes = key_of(system.id), set[str]()
        for batch in batches(self.cases(), lambda: max(self.take, self.lookahead)):
            if self.halt.all_halted:
                return
            if new:
                self.ledger.note([item.row.key for item in batch])
            if self.halt.halted(system.id):
                continue  # the other systems go on, and their passes do not check the ids again
            items = batch
            if deferred:
                keys = self.ledger.deferred(key, [item.row.key for item in batch])
                items = [item for item in batch if item.row.key in keys]
            if len(items) > self.take:
                # Check before leasing: a process that joins an almost finished run must not take all the rest.
                items = [item for item, _ in await self._lease(key, items, shut_lanes, take=False)]
                self.lookahead = 0 if items else min(2 * self.lookahead, MAX_LOOKAHEAD)
            while items:
                await self._wait_for_room()
                if self.halt.halted(system.id):
                    break
                share, items = items[: self.take], items[self.take :]
                leased = await self._lease(key, share, shut_lanes)
                self._adjust_take(len(leased))
                self._enqueue([CaseJob(system, key, item, lease) for item, lease in leased])

    async def _lease(
        self, system_key: str, items: list[StreamedCase], shut_lanes: set[str], *, take: bool = True
    ) -> list[tuple[StreamedCase, Lease]]:
        """Those that are free, leased if `take`. The rest is counted, or deferred if another process has it."""
        rows = [item.row for item in items]
        leases = await self.file.lease(system_key, rows, self.versions, shut_lanes=shut_lanes, take=take)
        elsewhere = [row for row, lease in zip(rows, leases, strict=True) if lease.state is State.ELSEWHERE]
        shut_lanes.update(row.lane for row in elsewhere if row.lane)
        free = [(item, lease) for item, lease in zip(items, leases, strict=True) if lease.state in FREE]
        open_keys = {item.row.key for item, _ in free} if not take else set()
        self.ledger.settle(system_key, [row.key for row in rows if row.key not in open_keys])
        self.ledger.defer(system_key, elsewhere)
        self._settled(leases)
        return free

    def _adjust_take(self, leased: int) -> None:
        """Adapts how much is leased at once to how fast the system answers."""
        if not leased:  # skip what is done or leased elsewhere in larger steps
            self.lookahead = max(2 * self.take, self.lookahead)
        elif self.lease_succeeded and not self.ready:  # the workers ran out of work meanwhile
            self.take = min(2 * self.take, MAX_TAKE)
        elif len(self.ready) >= self.take // 2:
            self.take = max(self.take // 2, self.smallest_take)
        self.lease_succeeded = leased > 0

    def _enqueue(self, jobs: Iterable[CaseJob]) -> None:
        for job in jobs:
            self.waiting += 1
            self.waiting_bytes += len(job.item.row.payload)
            lane = job.item.row.lane
            if not lane:
                self._add(job)
            elif (line := self.lanes.get((job.system_key, lane))) is not None:
                line.append(job)
            else:
                self.lanes[job.system_key, lane] = deque()
                self._add(job)

    async def _wait_for_room(self) -> None:
        while not self.halt.all_halted and self.waiting:
            if len(self.ready) < self.take and self.waiting < AHEAD_CASES and self.waiting_bytes < AHEAD_BYTES:
                return
            self.room.clear()
            await self.room.wait()

    async def _check_deferred(self) -> str:
        """Counts what other processes have finished. "free" if some of the rest can be leased, "taken" if other
        processes have all of it, "" if nothing is left."""
        left = ""
        for system in self.systems:
            if system.id in self.halt.refused:
                continue
            key, after = key_of(system.id), 0
            while deferred := self.ledger.waiting(key, after, MAX_LOOKAHEAD):
                after = deferred[-1][0]
                rows = [row for _, row in deferred]
                leases = await self.file.lease(key, rows, self.versions, take=False)
                settled = [lease.state in SETTLED for lease in leases]
                self.ledger.settle(key, [row.key for row, is_so in zip(rows, settled, strict=True) if is_so])
                self._settled([lease for lease, is_so in zip(leases, settled, strict=True) if is_so])
                if any(lease.state in FREE for lease in leases):
                    left = "free"
                elif not all(settled):
                    left = left or "taken"
        return left
