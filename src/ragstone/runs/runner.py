"""Asks every system every case, scores the answers and stores both: only what the run file does not have yet."""

import asyncio
import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from ragstone.display import own_name
from ragstone.errors import EndpointRefused, FileDamaged, FileLost, ModelError, StorageError, SystemFailed, UsageError
from ragstone.metrics.judge.unusable import UnusableReplies
from ragstone.models.work import Work, begin_work
from ragstone.runs.commits import Commits, Done
from ragstone.runs.entries import CaseResult, ScoreRow
from ragstone.runs.halt import Halt
from ragstone.runs.job_queue import CaseJob, JobQueue
from ragstone.runs.leases import LEASE_SECONDS, Lease, State
from ragstone.runs.outcome import NullProgress, Outcome, Progress
from ragstone.runs.schema import check_numbers, key_of
from ragstone.runs.scoring import describe, is_async, row_of, score
from ragstone.runs.shards import Pool, Shards
from ragstone.runs.store import RunFile
from ragstone.structs import to_json
from ragstone.systems.accepted import is_repeatable
from ragstone.types import Case, Metric, Record, Response, Score, System, Usage

PLANNED_AT_ONCE = 4096  # cases
NEW_OBJECTS = 10_000  # between two collections


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
    pool: Pool | None = None,
    gives_up: bool = True,
) -> Outcome:
    """Asks what is missing, at most `concurrency` cases at once, or has the workers of `pool` ask it.

    `cases` streams the same cases at each call. The plan is written before the first case is asked, so that an
    unfinished run is recognised; `axes` names the parts of a condition that form the grid. A case that fails becomes a
    record with its error; the next run asks it again (`retry_failed`). Stored answers that lack metrics are scored
    without asking again. Other processes on the file get their share; this one ends when all cases are done, including
    theirs. When `stop` is set, what is in flight is finished and the outcome says what remains. The same happens if an
    endpoint refuses every request, or the first questions of a system without records all fail alike (`gives_up`);
    other systems go on.

    Raises `UsageError` if two cases have the same id, `RunMismatch` if the file holds different cases under their ids,
    `StorageError` if the file cannot be written: what was done before is kept.
    """
    if concurrency < 1:
        raise UsageError(f"The concurrency is {concurrency}: it must be at least 1.")
    for kind, names in (("system", [system.id for system in systems]), ("metric", [metric.name for metric in metrics])):
        if repeated := {name for name in names if names.count(name) > 1}:
            raise UsageError(f"The {kind} {min(repeated)!r} is named twice: name it once.")
    engine = _Engine(
        run_file,
        cases,
        systems=systems,
        metrics=metrics,
        concurrency=concurrency,
        progress=progress or NullProgress(),
        stop=stop or asyncio.Event(),
        pool=pool,
    )
    try:
        with _fewer_collections:
            if not gives_up:
                engine.halt.tried({system.id for system in systems})
            return await engine.run(axes, retry_failed=retry_failed)
    finally:
        engine.jobs.close()


class _FewerCollections:
    """The garbage collector looks for cycles after so many new objects. With its usual 700 it went through those of the
    requests in flight again and again, for a sixth of the CPU of a request. Of runs that overlap, in whatever thread,
    the first raises the threshold and the last puts it back."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, gc.get_threshold()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                first, *others = self._before = gc.get_threshold()
                gc.set_threshold(max(first, NEW_OBJECTS) if first else 0, *others)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                gc.set_threshold(*self._before)


_fewer_collections = _FewerCollections()


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
        pool: Pool | None,
    ) -> None:
        self.file, self.cases, self.systems, self.metrics = run_file, cases, systems, metrics
        self.concurrency, self.progress = concurrency, progress
        self.unusable = UnusableReplies()
        self.halt = Halt(stop, [system.id for system in systems])
        self.versions = frozenset((key_of(metric.name), metric.version) for metric in metrics)
        self.jobs = JobQueue(
            run_file,
            cases,
            systems=systems,
            versions=self.versions,
            concurrency=concurrency if pool is None else pool.size * pool.concurrency,
            halt=self.halt,
            settled=self._count_settled,
        )
        self.total = 0
        self.shards = None if pool is None else self._shards_of(pool)
        self.repeatable = frozenset(system.id for system in systems if is_repeatable(system))
        self.slow = frozenset(metric.name for metric in metrics if is_async(metric))
        self.commits = Commits(run_file, self._count_done, lambda: self._count_settled([Lease(State.DONE)]))
        self.asked = self.done = self.failed = self.already = self.permanent = self.recorded = 0
        self.usage = Usage()

    async def run(self, axes: Sequence[str], *, retry_failed: bool) -> Outcome:
        outcome = None
        try:
            self.total = all_cases = await self._plan(axes) * len(self.systems)
            self.halt.tried(await self.file.start([system.id for system in self.systems], retry_failed=retry_failed))
            self.progress.start(all_cases, 0)
            await self._tasks()
            unscored = await self.file.end([system.id for system in self.systems], self.versions)
            if self.halt.has_stopped:
                await self._count_unreached(all_cases)
            outcome = self._outcome(all_cases, unscored)
        except FileLost:
            raise
        except FileDamaged as error:
            kept, received = self.file.kept
            raise FileDamaged(
                f"{error} {kept:,} of the {received:,} answers of this command are kept beside it: move it away, then "
                "run the same command again."
            ) from error
        except StorageError as error:
            raise StorageError(f"{error} {self.done + self.failed:,} cases of this run are kept.") from error
        finally:
            self.progress.finish(outcome)
        return outcome

    async def _plan(self, axes: Sequence[str]) -> int:
        """Writes the plan of all cases into the file; returns how many cases there are."""
        count, systems = 0, [system.id for system in self.systems]
        cases = self.cases() if systems else ()
        planned = ((case.id, _cell_of(case, axes), own_name(case.sample.id, case.sample.question)) for case in cases)
        while batch := list(itertools.islice(planned, PLANNED_AT_ONCE)):
            count += len(batch)
            await self.file.plan(systems, batch)
        return count

    async def _tasks(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(self._keep_leases()), group.create_task(self._watch_halt())]
                if self.shards is not None:
                    background.append(group.create_task(self.shards.watch()))
                work, count = (self._work, self.concurrency) if self.shards is None else self.shards.senders
                workers = [group.create_task(work()) for _ in range(count)]
                acknowledging = group.create_task(self.commits.acknowledge())
                await self.jobs.fill()
                self.jobs.end(len(workers))
                await asyncio.gather(*workers)
                await self.commits.end()
                await acknowledging
                for task in background:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    async def _count_unreached(self, total: int) -> None:
        """Counts the cases that this process did not reach, and that were done before."""
        left, failed = await self.file.left([system.id for system in self.systems], self.versions)
        settled = max(0, total - self.done - self.failed - left)
        failed = min(settled, max(0, failed - self.failed))
        self.done, self.failed, self.already = (
            self.done + settled - failed,
            self.failed + failed,
            self.already + settled,
        )

    def _outcome(self, total: int, unscored: int) -> Outcome:
        halt, refused = self.halt, tuple(self.halt.refused.values())
        remaining = max(0, total - self.done - self.failed) if self.halt.has_stopped else 0
        return Outcome(
            asked=self.asked - halt.unanswered,
            done=self.done,
            failed=self.failed,
            already=self.already,
            unscored=unscored,
            remaining=remaining,
            permanent=self.permanent,
            recorded=self.recorded,
            interrupted=halt.stop.is_set() and remaining > 0,
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
            self.jobs.wake()
        finally:
            watching.cancel()

    # --- progress ----------------------------------------------------------------------------------------------

    def _count_settled(self, leases: Sequence[Lease]) -> None:
        """Counts the cases that this process need not ask."""
        done = sum(1 for lease in leases if lease.state is State.DONE)
        failed = sum(1 for lease in leases if lease.state is State.FAILED)
        self.done, self.failed, self.already = self.done + done, self.failed + failed, self.already + done + failed
        if done + failed:
            self.progress.already(done + failed)

    def _count_done(self, record: Record, free: bool) -> None:
        self.done, self.failed = self.done + (record.error is None), self.failed + (record.error is not None)
        self.progress.case_done(record, free=free)

    def _shards_of(self, pool: Pool) -> Shards:
        """The senders that take the place of the workers here."""

        def ended(outcome: Outcome) -> None:
            self.asked, self.usage = self.asked + outcome.asked, self.usage + outcome.usage
            self.permanent, self.recorded = self.permanent + outcome.permanent, self.recorded + outcome.recorded

        remaining = lambda: self.total - self.done - self.failed  # noqa: E731
        return Shards(pool, self.file, self.jobs, self.halt, self.versions, remaining, self._count_done, ended)

    # --- the workers -------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while (job := self.jobs.next_ready()) is not None or (job := await self._wait_for_job()) is not None:
            next_job: CaseJob | None = job
            while next_job is not None:
                self.jobs.begin(next_job)
                if not self.halt.halted(next_job.system.id):
                    await self._do(next_job, begin_work())
                next_job = self.jobs.next_in_lane(next_job)

    async def _wait_for_job(self) -> CaseJob | None:
        """The next job, when what came at once is on its way to the file; None at the end."""
        await self.commits.flush()
        return await self.jobs.get()

    async def _do(self, job: CaseJob, work: Work) -> None:
        if job.lease.response is not None:
            await self._finish(job, work, job.lease.response, None, at_once=True)
            return
        self.asked += 1
        repeatable = job.system.id in self.repeatable
        turn = self.commits.turn() if repeatable else 0
        try:
            started = time.monotonic()
            response = await job.system.answer(job.item.case.query)
            work.count_wait(started)
        except StorageError:
            raise
        except EndpointRefused as error:
            self.halt.refuse_system(job.system.id, error)
            self.jobs.wake()
            return
        except Exception as error:
            self.permanent += isinstance(error, ModelError) and error.permanent
            self.recorded += isinstance(error, SystemFailed) and error.recorded
            if self.halt.failed(job.system.id, error, described := describe(error)):
                self.jobs.wake()
            await self._fail(job, work, described)
            return
        self.halt.answered(job.system.id)
        if response.usage is not None:
            self.usage += response.usage
        try:
            check_numbers(response)
            payload = to_json(response)
        except (ValueError, TypeError, RecursionError) as error:
            await self._fail(job, work, f"unstorable: the response cannot be written as JSON ({describe(error)})")
            return
        at_once = repeatable and turn == self.commits.turn() and not work.sent
        await self._finish(job, work, response, payload, at_once=at_once)

    async def _fail(self, job: CaseJob, work: Work, error: str) -> None:
        result = CaseResult(job.system_key, job.item.row.key, error=to_json(error))
        await self.commits.put(self.file.write([result]), [Done(result, _record(job, None, error), work.free)])

    async def _finish(
        self, job: CaseJob, work: Work, response: Response, payload: str | None, *, at_once: bool
    ) -> None:
        """Scores and writes. Scores that cost nothing are committed together with the response; those that ask a model
        follow when the response is safe. `at_once`: the response cost no request and no waiting, and can be had again
        at no cost; if its scores also do, it is written with its like."""
        turn = self.commits.turn() if at_once else 0
        metrics = self.metrics
        if job.lease.state is State.SCORE:
            metrics = [metric for metric in metrics if (key_of(metric.name), metric.version) in job.lease.missing]
        slow = [metric for metric in metrics if metric.name in self.slow]
        scores: dict[str, Score] = {}
        quick = [metric for metric in metrics if metric.name not in self.slow] if slow else metrics
        rows = await self._score(quick, job, response, scores)
        key, writing = job.item.row.key, None
        if at_once and not slow and turn == self.commits.turn() and not work.sent:
            result = CaseResult(job.system_key, key, payload, None, rows)
            await self.commits.add(Done(result, _record(job, response, scores=scores), work.free))
            return
        if payload is not None or not slow:
            result = CaseResult(job.system_key, key, payload, None, rows)
            writing = self.file.write([result], last=not slow)
            rows = []
        if slow:
            work.replies = replies = self.file.replies(job.system_key, key, job.lease.interim)
            try:
                rows += await self._score(slow, job, response, scores)
            except EndpointRefused as error:  # the answer is kept; the same command scores it later
                self.halt.refuse_scoring(error)
                return
            if unusable := self.unusable.add(_record(job, response, scores=scores)):
                self.halt.refuse_scoring(unusable)
            if writing is not None and not writing.done():
                self.file.hurry()
            if writing is None or all(await writing):
                result = CaseResult(job.system_key, key, scores=rows)
                writing = self.file.write([result], replies=replies)
        assert writing is not None
        await self.commits.put(writing, [Done(result, _record(job, response, scores=scores), work.free)])

    async def _score(
        self, metrics: Sequence[Metric], job: CaseJob, response: Response, scores: dict[str, Score]
    ) -> list[ScoreRow]:
        rows = []
        case = job.item.case
        if len(metrics) == 1 or not any(metric.name in self.slow for metric in metrics):
            results = [await score(metric, case, response) for metric in metrics]
        else:
            ended = await asyncio.gather(*(score(metric, case, response) for metric in metrics), return_exceptions=True)
            results = [_value(result) for result in ended]
        for metric, result in zip(metrics, results, strict=True):
            scores[metric.name], row = row_of(metric, result)
            rows.append(row)
        return rows


def _record(
    job: CaseJob, response: Response | None, error: str | None = None, scores: dict[str, Score] | None = None
) -> Record:
    return Record(job.system.id, job.item.case, response, error, scores or {})


def _value(result: Score | BaseException) -> Score:
    if isinstance(result, BaseException):
        raise result
    return result


def _cell_of(case: Case, axes: Sequence[str]) -> str:
    """The cell of the grid that a case is in: the part of its condition that is on an axis, as JSON."""
    condition = case.condition
    try:
        return to_json({name: condition[name] for name in axes if name in condition})
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"Case {case.id!r} cannot be written as JSON: {' '.join(str(error).split())}.") from error


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to report of several: a StorageError, which may have caused the others, else the first."""
    error: BaseException = errors.subgroup(StorageError) or errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
