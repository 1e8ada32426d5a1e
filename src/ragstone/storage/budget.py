"""Files of strangers are read within a budget: in a process that may use only so much memory and processor time.

A workbook of 1.5 MB can unpack to gigabytes, and a page of a PDF can ask for hours. Which of a hundred ways a file
takes cannot be foreseen, so that what is bounded is what reading costs, in proportion to the size of the file. Where
the system has no such limits (Windows; macOS has none of memory) the size of what is unpacked and read still is."""

import contextlib
import errno
import gzip
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ragstone.errors import DataError, RagstoneError, UsageError

__all__ = ["BUDGET", "ReaderFailed", "gunzip", "read_bounded"]

T = TypeVar("T")

BUDGET = "RAGSTONE_READ_BUDGET"
"""The environment variable with a factor for all limits, for truly large files."""

_MB = 1_000_000
_MEMORY = 300, 20  # MB of memory, and more for each MB of the file
_SECONDS = 15, 12  # seconds of processor time
_UNPACKED = 64, 50  # MB that an archive may unpack to
_OUTPUT = 32, 20  # MB of what is read
_FRESH = 200 * _MB  # bytes of memory from which a process reads no other file
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class ReaderFailed(Exception):
    """A library could not read a file; the text says why."""


@dataclass(frozen=True)
class _Budget:
    """What reading one file may cost: bytes of memory, of what is unpacked and of what is read; seconds."""

    path: Path
    size: int
    memory: int
    seconds: int
    unpacked: int
    output: int

    @classmethod
    def of(cls, path: Path) -> "_Budget":
        """Raises OSError, and UsageError for a factor that is none."""
        size, text = path.stat().st_size, os.environ.get(BUDGET, "1")
        try:
            factor = float(text)
            if not 0 < factor <= 1000:
                raise ValueError
        except ValueError:
            raise UsageError(
                f"RAGSTONE_READ_BUDGET={text!r} is no factor. Give a number above 0 and up to 1000."
            ) from None

        def allowed(limit: tuple[int, int]) -> float:
            return factor * (limit[0] + limit[1] * size / _MB)

        memory, unpacked, output = (int(allowed(limit) * _MB) for limit in (_MEMORY, _UNPACKED, _OUTPUT))
        return cls(path, size, memory, int(allowed(_SECONDS)) + 1, unpacked, output)

    def exceeded(self, limit: str) -> DataError:
        """The error for a `limit`: "memory", "seconds", "unpacked" or "output"."""
        what = {
            "memory": f"{_megabytes(self.memory)} of memory",
            "seconds": f"{self.seconds} seconds of processor time",
            "unpacked": f"{_megabytes(self.unpacked)} unpacked",
            "output": f"{_megabytes(self.output)} of text and values",
        }[limit]
        return DataError(
            self.path,
            f"it is damaged, or made to exhaust its reader: a file of {_megabytes(self.size)} takes more than {what}.",
            advice="If you trust it, RAGSTONE_READ_BUDGET=4 allows four times as much.",
        )


def _megabytes(size: int) -> str:
    return (
        f"{size:,} bytes" if size < _MB // 10 else f"{size / _MB:,.1f} MB" if size < 10 * _MB else f"{size // _MB:,} MB"
    )


def gunzip(path: Path) -> bytes:
    """The content of a gzip file. Raises DataError beyond the budget, and OSError, EOFError or zlib.error."""
    budget = _Budget.of(path)
    with gzip.open(path) as stream:
        content = stream.read(budget.unpacked + 1)
    if len(content) > budget.unpacked:
        raise budget.exceeded("unpacked")
    return content


class _Worker:
    """A process that reads files, one after the other; it ends with this process, or when nobody refers to it."""

    def __init__(self) -> None:
        code = "from ragstone.storage.budget import serve; serve()"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, **_ENVIRONMENT},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.source, self.target, self.owner = process, process.stdout, process.stdin, os.getpid()
        self.end = weakref.finalize(self, _end, process, self.owner)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # and not a fork of that process
        process.kill()
        with process:  # closes its pipes and waits
            pass


_idle: list[_Worker] = []  # starting a process and importing a library take longer than reading most files


def read_bounded(read: Callable[..., Iterable[T]], path: Path, *arguments: Any) -> Iterator[T]:
    """What `read(path, *arguments)` yields in a process with the budget of the file; `read` is a function of a module.
    Raises DataError beyond the budget, ReaderFailed for an error of a library, and ragstone's and the system's errors
    as they are."""
    budget = _Budget.of(path)
    worker = _idle.pop() if _idle else _Worker()
    if worker.owner != os.getpid() or worker.process.poll() is not None:
        worker = _Worker()
    kind: str = ""
    value: Any = None
    memory = _FRESH
    try:
        worker.target.write(pickle.dumps((read, budget, arguments, Path.cwd())))
        worker.target.flush()
        while (frame := pickle.load(worker.source))[0] == "item":
            yield frame[1]
        kind, value, memory = frame
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        code = worker.process.wait()
        if code == -getattr(signal, "SIGXCPU", 0):
            raise budget.exceeded("seconds") from None
        raise ReaderFailed(f"its reader ended with code {code}") from None
    finally:
        if kind != "limit" and memory < _FRESH:
            _idle.append(worker)
        else:  # it holds much, or is left in the middle of a file
            worker.end()
    if kind == "limit":
        raise budget.exceeded(value)
    if kind == "error":
        raise value


def serve() -> None:
    """The process: reads a file for each message on standard input, until that closes."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while True:
        try:
            read, budget, arguments, folder = pickle.load(source)
        except EOFError:
            return
        os.chdir(folder)
        _limit("RLIMIT_CORE", 0)
        _limit("RLIMIT_DATA", budget.memory)
        _limit("RLIMIT_CPU", int(_used()[0]) + budget.seconds)
        kind, value = _answer(read, budget, arguments, target)
        target.write(pickle.dumps((kind, value, _used()[1])))
        target.flush()


def _answer(
    read: Callable[..., Iterable[Any]], budget: _Budget, arguments: tuple[Any, ...], target: Any
) -> tuple[str, Any]:
    """Writes each item; returns how it ended: "end", a "limit" that was reached, or an "error"."""
    sent = 0
    try:
        if _unpacked_size(budget.path) > budget.unpacked:
            return "limit", "unpacked"
        for item in read(budget.path, *arguments):
            frame = pickle.dumps(("item", item))
            sent += len(frame)
            if sent > budget.output:
                return "limit", "output"
            target.write(frame)
        return "end", None
    except RagstoneError as error:
        return "error", error
    except Exception as error:  # each library raises its own errors, also where memory ended
        if type(error).__module__ == "builtins" and isinstance(error, OSError) and error.errno != errno.ENOMEM:
            return "error", error
        if isinstance(error, MemoryError) or _used()[1] > 0.7 * budget.memory:
            return "limit", "memory"
        return "error", ReaderFailed(f"{type(error).__name__}: {error}")


def _unpacked_size(path: Path) -> int:
    """Bytes that a zip archive says it unpacks to, which is all that Python unpacks; 0 for other files."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return 0


def _limit(name: str, amount: int) -> None:
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):
        import resource  # noqa: PLC0415  (not on Windows)

        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (amount if hard == resource.RLIM_INFINITY else min(amount, hard), hard))


def _used() -> tuple[float, int]:
    """Seconds of processor time and the most bytes of memory that this process has used; 0 where it is not known."""
    memory = 0
    with contextlib.suppress(OSError, ValueError, IndexError):  # `getrusage` counts who started this process, too
        memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    return time.process_time(), memory
