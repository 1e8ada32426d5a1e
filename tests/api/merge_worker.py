"""Kills a merge after its first step, then another after its second step, and so on; each time the same merge, called
again, ends the work. Prints a line of JSON for each. No test of its own.

    python -m tests.api.merge_worker FOLDER RUN…

A step is a statement of SQL in the new file, or what is done with that file as a whole. Merges are forks of this
process, so that modules are loaded once.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

merging = import_module("ragstone.api.merge")  # the module: `ragstone.api` has the function of its name


def killed_after(step: int) -> None:
    """From here on this process dies by SIGKILL after this many steps."""
    taken, connect, link, unlink = 0, merging.connect, os.link, Path.unlink

    def count(_: object = None) -> None:
        nonlocal taken
        taken += 1
        if taken == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(count)
        return connection

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            value = call(*arguments, **options)
            count()
            return value

        return counting

    vars(merging)["connect"] = traced
    os.link, Path.unlink = counted(link), counted(unlink)  # type: ignore[method-assign]


def forked(work: Callable[[], object]) -> int:
    """The exit code of this work in a process of its own; negative if a signal ended it."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
    finally:
        os._exit(1 if sys.exc_info()[0] else 0)


def main() -> None:
    folder, sources = Path(sys.argv[1]), sys.argv[2:]
    merging.merge(sources, folder / "0.run")  # loads the modules
    step, killed = 0, True
    while killed:
        step += 1
        target = folder / f"{step}.run"

        def dying(step: int = step, target: Path = target) -> None:
            killed_after(step)
            merging.merge(sources, target)

        code = forked(dying)
        killed, there = code == -signal.SIGKILL, target.exists()
        again = code if there else forked(lambda target=target: merging.merge(sources, target))  # type: ignore[misc]
        print(json.dumps({"step": step, "code": code, "there": there, "again": again}), flush=True)


if __name__ == "__main__":
    main()
