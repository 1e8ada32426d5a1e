"""A worker of a cluster: it opens systems and metrics once, and asks the cases of a shard with the same runner as a
command on one machine, into a run file of its own."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragstone.cluster.cluster_limits import limited_by
from ragstone.engine.systems_and_metrics import OpenWorkload, Workload
from ragstone.errors import RagstoneError
from ragstone.runs import NullProgress, Outcome, RunFile, run_cases
from ragstone.runs.shards import Shard
from ragstone.systems.wrapper import Wrapper
from ragstone.types import Query, Record, Response, System


@dataclass(frozen=True)
class Errand:
    """What a worker is given once.

    `concurrency`: cases to ask at once. `folder`: that of the shards, beside the user's run file; `token`: the text of
    the file `token` in it, by which a worker on a shared disk recognises it. `home`: the folder that relative paths are
    from. `keys`: the providers' keys, by environment variable."""

    workload: Workload
    concurrency: int
    folder: Path
    token: str
    home: Path
    keys: Mapping[str, str] = field(repr=False)


@dataclass
class _Free(NullProgress):
    """Notes the cases whose replies were all cached."""

    names: set[str] = field(default_factory=set)

    def case_done(self, record: Record, *, free: bool = False) -> None:
        if free:
            self.names.add(record.case.id)


@dataclass(frozen=True)
class _Bounded(Wrapper):
    """A system that is asked at most so many questions at once, by all shards together: where one comes to its end,
    the next has its places."""

    inner: System
    places: asyncio.Semaphore

    async def answer(self, query: Query, /) -> Response:
        async with self.places:
            return await self.inner.answer(query)


class ShardWorker:
    """An actor: `start` for each run of a command, then `ask`, several at once if need be, and `stop`."""

    def __init__(self) -> None:
        self._stop, self._folder = asyncio.Event(), Path()
        self._open: asyncio.Future[None] | None = None
        self._errand: Errand | None = None
        self._here: OpenWorkload | None = None

    async def start(self, errand: Errand, keeper: Any) -> str:
        """Opens everything, and closes that of the run before; "" or the line of an error that no other worker would be
        spared."""
        if self._open is not None:
            self._open.cancel()
            await asyncio.gather(self._open, return_exceptions=True)
        os.environ.update(errand.keys)
        with contextlib.suppress(OSError):
            os.chdir(errand.home)
        self._errand, self._places = errand, asyncio.Semaphore(errand.concurrency)
        self._folder = errand.folder if _is_shared(errand) else Path(tempfile.mkdtemp(prefix="ragstone-"))
        workload = replace(errand.workload, options=limited_by(keeper, errand.workload.options))
        ready: asyncio.Future[OpenWorkload] = asyncio.get_running_loop().create_future()
        self._open = asyncio.ensure_future(_keep_open(workload, ready))  # opened and closed by one task
        try:
            self._here = await ready
        except RagstoneError as error:
            return str(error)
        return ""

    async def ask(self, number: str, shard: Shard) -> tuple[bytes | None, Outcome, frozenset[str]]:
        """Asks and scores; returns the shard's run file (None: it lies in the errand's folder), how its run ended, and
        the ids of the cases that cost nothing."""
        assert self._here is not None
        assert self._errand is not None
        (open_system,) = [system for system in self._here.systems if system.id == shard.system]
        system = _Bounded(open_system, self._places)
        metrics = [
            metric for metric in self._here.metrics
            if not shard.metrics or (metric.name, metric.version) in shard.metrics
        ]  # fmt: skip
        path, free = self._folder / f"{number}.run", _Free()
        with RunFile.create_or_open(
            path, question={"shard_of": self._errand.token}, info={}, systems={system.id: dict(system.spec)}
        ) as file:
            shard.store(path)
            outcome = await run_cases(
                file, lambda: shard.cases, systems=[system], metrics=metrics, concurrency=self._errand.concurrency,
                progress=free, stop=self._stop, gives_up=False,
            )  # fmt: skip
        if self._folder == self._errand.folder:
            return None, outcome, frozenset(free.names)
        content = path.read_bytes()
        path.unlink()
        return content, outcome, frozenset(free.names)

    async def stop(self) -> None:
        """What is in flight is finished, nothing new is begun."""
        self._stop.set()


def _is_shared(errand: Errand) -> bool:
    """Whether this machine sees the folder beside the user's run file."""
    try:
        return (errand.folder / "token").read_text(encoding="ascii") == errand.token
    except (OSError, ValueError):
        return False


async def _keep_open(workload: Workload, ready: "asyncio.Future[OpenWorkload]") -> None:
    try:
        async with workload.open() as here:
            ready.set_result(here)
            await asyncio.Event().wait()
    except Exception as error:
        if not ready.done():
            ready.set_exception(error)
