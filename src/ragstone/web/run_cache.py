"""What pages of runs take long to compute, kept until the run changes.

What is computed of a small run is kept in memory. Of a large one it is made by a process of its own, so that pages stay
fast, and kept in the user's cache; until it is there, or while it is being renewed, pages show what is known already.
"""

import contextlib
import json
import math
import multiprocessing
import os
import signal
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import platformdirs

from ragstone import __version__
from ragstone.engine.case_index import open_index
from ragstone.engine.open_run import read_run
from ragstone.errors import RagstoneError, StorageError
from ragstone.report.findings_file import ENDING
from ragstone.storage import write_file
from ragstone.web.assets import STATIC_VERSION
from ragstone.web.overview import MAKERS
from ragstone.web.pending import end_with_parent

AT_ONCE_BYTES = 2_000_000  # of run files that are read while a page waits
_IN_MEMORY = 200
_ON_DISK = 100  # files; the oldest go
_STEP_SECONDS = 5.0
_PAUSE = 5  # a job is not repeated before so many times what it took


@dataclass(frozen=True)
class CachedValue:
    """What is known of a run: `value` is None if it is still being made, and not of the run as it is now unless
    `fresh`."""

    value: Mapping[str, Any] | None
    fresh: bool


def state_of(path: Path) -> str:
    """A text that changes when the run file does, or what labels say of it; "" if it is gone."""
    parts = []
    for tail in ("", "-wal", ENDING):
        with contextlib.suppress(OSError):
            found = os.stat(f"{path}{tail}")  # noqa: PTH116  (not the path of the file itself)
            parts.append(f"{found.st_size}:{found.st_mtime_ns}")
    return "/".join(parts)


def is_large(path: Path) -> bool:
    """Whether a run is too large to be read while a page waits."""
    try:
        return path.stat().st_size > AT_ONCE_BYTES
    except OSError:
        return False


@dataclass
class RunCache:
    """Figures and sections of runs, by kind (`overview.MAKERS`), run and language. Safe for several threads."""

    folder: Path = field(
        default_factory=lambda: Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "view"
    )
    _memory: "OrderedDict[tuple[str, str, str], tuple[str, Mapping[str, Any]]]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _jobs: dict[tuple[str, str], Any] = field(default_factory=dict)  # path, language → process, or None if waiting
    _times: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # when a job began and ended

    def of(self, kind: str, path: Path, language: str) -> CachedValue:
        """What is known. Raises what reading the run raises."""
        state = state_of(path)
        large = is_large(path)
        found = self._memory_of(kind, path, language)
        if large and (found is None or found[0] != state):
            found = _read(self.folder, kind, path, language) or found
        if found is None or found[0] != state:
            if large:
                self.make(path, language)
                return CachedValue(None if found is None else found[1], fresh=False)
            with read_run(path) as run:
                found = state, MAKERS[kind](run, language)
        with self._lock:
            self._memory[kind, str(path), language] = found
            while len(self._memory) > _IN_MEMORY:
                self._memory.popitem(last=False)
        return CachedValue(found[1], fresh=True)

    def known(self, kind: str, path: Path, language: str) -> Mapping[str, Any] | None:
        """What is known already, of the run as it is or as it was."""
        found = self._memory_of(kind, path, language) or _read(self.folder, kind, path, language)
        return None if found is None else found[1]

    def _memory_of(self, kind: str, path: Path, language: str) -> tuple[str, Mapping[str, Any]] | None:
        with self._lock:
            return self._memory.get((kind, str(path), language))

    def make(self, path: Path, language: str) -> None:
        """Starts a process that brings the index of a run and all that is kept of it up to date, unless one is at work;
        others wait for their turn. Of a run that grows it is not started too often."""
        with self._lock:
            self._end_jobs()
            began, ended = self._times.get((str(path), language), (-math.inf, -math.inf))
            if time.monotonic() - ended > _PAUSE * (ended - began) or ended == -math.inf:
                self._jobs.setdefault((str(path), language), None)
            if self._jobs and not any(self._jobs.values()):
                key = next(iter(self._jobs))
                process = multiprocessing.get_context("spawn").Process(
                    target=_work, args=(Path(key[0]), key[1], self.folder), daemon=True
                )
                process.start()
                self._jobs[key], self._times[key] = process, (time.monotonic(), math.inf)

    def _end_jobs(self) -> None:
        for key, process in list(self._jobs.items()):
            if process is not None and not process.is_alive():
                process.close()
                del self._jobs[key]
                self._times[key] = (self._times[key][0], time.monotonic())

    def close(self) -> None:
        """Ends what is being made; it goes on where it was the next time."""
        with self._lock:
            for process in self._jobs.values():
                if process is not None:
                    process.terminate()
                    process.join()
            self._jobs.clear()


def _place(folder: Path, kind: str, path: Path, language: str) -> Path:
    key = "\0".join((kind, str(path.absolute()), language, __version__, STATIC_VERSION))
    return folder / f"{sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def _read(folder: Path, kind: str, path: Path, language: str) -> tuple[str, Mapping[str, Any]] | None:
    try:
        state, value = json.loads(_place(folder, kind, path, language).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return state, value


def _work(path: Path, language: str, folder: Path) -> None:
    """What the process does: the index first, because lists of cases need it."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    with contextlib.suppress(RagstoneError, OSError), open_index(path, language=language) as index:
        while not index.update(_STEP_SECONDS).finished:
            pass
    for kind, make in MAKERS.items():
        state = state_of(path)
        try:
            with read_run(path) as run:
                value = make(run, language)
        except RagstoneError as error:
            value = {"problem": " ".join(error.lines)}  # pages tell it in their language, as any other error
        with contextlib.suppress(StorageError, OSError):
            write_file(_place(folder, kind, path, language), json.dumps([state, value]), parents=True)
    _tidy(folder)


def _tidy(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_ON_DISK:]:
        file.unlink(missing_ok=True)
