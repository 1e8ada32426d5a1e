"""The process that runs a user's code named by file or module. `isolated.py` starts it as a script.

Messages are frames in both directions: four bytes of length, then ASCII JSON. The first frame has the settings, which
name the adapter (`module:function`) that makes `Served` of what is loaded; the reply to it says what was loaded or why
nothing could be. Then each call has a number, which its result repeats. The code sees no standard input, and what it
prints goes to standard error, so it can disturb neither frames nor output.
"""

import asyncio
import functools
import io
import json
import os
import signal
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from ragstone.errors import RagstoneError, SystemFailed
from ragstone.registry import load_place
from ragstone.structs import to_json
from ragstone.user_code.calls import Served, located

__all__: list[str] = []

HEADER = struct.Struct(">I")
_CANCELLED = "cancelled"  # the name of a call's task that ragstone, not the user's code, has cancelled


class _Connection:
    """The two pipes to ragstone. Only this process writes: a copy that user code has forked ends instead."""

    def __init__(self, source: BinaryIO, target: int) -> None:
        self._source, self._target, self._pid = source, target, os.getpid()

    def read(self) -> dict[str, Any]:
        """The next message; ends the process if ragstone has ended."""
        header = self._source.read(HEADER.size)
        if len(header) < HEADER.size:
            os._exit(0)
        return dict(json.loads(self._source.read(HEADER.unpack(header)[0])))

    def write(self, message: dict[str, Any]) -> None:
        if os.getpid() != self._pid:
            os._exit(0)
        data = to_json(message).encode("ascii")
        view = memoryview(HEADER.pack(len(data)) + data)
        while view:
            view = view[os.write(self._target, view) :]


def _load(settings: dict[str, Any]) -> Served:
    place = settings["place"]
    module = place.rpartition(":")[0]
    folders = [str(Path.cwd())]
    if module.endswith(".py"):
        folders.insert(0, str(Path(module).expanduser().resolve().parent))
    sys.path[:0] = folders  # for good: functions import when they are called, too
    target = load_place(settings["what"], place)
    served: Served = load_place("adapter", settings["adapter"])(target, settings)
    return served


async def _answer(served: Served, number: int, value: Any, connection: _Connection) -> None:
    try:
        connection.write({"number": number, "result": await served.call(value)})
    except BaseException as error:
        if (task := asyncio.current_task()) is not None and task.get_name() == _CANCELLED:
            connection.write({"number": number, "kind": "timed_out", "error": "cancelled"})
            return
        kind = error.kind if isinstance(error, SystemFailed) else "raised"
        message = str(error) if isinstance(error, RagstoneError) else located(error)
        # A thread cannot be ended: it goes on and takes a place.
        stuck = kind == "timed_out" and served.blocks
        connection.write({"number": number, "kind": kind, "error": message, "stuck": stuck})


async def _serve(connection: _Connection) -> None:
    loop = asyncio.get_running_loop()
    settings = await loop.run_in_executor(None, connection.read)
    # Where frameworks run their blocking parts.
    loop.set_default_executor(ThreadPoolExecutor(settings["threads"], thread_name_prefix="question"))
    try:
        served = _load(settings)
        connection.write(dict(served.about))
    except BaseException as error:  # user code may raise anything, SystemExit too
        message = str(error) if isinstance(error, RagstoneError) else located(error)
        connection.write({"error": message, "kind": "UsageError"})
        os._exit(1)
    tasks: dict[int, asyncio.Task[None]] = {}

    def receive(request: dict[str, Any]) -> None:
        number: int = request["number"]
        if "value" in request:
            task = tasks[number] = loop.create_task(_answer(served, number, request["value"], connection))
            task.add_done_callback(functools.partial(_forget, tasks, number))
        elif number in tasks:
            tasks[number].set_name(_CANCELLED)
            tasks[number].cancel()

    def read() -> None:  # ends with the process, even while the user's code blocks the loop
        while True:
            loop.call_soon_threadsafe(receive, connection.read())

    threading.Thread(target=read, name="reader", daemon=True).start()
    await asyncio.Event().wait()


def _forget(tasks: dict[int, asyncio.Task[None]], number: int, _: asyncio.Task[None]) -> None:
    tasks.pop(number, None)


def main() -> None:
    for name in ("SIGINT", "SIGHUP"):  # for ragstone, whose end ends this process
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    connection = _Connection(os.fdopen(os.dup(0), "rb"), os.dup(1))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a crash loses no line
    asyncio.run(_serve(connection))


if __name__ == "__main__":
    main()
