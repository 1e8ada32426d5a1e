"""A user's code in a process of its own, so that it can print, hang and crash without ending the run.

A call that does not end in time is cancelled, and if it goes on, the process is replaced. If the process ends by
itself, nobody knows which of its calls did it: they are made again one at a time in a second process, and only the one
that ends that process, too, has failed.
"""

import asyncio
import contextlib
import hashlib
import importlib.util
import itertools
import json
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO, Any

from ragstone.errors import SystemFailed, UsageError
from ragstone.structs import to_json
from ragstone.user_code.calls import timed_out
from ragstone.user_code.worker import HEADER

_CANCEL_SECONDS = 2.0  # how long a cancelled question may take to end
_MARK = "RAGSTONE_CODE"  # an environment variable by which the processes that code starts are found
_STARTING_SECONDS = 0.1
_STOP_SECONDS = 5.0
_LONGEST_LINE = 300  # characters of the last line that was printed
_LOAD_SECONDS = 600.0  # an application may load an index first


class _WorkerEnded(Exception):
    """The process ended before it had answered. `replaced`: because of another call that hung."""

    def __init__(self, reason: str, *, replaced: bool) -> None:
        super().__init__(reason)
        self.replaced = replaced


class _Worker:
    """One process, and the calls that it has."""

    def __init__(self, process: asyncio.subprocess.Process, output: IO[bytes], mark: str) -> None:
        self._process, self._output, self._mark = process, output, mark
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._replaced, self._stuck = False, 0
        self.loaded: dict[str, Any] = {}
        self.ended = False
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    async def started(cls, settings: Mapping[str, Any]) -> "_Worker":
        """A process that has loaded the code. Raises UsageError if that failed."""
        output = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `stop`)
        mark = uuid.uuid4().hex
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "ragstone.user_code.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=output, start_new_session=True,
            env={**os.environ, _MARK: mark},
        )  # fmt: skip
        worker = cls(process, output, mark)
        try:
            worker._send(settings)
            async with asyncio.timeout(_LOAD_SECONDS):
                worker.loaded = await worker._receive()
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            reason = worker.last_line() or "it printed nothing"
            await worker.stop()
            raise UsageError(f"{settings['place']} ended while it was loaded ({reason}).") from None
        except BaseException:
            await worker.stop()
            raise
        if "error" in worker.loaded:
            await worker.stop()
            raise UsageError(worker.loaded["error"])
        worker._watching = asyncio.create_task(worker._watch())
        return worker

    def _send(self, message: Mapping[str, Any]) -> None:
        data = to_json(message).encode("ascii")
        assert self._process.stdin is not None
        self._process.stdin.write(HEADER.pack(len(data)) + data)

    async def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        header = await self._process.stdout.readexactly(HEADER.size)
        message = json.loads(await self._process.stdout.readexactly(HEADER.unpack(header)[0]))
        return dict(message)

    async def _watch(self) -> None:
        """Hands answers to those who wait for them, until the process ends."""
        reading = asyncio.create_task(self._read())
        ending = asyncio.create_task(self._process.wait())
        await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
        # The pipe closes a moment before the process is known to have ended, and may hold answers after it has.
        await asyncio.wait({reading, ending}, timeout=0.5)
        self.ended = True
        for task in (reading, ending):
            task.cancel()
        await asyncio.gather(reading, ending, return_exceptions=True)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_WorkerEnded(self._reason(), replaced=self._replaced))
        self._waiting.clear()

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                message = await self._receive()
                future = self._waiting.pop(message["number"], None)
                if future is not None and not future.done():
                    future.set_result(message)

    async def call(self, number: int, value: Any, timeout: float, threads: int) -> Any:
        """The result. Raises SystemFailed, or _WorkerEnded."""
        assert self._process.stdin is not None
        if self._process.stdin.is_closing() and self._watching is not None:
            await asyncio.shield(self._watching)
        if self.ended:  # before it got this call
            raise _WorkerEnded(self._reason(), replaced=True)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({"number": number, "value": value})
            # The process itself keeps the time; this is for code that blocks it.
            await asyncio.wait({future}, timeout=timeout + _CANCEL_SECONDS)
            if not future.done():
                self._send({"number": number})
                await asyncio.wait({future}, timeout=_CANCEL_SECONDS)
            if not future.done():
                self.kill()
                raise timed_out(timeout)
            message = future.result()
        finally:
            self._waiting.pop(number, None)
        if "error" in message:
            self._stuck += bool(message.get("stuck"))
            if self._stuck * 2 >= threads:
                self.kill()
            raise SystemFailed(message["kind"], message["error"])
        return message["result"]

    def kill(self) -> None:
        """Ends the process because one call hangs; the others are made again."""
        self._replaced = True
        self.ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _reason(self) -> str:
        code = self._process.returncode
        how = "it closed its pipes" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        line = self.last_line()
        return f"{how}; it printed: {line}" if line else how

    def last_line(self) -> str:
        """The last line that the code printed."""
        if self._output.closed:
            return ""
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - 4000))
        lines = [line.strip() for line in self._output.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:_LONGEST_LINE] if lines else ""

    async def stop(self) -> None:
        """Ends the process and what it started."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.stdin is not None:
                self._process.stdin.close()
            try:
                await asyncio.wait_for(self._process.wait(), 0.2 if self.ended else _STOP_SECONDS)
            except TimeoutError:
                self._process.kill()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # what the code forked
        await self._process.wait()
        _end_marked(self._mark)  # and what it started in sessions of their own
        if self._process.returncode:  # it crashed: a program that it was just starting has no environment yet
            await asyncio.sleep(_STARTING_SECONDS)
            _end_marked(self._mark)
        if self._watching is not None:
            await asyncio.gather(self._watching, return_exceptions=True)
        self._output.close()


def _end_marked(mark: str) -> None:
    """Ends the processes that have inherited this mark. Only Linux tells the environment of a process."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or it is somebody else's
            if f"{_MARK}={mark}".encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)


class IsolatedCode:
    """What is at a location, called in a process of its own. Made by `open_isolated_code`.

    `about`: what the adapter says of it."""

    def __init__(self, settings: Mapping[str, Any], worker: _Worker) -> None:
        self._settings, self._worker = settings, worker
        self._suspects: _Worker | None = None
        self._replacing, self._one_at_a_time = asyncio.Lock(), asyncio.Lock()
        self._numbers = itertools.count()
        self.timeout: float = settings["timeout"]
        self._threads: int = settings["threads"]
        self.about: Mapping[str, Any] = worker.loaded

    def printed(self) -> str:
        """The last line that the code printed; "" if none."""
        return self._worker.last_line()

    async def call(self, value: Any, *, timeout: float | None = None) -> Any:
        """The result, as JSON values. `timeout`: seconds, by default those of the settings. Raises SystemFailed;
        "crashed" if the call ended the process."""
        while True:
            worker = await self._live_worker()
            try:
                return await worker.call(next(self._numbers), value, timeout or self.timeout, self._threads)
            except _WorkerEnded as ended:
                if ended.replaced:  # another call hung
                    continue
                return await self._call_alone(value, timeout or self.timeout)

    async def _live_worker(self) -> _Worker:
        async with self._replacing:
            if self._worker.ended:
                await self._worker.stop()
                self._worker = await _Worker.started(self._settings)
            return self._worker

    async def _call_alone(self, value: Any, timeout: float) -> Any:
        """Makes a call that may have ended the process, with no other one beside it."""
        async with self._one_at_a_time:
            if self._suspects is None or self._suspects.ended:
                if self._suspects is not None:
                    await self._suspects.stop()
                self._suspects = await _Worker.started(self._settings)
            try:
                return await self._suspects.call(next(self._numbers), value, timeout, self._threads)
            except _WorkerEnded as ended:
                raise SystemFailed("crashed", f"The {self._settings['what']}'s process ended ({ended}).") from None

    async def stop(self) -> None:
        for worker in (self._worker, self._suspects):
            if worker is not None:
                await worker.stop()


@contextlib.asynccontextmanager
async def open_isolated_code(
    place: str, what: str, adapter: str, *, timeout: float, threads: int, **settings: Any
) -> AsyncIterator[IsolatedCode]:
    """Loads what is at `place` (`file.py:name`, `package.module:name`) in a process that ends with the context.

    what: its role in errors ("system", "retriever"…). adapter: the location of the function that takes the loaded
    object and all settings and returns `Served`. timeout: seconds for one call. threads: how many blocking calls run
    at once. Raises UsageError."""
    settings = {**settings, "place": place, "what": what, "adapter": adapter, "timeout": timeout, "threads": threads}
    code = IsolatedCode(settings, await _Worker.started(settings))
    try:
        yield code
    finally:
        await code.stop()


def source_hash(place: str) -> str:
    """The hash of the file with the code: another version of it is another system."""
    name = place.rpartition(":")[0]
    if not name.endswith(".py"):
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            name = (spec.origin if spec is not None else "") or ""
    path = Path(name).expanduser()
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
