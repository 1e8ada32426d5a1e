"""Kills a merge after its first step, then another after its second step, and so on; each time the same merge, called
again, ends the work. Prints a line of JSON for each. No test of its own.

    python -m tests.cluster.merge_worker merge|shards FOLDER RUN…

`shards`: the files are merged one after the other into a run that is there, as the command of a cluster does it with
those of its workers. A step is a statement of SQL in that file, or what is done with a file as a whole. Merges are
forks of this process, so that modules are loaded once.
"""

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

merging = import_module("ragstone.cluster.merge")  # the module: `ragstone.api` has the function of its name
shards = import_module("ragstone.runs.shards")


def killed_after(step: int, *, files: bool = True) -> None:
    """From here on this process dies by SIGKILL after this many steps; without `files` statements of SQL alone."""
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

    vars(merging)["connect"] = vars(shards)["connect"] = traced
    if files:
        os.link, Path.unlink = counted(link), counted(unlink)  # type: ignore[method-assign]


def forked(work: Callable[[], object]) -> int:
    """The exit code of this work in a process of its own; negative if a signal ended it."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
    finally:
        os._exit(1 if sys.exc_info()[0] else 0)


def merge_all(sources: Sequence[str], target: Path) -> None:
    """One new file of all."""
    merging.merge(sources, target)


def merge_shards(sources: Sequence[str], target: Path) -> None:
    """All into a run that is there."""
    if not target.exists():
        shutil.copy(sources[0], target)
    for source in sources:
        shards.merge_shard(target, Path(source))


def main() -> None:
    kind, folder, sources = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    work = {"merge": merge_all, "shards": merge_shards}[kind]
    work(sources, folder / "0.run")  # loads the modules
    step, killed = 0, True
    while killed:
        step += 1
        target = folder / f"{step}.run"

        def dying(step: int = step, target: Path = target) -> None:
            killed_after(step)
            work(sources, target)

        code = forked(dying)
        killed, there = code == -signal.SIGKILL, target.exists()
        whole = there and kind == "merge"
        again = code if whole else forked(lambda target=target: work(sources, target))  # type: ignore[misc]
        print(json.dumps({"step": step, "code": code, "there": there, "again": again}), flush=True)


if __name__ == "__main__":
    main()
