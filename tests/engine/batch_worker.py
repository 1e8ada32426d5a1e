"""Kills a command with `--batch` after its first step, then another after its second step, and so on; each time the
same command, called again, ends the work. Prints a line of JSON for each. No test of its own.

    python -m tests.engine.batch_worker FOLDER BASE_URL PROVIDER PARTS

With PARTS 2 the command is two commands, each with half of the samples, whose files are then merged.

A step is whatever leaves a trace: a request of the batch interface, a change of the list of batches, the end of a
round. Commands are forks of this process, so that modules are loaded once.
"""

import functools
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.evaluation.judging import Embedder
from tests.evaluation.test_evaluate import rows

from ragstone import evaluate, merge
from ragstone.models import ModelOptions
from ragstone.models.batches import Batches, BatchStore
from ragstone.models.batches.files import FileBatches
from ragstone.models.batches.lane import Lane
from ragstone.models.batches.message_batches import MessageBatches
from ragstone.runs import RunFile

STEPS = (
    (BatchStore, ("seal", "update", "end", "use", "forget_collected")),
    (FileBatches, ("upload", "create", "status", "find")),
    (MessageBatches, ("upload", "create", "status", "find")),
    (Lane, ("reply_of",)),
    (RunFile, ("close",)),
)
STRIDES = {1: 1, 2: 4}  # twice the steps take minutes, so that of those every fourth is a kill


def killed_after(step: int) -> None:
    """From here on this process dies by SIGKILL after this many steps."""
    taken = 0

    def count(name: str) -> None:
        nonlocal taken
        taken += 1
        if taken == step:
            os.write(1, (json.dumps({"step": step, "after": name}) + "\n").encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(method: Callable[..., Any], name: str) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def wait(*arguments: Any, **options: Any) -> Any:
                value = await method(*arguments, **options)
                count(name)
                return value

            return wait

        @functools.wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            value = method(*arguments, **options)
            count(name)
            return value

        return call

    for kind, names in STEPS:
        for name in names:
            setattr(kind, name, counted(getattr(kind, name), f"{kind.__name__}.{name}"))


def command(folder: Path, base_url: str, model: str, parts: int) -> int:
    options, complete = ModelOptions(cache=folder / "cache", batch=Batches(folder / "batches")), True
    files = [folder / (f"{number}.run" if parts > 1 else "e.run") for number in range(1, parts + 1)]
    for number, file in enumerate(files, 1):
        result = evaluate(
            rows(), ["five", "ragchecker"], model, judge_base_url=base_url, embedder=Embedder(), run=file,
            model_options=options, shard=f"{number}/{parts}" if parts > 1 else "",
        )  # fmt: skip
        complete &= result.outcome.complete
    if parts > 1 and not (folder / "e.run").exists():
        merge(files, folder / "e.run")
    return 0 if complete else 3


def forked(work: Callable[[], int]) -> int:
    """The exit code of this work in a process of its own; negative if a signal ended it."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 9
    try:
        code = work()
    finally:
        os._exit(code)


def main() -> None:
    base, base_url, provider, parts = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    step, killed = 1 - STRIDES[parts], True
    while killed:
        step += STRIDES[parts]
        work = functools.partial(command, base / str(step), base_url, f"{provider}/m-{step}-", parts)

        def dying(step: int = step, work: Callable[[], int] = work) -> int:
            killed_after(step)
            return work()

        killed = forked(dying) == -signal.SIGKILL
        code = forked(work)
        os.write(1, (json.dumps({"step": step, "killed": killed, "code": code}) + "\n").encode())


if __name__ == "__main__":
    main()
