"""Asks every case of every system, scores the answers and keeps both: what is missing in the run file, and no more."""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragstone.errors import EndpointRefused, FileLost, ModelError, StorageError, UsageError
from ragstone.models.work import Work, taking
from ragstone.runs.case_stream import Item, Ledger, batches
from ragstone.runs.entries import Entry, ScoreRow
from ragstone.runs.halt import Halt
from ragstone.runs.leases import LEASE_SECONDS, Lease, State
from ragstone.runs.outcome import NullProgress, Outcome, Progress
from ragstone.runs.schema import check_numbers, key_of
from ragstone.runs.scoring import describe, row_of, score, waits
from ragstone.runs.store import RunFile
from ragstone.types import Case, Metric, Record, Response, Score, System, Usage, to_json

__all__ = ["run_cases"]

# As much as half of what is in flight is taken at one go, so that processes share the end of a run well; more where
# the system answers faster than that brings work. What is done already is passed in larger steps.
LARGEST_TAKE = 256
LARGEST_GLANCE = 512
SETTLED = (State.DONE, State.FAILED)
FREE = (State.ASK, State.SCORE)
# A place in flight is free as soon as the answer is safe from the end of the process; so many answers may wait for
# their commit before the disk slows the run down.
UNCOMMITTED = 1024
# How far the stream is read ahead where cases wait for others of their lane.
AHEAD_CASES = 1024
AHEAD_BYTES = 64 * 2**20
PLANNED_AT_ONCE = 4096  # cases
# How often to look whether other processes have finished, in seconds: at first and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


async def run_cases(
    run_file: RunFile,
    cases: Callable[[], Iterable[Case]],
    *,
    systems: Sequence[System],
    metrics: Sequence[Metric],
    concurrency: int = 8,
    axes: Sequence[str] = (),
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    retry_failed: bool = True,
) -> Outcome:
    """Asks what is missing, at most `concurrency` cases at once.

    `cases` streams the same cases at each call. Which they are is in the file before the first is asked, so that an
    unfinished run is known to be one; `axes` names what of their conditions makes the grid. A case that fails is a
    record with its error; the next run asks it again (`retry_failed`). Metrics that a stored answer lacks are scored
    without asking again. Other processes on the file get their share; this one ends when all cases are done, theirs
    too. When `stop` is set, what is in flight is finished and the outcome says what remains; so it is where an endpoint
    refuses every request. Systems of other endpoints go on.

    Raises `UsageError` where the cases are at fault (two with one id), `RunMismatch` where the file holds other
    cases under their ids, `StorageError` where the file could not be written: what was done before is kept.
    """
    if concurrency < 1:
        raise UsageError(f"{concurrency} cases at once: it must be at least 1.")
    for kind, names in (("system", [system.id for system in systems]), ("metric", [metric.name for metric in metrics])):
        if twice := {name for name in names if names.count(name) > 1}:
            raise UsageError(f"The {kind} {min(twice)!r} is named twice.")
    engine = _Engine(
        run_file,
        cases,
        systems=systems,
        metrics=metrics,
        concurrency=concurrency,
        progress=progress or NullProgress(),
        stop=stop or asyncio.Event(),
    )
    try:
        return await engine.run(axes, retry_failed=retry_failed)
    finally:
        engine.ledger.close()


@dataclass(slots=True)
class _Job:
    system: System
    system_key: str
    item: Item
    claim: Lease


class _Engine:
    def __init__(
        self,
        run_file: RunFile,
        cases: Callable[[], Iterable[Case]],
        *,
        systems: Sequence[System],
        metrics: Sequence[Metric],
        concurrency: int,
        progress: Progress,
        stop: asyncio.Event,
    ) -> None:
        self.file, self.cases, self.systems, self.metrics = run_file, cases, systems, metrics
        self.concurrency, self.progress = concurrency, progress
        self.halt = Halt(stop, [system.id for system in systems])
        self.versions = frozenset((key_of(metric.name), metric.version) for metric in metrics)
        self.ledger = Ledger()
        self.ready: asyncio.Queue[_Job | None] = asyncio.Queue()
        self.lanes: dict[tuple[str, str], deque[_Job]] = {}
        self.written: asyncio.Queue[tuple[asyncio.Future[bool], Record, bool] | None]
        self.written = asyncio.Queue(UNCOMMITTED)
        self.room = asyncio.Event()  # set whenever a job is taken, and at the stop
        self.waiting = self.waiting_bytes = 0  # claimed and not begun
        self.take = self.smallest_take = max(1, min(concurrency // 2, LARGEST_TAKE))
        self.winning = False  # whether the last taking brought work
        self.glance = 0  # how many cases to look at in one go, where it seems that they are done
        self.asked = self.done = self.failed = self.already = self.permanent = 0
        self.usage = Usage()

    async def run(self, axes: Sequence[str], *, retry_failed: bool) -> Outcome:
        outcome = None
        try:
            all_cases = await self._plan(axes) * len(self.systems)
            await self.file.start([system.id for system in self.systems], retry_failed=retry_failed)
            self.progress.start(all_cases, 0)
            await self._tasks()
            unscored = await self.file.end([system.id for system in self.systems], self.versions)
            outcome = self._outcome(all_cases, unscored)
        except FileLost:
            raise
        except StorageError as error:
            raise StorageError(f"{error} {self.done + self.failed:,} cases of this run are kept.") from error
        finally:
            self.progress.finish(outcome)
        return outcome

    async def _plan(self, axes: Sequence[str]) -> int:
        """Notes in the file all that is to be asked; returns how many cases there are."""
        count, systems = 0, [system.id for system in self.systems]
        planned = ((case.id, _cell_of(case, axes)) for case in (self.cases() if systems else ()))
        while batch := list(itertools.islice(planned, PLANNED_AT_ONCE)):
            count += len(batch)
            await self.file.plan(systems, batch)
        return count

    async def _tasks(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                aside = [group.create_task(self._keep_leases()), group.create_task(self._watch_halt())]
                workers = [group.create_task(self._work()) for _ in range(self.concurrency)]
                counting = group.create_task(self._acknowledge())
                await self._feed()
                for _ in workers:
                    self.ready.put_nowait(None)
                await asyncio.gather(*workers)
                await self.written.put(None)
                await counting
                for task in aside:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    def _outcome(self, total: int, unscored: int) -> Outcome:
        refused = tuple(self.halt.refused.values())
        remaining = max(0, total - self.done - self.failed) if self.halt.all or refused else 0
        return Outcome(
            asked=self.asked,
            done=self.done,
            failed=self.failed,
            already=self.already,
            unscored=unscored,
            remaining=remaining,
            permanent=self.permanent,
            interrupted=self.halt.stop.is_set() and remaining > 0,
            refused=refused,
            usage=self.usage,
        )

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            await self.file.renew()

    async def _watch_halt(self) -> None:
        watching = asyncio.ensure_future(self.halt.watch())
        try:
            await self.halt.event.wait()
            self.room.set()
        finally:
            watching.cancel()

    # --- the stream --------------------------------------------------------------------------------------------

    async def _feed(self) -> None:
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
                self._enqueue([_Job(system, key, item, claim) for item, claim in won])

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
        self._count_settled(claims)
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

    def _count_settled(self, claims: Sequence[Lease]) -> None:
        """Counts the cases that need nothing of us."""
        done = sum(1 for claim in claims if claim.state is State.DONE)
        failed = sum(1 for claim in claims if claim.state is State.FAILED)
        self.done, self.failed, self.already = self.done + done, self.failed + failed, self.already + done + failed
        if done + failed:
            self.progress.already(done + failed)

    def _enqueue(self, jobs: Iterable[_Job]) -> None:
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
                self._count_settled([claim for claim, is_so in zip(claims, settled, strict=True) if is_so])
                if any(claim.state in FREE for claim in claims):
                    left = "free"
                elif not all(settled):
                    left = left or "taken"
        return left

    # --- what is on the disk -----------------------------------------------------------------------------------

    async def _acknowledge(self) -> None:
        """Counts and shows a case when its commit has returned, and not before."""
        while (item := await self.written.get()) is not None:
            writing, record, free = item
            if not await writing:  # another process had answered while this one was suspended: that is the record
                self._count_settled([Lease(State.DONE)])
                continue
            if record.error is None:
                self.done += 1
            else:
                self.failed += 1
            self.progress.case_done(record, free=free)

    # --- the workers -------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while (job := await self.ready.get()) is not None:
            next_job: _Job | None = job
            while next_job is not None:
                self.waiting -= 1
                self.waiting_bytes -= len(next_job.item.want.payload)
                self.room.set()
                if not self.halt.of(next_job.system.id):
                    with taking() as work:
                        await self._do(next_job, work)
                next_job = self._next_in_lane(next_job)

    def _next_in_lane(self, job: _Job) -> _Job | None:
        place = (job.system_key, job.item.want.lane)
        line = self.lanes.get(place)
        if line:
            return line.popleft()
        self.lanes.pop(place, None)
        return None

    async def _do(self, job: _Job, work: Work) -> None:
        if job.claim.response is not None:
            await self._finish(job, work, job.claim.response, None)
            return
        self.asked += 1
        try:
            with work.timed():
                response = await job.system.answer(job.item.case.query)
        except StorageError:
            raise
        except EndpointRefused as error:
            self.halt.system(job.system.id, error)
            self.room.set()
            return
        except Exception as error:
            self.permanent += isinstance(error, ModelError) and error.permanent
            await self._fail(job, work, describe(error))
            return
        if response.usage is not None:
            self.usage += response.usage
        try:
            check_numbers(response)
            payload = to_json(response)
        except (ValueError, TypeError, RecursionError) as error:
            await self._fail(job, work, f"unstorable: the response cannot be written as JSON ({describe(error)})")
            return
        await self._finish(job, work, response, payload)

    async def _fail(self, job: _Job, work: Work, error: str) -> None:
        writing = self.file.write(Entry(job.system_key, job.item.want.key, error=to_json(error)))
        await self.written.put((writing, Record(job.system.id, job.item.case, None, error, {}), work.free))

    async def _finish(self, job: _Job, work: Work, response: Response, payload: str | None) -> None:
        """Scores and writes. What costs nothing comes in one commit with the response; for the other scores, others
        are asked, while the response is safe already."""
        metrics = self.metrics
        if job.claim.state is State.SCORE:
            metrics = [metric for metric in metrics if (key_of(metric.name), metric.version) in job.claim.missing]
        slow = [metric for metric in metrics if waits(metric)]
        scores: dict[str, Score] = {}
        rows = await self._score([metric for metric in metrics if metric not in slow], job, response, scores)
        key, writing = job.item.want.key, None
        if payload is not None or not slow:
            writing = self.file.write(Entry(job.system_key, key, payload, None, rows), last=not slow)
            rows = []
        if slow:
            work.replies = replies = self.file.replies(job.system_key, key, job.claim.interim)
            try:
                rows += await self._score(slow, job, response, scores)
            except EndpointRefused as error:  # the answer is kept, and scored when the same command comes again
                self.halt.scoring(error)
                return
            if writing is None or await writing:
                writing = self.file.write(Entry(job.system_key, key, scores=rows), replies=replies)
        assert writing is not None
        await self.written.put((writing, Record(job.system.id, job.item.case, response, None, scores), work.free))

    async def _score(
        self, metrics: Sequence[Metric], job: _Job, response: Response, scores: dict[str, Score]
    ) -> list[ScoreRow]:
        rows = []
        case = job.item.case
        if len(metrics) == 1 or not any(map(waits, metrics)):
            found = [await score(metric, case, response) for metric in metrics]
        else:
            ended = await asyncio.gather(*(score(metric, case, response) for metric in metrics), return_exceptions=True)
            found = [_value(result) for result in ended]
        for metric, result in zip(metrics, found, strict=True):
            scores[metric.name], row = row_of(metric, result)
            rows.append(row)
        return rows


def _value(result: Score | BaseException) -> Score:
    if isinstance(result, BaseException):
        raise result
    return result


def _cell_of(case: Case, axes: Sequence[str]) -> str:
    """The cell of the grid that a case is in: what of its condition is on an axis, as JSON."""
    condition = case.condition
    try:
        return to_json({name: condition[name] for name in axes if name in condition})
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"Case {case.id!r} cannot be written as JSON: {' '.join(str(error).split())}.") from error


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to tell of several: that of the storage, which the others may come from, or else the first."""
    flat: list[BaseException] = []
    rest: list[BaseException] = [errors]
    while rest:
        error = rest.pop(0)
        if isinstance(error, BaseExceptionGroup):
            rest.extend(error.exceptions)
        else:
            flat.append(error)
    return next((error for error in flat if isinstance(error, StorageError)), flat[0])
