"""Puts a library to the cases: a process in its environment, which is ended and begun anew where it hangs or ends."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ragstone.errors import UsageError
from ragstone_conform.cases import Case
from ragstone_conform.outcome import Outcome, judged

_LOADING_SECONDS = 300.0
_LONGEST_LINE = 1 << 24
_SHOWN = 300  # characters of what a process printed last
_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Target:
    """A library as it is run. `place`: its file, or the location of an object."""

    name: str
    place: str
    python: Path


@dataclass(frozen=True)
class Exchange:
    """Replies of the judge and the embedder to a library. `chat`: {"status", "text", "finish"} in order; `vectors`:
    by text."""

    chat: Sequence[Mapping[str, Any]]
    vectors: Mapping[str, Any]


@dataclass(frozen=True)
class Conformance:
    """The results of a library on the cases. `exchanges`: by case and metric."""

    target: Target
    version: str
    outcomes: tuple[Outcome, ...]
    exchanges: Mapping[tuple[str, str], Exchange]

    @property
    def right(self) -> bool:
        """True if every outcome is right."""
        return all(outcome.kind == "right" for outcome in self.outcomes)


async def conform(
    target: Target,
    cases: Sequence[Case],
    *,
    metrics: Collection[str] = (),
    timeout: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Conformance:
    """The outcome of each case and metric that the library has, or of these `metrics`. A case that takes longer than
    `timeout` seconds is one more outcome. Raises UsageError where the library cannot be loaded."""
    outcomes: list[Outcome] = []
    exchanges: dict[tuple[str, str], Exchange] = {}
    async with contextlib.AsyncExitStack() as stack:
        worker = await _Worker.started(target, stack)
        loaded, jobs = worker.loaded, _jobs(worker.loaded, cases, metrics)
        if not jobs:
            known = ", ".join(loaded["metrics"] or ())
            raise UsageError(f"{target.name}: no case is about its metrics ({known}). Choose other cases or metrics.")
        for number, (case, asked) in enumerate(jobs, start=1):
            reply = await worker.call(str(number), case, asked, timeout)
            for metric in asked:
                outcome = _outcome(case, metric, reply)
                if outcome is not None:
                    outcomes.append(outcome)
                    exchanges[case.id, metric] = Exchange(reply.get("exchanges", ()), reply.get("vectors", {}))
            if "ended" in reply and number < len(jobs):
                worker = await _Worker.started(target, stack)
            if progress is not None:
                progress(number, len(jobs))
    return Conformance(target, loaded["version"], tuple(outcomes), exchanges)


def _outcome(case: Case, metric: str, reply: Mapping[str, Any]) -> Outcome | None:
    """The outcome of a reply; None where the library says that it has no such metric."""
    if "ended" in reply:
        return Outcome(case.id, metric, reply["ended"], case.expect[metric], None, reply["reason"])
    result = reply["results"][metric]
    return None if result.get("absent") else judged(case, metric, result)


def _jobs(loaded: Mapping[str, Any], cases: Sequence[Case], wanted: Collection[str]) -> list[tuple[Case, list[str]]]:
    """The calls: each case with one metric, or with all. A library that asks no model has no case about replies."""
    jobs = []
    for case in cases:
        has = case.expect if loaded["metrics"] is None else loaded["metrics"]
        metrics = [metric for metric in case.expect if metric in has and (not wanted or metric in wanted)]
        of_verdicts = case.fault.get("kind") in (None, "missing", "twice", "value")
        if metrics and (of_verdicts or loaded["asks"]) and (case.needs != "aliases" or loaded["aliases"]):
            jobs += [(case, metrics)] if loaded["together"] else [(case, [metric]) for metric in metrics]
    return jobs


def _no_python(target: Target, reason: str) -> UsageError:
    return UsageError(f"--python {target.python} is no Python ({reason}). Give an environment's bin/python.")


class _Worker:
    """The process, which has loaded the library."""

    def __init__(self, process: asyncio.subprocess.Process, output: IO[bytes]) -> None:
        self._process, self._output = process, output
        self.loaded: dict[str, Any] = {}

    @classmethod
    async def started(cls, target: Target, stack: contextlib.AsyncExitStack) -> "_Worker":
        output = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  (closed by the stack)
        try:
            process = await asyncio.create_subprocess_exec(
                str(target.python), str(_WORKER), target.place, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, stderr=output, start_new_session=True, limit=_LONGEST_LINE,
                env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"},
            )  # fmt: skip
        except OSError as error:
            raise _no_python(target, str(error.strerror)) from error
        worker = cls(process, output)
        stack.push_async_callback(worker.stop)
        try:
            loaded = await worker._receive(_LOADING_SECONDS)
        except ValueError:
            raise _no_python(target, "what it printed is not what a Python prints") from None
        if "version" not in loaded:
            reason = loaded.get("error") or loaded["reason"]
            raise UsageError(f"{target.name} cannot be loaded by {target.python} ({reason}).")
        worker.loaded = loaded
        return worker

    async def call(self, job: str, case: Case, metrics: list[str], timeout: float) -> dict[str, Any]:
        """The worker's reply, or {"ended": how, "reason"} of the process."""
        document = {"id": job, "metrics": metrics, "sample": case.sample, "judge": case.judge, "fault": case.fault}
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write((json.dumps(document) + "\n").encode())
            await self._process.stdin.drain()
        reply = await self._receive(timeout)
        if "ended" in reply:
            await self.stop()
        return reply

    async def _receive(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(timeout):
                line = await self._process.stdout.readline()
        except TimeoutError:
            return {"ended": "timed_out", "reason": f"no result within {timeout:g} s"}
        if line:
            return dict(json.loads(line))
        code = await self._process.wait()
        return {"ended": "crashed", "reason": f"exit code {code}: {self._last_line()}"}

    def _last_line(self) -> str:
        self._output.seek(0)
        lines = self._output.read()[-10_000:].decode("utf-8", "replace").split("\n")
        return next((line.strip()[:_SHOWN] for line in reversed(lines) if line.strip()), "it printed nothing")

    async def stop(self) -> None:
        """Ends the process and what it started."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
