"""`--cluster`: the cases of a command go to the workers of a Ray cluster in shards, and come home into its run file.

The command stays in charge: it plans, leases, merges, counts and shows. A worker that dies costs what it had in flight;
on a shared disk its run file so far is kept. A command that dies is resumed like any other: what its workers left
beside the run file on a shared disk is merged first.
"""

import asyncio
import contextlib
import json
import logging
import os
import secrets
import shutil
import threading
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from ragstone.cluster.cluster_embedding import embed_on
from ragstone.cluster.cluster_keys import keys_for, keys_of
from ragstone.cluster.cluster_limits import keeping, value_of
from ragstone.cluster.cluster_reach import Watch, check_reachable, head_of
from ragstone.cluster.cluster_serve import serving
from ragstone.cluster.cluster_worker import Errand, ShardWorker
from ragstone.engine.systems_and_metrics import Workload
from ragstone.errors import RagstoneError, Unfinished, UsageError
from ragstone.models import ModelOptions
from ragstone.optional import load
from ragstone.runs import RunFile
from ragstone.runs.owners import is_dead
from ragstone.runs.reader import open_run
from ragstone.runs.shards import Returned, Shard, merge_shard
from ragstone.systems import system_name

if TYPE_CHECKING:
    import numpy as np

LOCAL_CPUS = 4  # at least so many logical ones: an actor waits for its own while others hold them
START_SECONDS = 180.0  # until the first worker has started, or a new one where none is left
_SHARDS_AT_ONCE = 2  # for a worker: while one shard comes home, it asks the next


@dataclass
class _Crew:
    """Workers that wait for the next run of a command; `stays`: whether there may be one. `lost`: the cluster is."""

    stays: bool = False
    lost: bool = False
    idle: list[Any] = field(default_factory=list)

    def dismiss(self, ray: Any) -> None:
        """Ends the workers, whose CPUs become free."""
        while self.idle and not self.lost:
            ray.kill(self.idle.pop())


@dataclass(frozen=True)
class Cluster:
    """`address`: "auto" (the cluster that runs here), "ray://HOST:PORT", "HOST:PORT", or "local" (one is started on
    this machine for the command). `workers`: None: one for each CPU of the cluster. `gpus`: what each worker takes,
    such as 0.25. `serves`: also starts the `vllm/…` models of the command."""

    address: str
    workers: int | None = None
    gpus: float = 0.0
    serves: bool = False
    crew: _Crew = field(default_factory=_Crew, repr=False, compare=False)
    least: ClassVar[int] = 5_000  # texts: fewer are embedded sooner than workers start

    @classmethod
    def checked(cls, address: str, workers: int | None, gpus: float = 0.0, *, serves: bool = False) -> Self:
        """The cluster of a command. UsageError for an address that none can have, MissingExtra without Ray."""
        host, colon, port = address.removeprefix("ray://").rpartition(":")
        if address not in ("auto", "local") and not (host and colon and port.isdecimal() and "/" not in host):
            raise UsageError(f"--cluster {address!r}: expected auto, local or ray://HOST:PORT.")
        if workers is not None and workers < 1:
            raise UsageError(f"--workers {workers}: expected 1 or more.")
        _ray()
        return cls(address, workers, gpus, serves)

    @contextlib.contextmanager
    def staying(self) -> Iterator[None]:
        """Inside, the connection stays, and workers go from one run of the command to the next."""
        if self.crew.stays:
            yield
            return
        ray = _ray()
        with self._connected(ray):
            self.crew.stays = True
            try:
                yield
            finally:
                self.crew.stays = False
                self.crew.dismiss(ray)

    @contextlib.asynccontextmanager
    async def pool(self, workload: Workload, file: RunFile, concurrency: int) -> AsyncIterator["_RayPool"]:
        """Workers for these systems and metrics, each of which asks `concurrency` cases at once. Raises UsageError for
        a cluster that is not there and for systems that cannot be sent; MissingExtra without Ray."""
        ray = _ray()
        if workload.options.batch is not None:
            raise UsageError(
                "--batch leaves the work to the provider, and --cluster has workers do it: name one of them."
            )
        _check_sendable(ray, workload)
        _absorb_earlier(file)
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(self._connected(ray))
            folder, token = stack.enter_context(_folder(file))
            keeper = await stack.enter_async_context(keeping(ray, workload.options))
            workload = replace(workload, options=replace(workload.options, spread=None))
            errand = Errand(workload, concurrency, folder, token, Path.cwd(), keys_of(workload))
            pool = _RayPool(ray, self, ray.put(errand), keeper, folder, self._count(ray), concurrency)
            try:
                await pool.begin()
                yield pool
            finally:
                await pool.close()

    @contextlib.asynccontextmanager
    async def serving(self, workload: Workload) -> AsyncIterator[None]:
        """Checks that the workload can be sent; keeps the connection, and its `vllm/…` models served if that was asked
        for."""
        ray = _ray()
        _check_sendable(ray, workload)
        with self._connected(ray):
            if not self.serves:
                yield
                return
            async with serving(ray, [*workload.systems, *workload.judging.judges]):
                yield

    async def embed(
        self, name: str, options: ModelOptions, texts: Sequence[str], kind: Literal["query", "passage"], /
    ) -> "np.ndarray[Any, Any]":
        """The vectors of a pool, by workers of their own: a `models.options.Spread`."""
        ray = _ray()
        with self._connected(ray):
            self.crew.dismiss(ray)  # those that embed need their CPUs
            async with keeping(ray, options) as keeper:
                return await asyncio.to_thread(
                    embed_on, ray, name, options, texts, kind, keys_for([name]), keeper, workers=self._count(ray),
                    gpus=self.gpus,
                )  # fmt: skip

    def _count(self, ray: Any) -> int:
        """How many workers."""
        if self.workers is not None or self.address == "local":
            return self.workers or os.cpu_count() or 1
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    @contextlib.contextmanager
    def _connected(self, ray: Any) -> Iterator[None]:
        """A connection to the cluster; one that the caller has is used and kept."""
        if ray.is_initialized():
            yield
            return
        check_reachable(self.address)
        try:
            self._connect(ray)
        except (ConnectionError, RuntimeError, ValueError, AssertionError, TimeoutError) as error:
            reason = " ".join(str(error).split()).partition(". Please specify")[0][:200] or type(error).__name__
            raise UsageError(
                f"--cluster {self.address}: no connection ({reason}). Start Ray with `ray start --head`, or use "
                "--cluster local."
            ) from error
        try:
            yield
        finally:
            if self.crew.lost:  # Ray would wait for the head
                threading.Thread(target=ray.shutdown, daemon=True).start()
            else:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address == "local":
            cpus = max(LOCAL_CPUS, (self.workers or os.cpu_count() or 1) + 1)
            ray.init(address="local", num_cpus=cpus, include_dashboard=False, **quiet)
            return
        try:
            ray.init(address=self.address, **quiet)
        except ConnectionAbortedError:  # the head could not start a server for us, which now and then hangs in its fork
            ray.shutdown()
            ray.init(address=self.address, **quiet)


class _RayPool:
    """The workers: a `runs.shards.Pool`."""

    def __init__(
        self, ray: Any, cluster: Cluster, errand: Any, keeper: Any, folder: Path, count: int, concurrency: int
    ) -> None:
        self._ray, self._errand, self._keeper, self._folder, self._crew = ray, errand, keeper, folder, cluster.crew
        self._actor = ray.remote(
            num_cpus=1, num_gpus=cluster.gpus, max_concurrency=_SHARDS_AT_ONCE + 2, scheduling_strategy="SPREAD"
        )(ShardWorker)
        self._count, self.size, self.concurrency = count, count * _SHARDS_AT_ONCE, concurrency
        self._places: asyncio.Queue[Any] = asyncio.Queue()  # a worker, as often as it takes another shard
        self._living: set[Any] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._shards = 0
        self._error: RagstoneError | None = None
        self._stopped = False
        place = head_of(ray, cluster.address)
        self._watch = Watch(cluster.address, place, *([ray.cluster_resources] if place else []))

    async def begin(self) -> None:
        """Starts the workers and waits for the first. Raises UsageError if none can start."""
        for _ in range(self._count):
            self._hire()
        self._places.put_nowait(await self._place())

    def _hire(self) -> None:
        task = asyncio.create_task(self._start())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _start(self) -> None:
        known = bool(self._crew.idle)
        worker = self._crew.idle.pop() if known else self._actor.remote()
        try:
            problem = await self._watch.value(value_of(worker.start.remote(self._errand, self._keeper)))
        except self._ray.exceptions.RayActorError:
            if known:  # it died since the run before
                self._hire()
            return  # its node went while it started; if none is left, `_place` says so
        except Unfinished as error:
            self._error = error
            return
        except Exception as error:
            problem = " ".join(str(error).split())[-300:]
        if problem:
            self._error = self._error or UsageError(f"A worker of the cluster cannot start: {problem}")
            return
        self._living.add(worker)
        if self._stopped:
            worker.stop.remote()
        for _ in range(_SHARDS_AT_ONCE):
            self._places.put_nowait(worker)

    async def _place(self) -> Any:
        """A worker with room for a shard."""
        waited = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                worker = await asyncio.wait_for(self._places.get(), 0.5)
                if worker in self._living:
                    return worker
                continue  # another place of a worker that died
            if self._error is not None:
                raise self._error
            waited = 0.0 if self._living else waited + 0.5
            if waited >= START_SECONDS:
                free = self._ray.available_resources()
                room = f"{free.get('CPU', 0):g} CPUs and {free.get('GPU', 0):g} GPUs are free"
                raise Unfinished(
                    f"No worker of the cluster could start within {START_SECONDS:.0f} s ({room}). Run the same command "
                    "again when it has room."
                )

    async def ask(self, shard: Shard, /) -> Returned:
        """Has a worker ask a shard. If it dies, another one is hired, and what a shared disk has of the shard comes
        home."""
        worker = await self._watch.value(self._place())
        self._shards += 1
        number = f"{self._shards:06}"
        try:
            content, outcome, free = await self._watch.value(value_of(worker.ask.remote(number, shard)))
        except self._ray.exceptions.RayActorError:
            if worker in self._living:
                self._living.discard(worker)
                self._ray.kill(worker)  # it may only be out of reach: nothing more may come of it
                if not self._stopped:
                    self._hire()
            return Returned(self._found(number))
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, RagstoneError) else None
            raise cause or Unfinished(f"A worker failed: {' '.join(str(error.cause).split())[:300]}") from error
        self._places.put_nowait(worker)
        if content is not None:
            (self._folder / f"{number}.run").write_bytes(content)
        return Returned(self._found(number), outcome, free)

    def _found(self, number: str) -> Path | None:
        path = self._folder / f"{number}.run"
        return path if path.exists() and path.stat().st_size else None

    async def stop(self) -> None:
        """Lets the workers finish what is in flight."""
        self._stopped = True
        for worker in () if self._watch.lost else self._living:
            worker.stop.remote()

    async def close(self) -> None:
        """Ends the workers, but for those that have nothing left to do and may be needed again."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        self._watch.end()
        if self._watch.lost:
            self._crew.lost = True
            return
        free: list[Any] = []
        while not self._places.empty():
            free.append(self._places.get_nowait())
        for worker in self._living:
            if self._crew.stays and not self._stopped and free.count(worker) == _SHARDS_AT_ONCE:
                self._crew.idle.append(worker)
            else:
                self._ray.kill(worker)


def _ray() -> Any:
    """Ray, which sends no statistics and prints nothing: standard output is the command's."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "^")
    os.environ.setdefault("RAY_CLIENT_RECONNECT_GRACE_PERIOD", "5")  # seconds: the command can be run again
    warnings.filterwarnings("ignore", "Ray Client connection timed out")  # the command says so in its own line
    logging.getLogger("ray.util.client.logsclient").setLevel(logging.CRITICAL)  # it goes on saying that it reconnects
    return load("ray", extra="ray", purpose="--cluster")


def _check_sendable(ray: Any, workload: Workload) -> None:
    """UsageError for the first part of a workload that cannot be pickled."""
    parts = [(f"The system {system_name(system)!r}", system, "give it by name (app.py:ask)")
             for system in workload.systems]  # fmt: skip
    parts += [(f"The metric {getattr(metric, 'name', metric)!r}", metric, "give it by name")
              for metric in (*workload.own, *workload.metrics)]  # fmt: skip
    parts += [("The judge", workload.judging, "give it by name"), ("The benchmark", workload, "name its data by files")]
    for what, part, advice in parts:
        try:
            ray.cloudpickle.dumps(part)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise UsageError(
                f"{what} cannot be sent to the workers of a cluster ({reason}): {advice}, or leave --cluster out."
            ) from error


@contextlib.contextmanager
def _folder(file: RunFile) -> Iterator[tuple[Path, str]]:
    """A folder beside the run file for the run files of shards, and its token."""
    path = file.path.absolute()
    folder = path.with_name(f"{path.name}-shards-{secrets.token_hex(4)}")
    folder.mkdir()
    token = secrets.token_hex(16)
    (folder / "owner").write_text(json.dumps([file.owner, file.file_id]), encoding="ascii")
    (folder / "token").write_text(token, encoding="ascii")
    try:
        yield folder, token
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _absorb_earlier(file: RunFile) -> None:
    """Merges the shards that a killed command left beside the run file, and deletes them."""
    for folder in sorted(file.path.absolute().parent.glob("*-shards-*")):
        if not folder.name.startswith(f"{file.path.name}-shards-"):
            continue
        try:
            owner, file_id = json.loads((folder / "owner").read_text(encoding="ascii"))
            token = (folder / "token").read_text(encoding="ascii")
        except (OSError, ValueError, TypeError):
            continue
        if file_id != file.file_id or not is_dead(str(owner)):
            continue
        for shard in sorted(folder.glob("*.run")):
            with contextlib.suppress(RagstoneError):  # torn where it was written: its cases are asked again
                with open_run(shard) as run:
                    ours = run.meta.get("question") == {"shard_of": token}
                if ours:
                    merge_shard(file.path, shard)
        shutil.rmtree(folder, ignore_errors=True)
