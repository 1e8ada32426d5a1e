"""vLLM's offline batches: a file that the user runs with `vllm run-batch`, on this machine or another."""

import logging
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragstone.models.batches.files import line_of, results_in
from ragstone.models.batches.http import read_lines
from ragstone.models.batches.remote import Line, Status
from ragstone.models.batches.store import Batch
from ragstone.models.providers import BatchInterface

log = logging.getLogger(__name__)


class OfflineBatches:
    """Files in the current folder. The id of a batch is the file with its replies, which has ended when that file has
    a line for every request."""

    def __init__(self, interface: BatchInterface) -> None:
        self._interface = interface

    def line(self, key: str, payload: Mapping[str, Any]) -> bytes:
        return line_of(key, payload, self._interface)

    async def upload(self, file: Path) -> str:
        return ""

    async def create(self, batch: Batch) -> str:
        log.warning("Run: %s", command_for(batch))
        return str(_output(batch))

    async def find(self, batch: Batch, held: Collection[str], *, rivals: bool) -> str:
        return ""

    async def status(self, batch: Batch) -> Status:
        file = Path(batch.remote)
        done = _count(file)
        if done < batch.total:
            return Status("in_progress", done)
        return Status("completed", done, results=(str(file),))

    async def download(self, place: str, file: Path) -> Path:
        return Path(place)

    def lines(self, file: Path) -> Iterator[Line]:
        return results_in(file)

    async def cancel(self, batch: Batch) -> None:
        _delete(Path(batch.file))


def command_for(batch: Batch) -> str:
    """What the user runs."""
    model = batch.model.partition("/")[2]
    return f"vllm run-batch -i {shlex.quote(batch.file)} -o {shlex.quote(str(_output(batch)))} --model {model}"


def _output(batch: Batch) -> Path:
    return Path(batch.file).with_suffix(".replies.jsonl")


def _count(file: Path) -> int:
    """How many replies are in a file, which may not exist yet."""
    return sum(1 for _ in read_lines(file)) if file.is_file() else 0


def _delete(file: Path) -> None:
    file.unlink(missing_ok=True)
