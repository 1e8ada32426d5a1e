"""Answers between arrival and commit, kept beside the run file so that no killed process loses one.

A commit with `synchronous=FULL` takes some milliseconds, and a worker that waits for it is idle. So an answer is first
appended to a file that belongs to the process, which costs microseconds and outlives the process (not the machine: only
the commit is acknowledged), and the worker goes on. The next process that opens the run file or takes over the leases
absorbs what a killed process left. `close` leaves no such file.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ragstone.errors import StorageError
from ragstone.runs.entries import CaseResult, Interim, ScoreRow, write_interim, write_results
from ragstone.runs.owners import is_dead

# Beyond this size a new file is started, so that the old one can be deleted as soon as all of it is committed.
FILE_BYTES = 2**20
# After this long without an answer, the owner of a file on another machine counts as dead.
STALE_SECONDS = 3600.0


@dataclass(slots=True)
class OutboxFile:
    """One file of an outbox; `waiting` counts its answers that are not committed."""

    path: Path
    descriptor: int
    size: int = 0
    waiting: int = 0


def _name(path: Path, owner: str) -> str:
    """The prefix of an owner's files: only its nonce, because the rest of its name may not be valid in a file name."""
    return f"{path.name}-outbox-{owner.rpartition('|')[2]}-"


class Outbox:
    """The files of one owner. Used by one thread."""

    def __init__(self, path: Path, owner: str, file_id: str) -> None:
        self._path, self._owner, self._file_id = path, owner, file_id
        self._files: list[OutboxFile] = []
        self._created = 0

    def put(self, entry: CaseResult | Interim) -> OutboxFile:
        """Keeps the entry until `done` is called with the returned file."""
        line = _encode(entry)
        try:
            file = self._files[-1] if self._files and self._files[-1].size < FILE_BYTES else self._new_file()
            written = os.write(file.descriptor, line)
        except OSError as error:
            reason = f"an answer could not be kept beside it ({error.strerror})"
            raise StorageError(f"{self._path}: {reason}. Check the disk, then run the same command again.") from error
        if written != len(line):
            raise StorageError(f"{self._path}: the disk is full. Make space, then run the same command again.")
        file.size += written
        file.waiting += 1
        return file

    def done(self, file: OutboxFile) -> None:
        """One answer of this file is committed. After `close`, as when an error ends the run, the file stays: the next
        process that opens the run file finds its answers committed already."""
        file.waiting -= 1
        if file not in self._files:
            return
        if file.waiting == 0 and (file is not self._files[-1] or file.size >= FILE_BYTES):
            self._drop(file)

    @property
    def waiting(self) -> bool:
        """Whether something in it may not be committed."""
        return any(file.waiting for file in self._files)

    def close(self, *, discard: bool = False) -> None:
        """Deletes the files whose answers are committed; the rest stays for the next process that opens the run file.
        `discard`: delete all, because nobody will."""
        for file in list(self._files):
            if discard or file.waiting == 0:
                self._drop(file)
            else:
                os.close(file.descriptor)
                self._files.remove(file)

    def _new_file(self) -> OutboxFile:
        self._created += 1
        path = self._path.with_name(f"{_name(self._path, self._owner)}{self._created}")
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666
        )
        file = OutboxFile(path, descriptor)
        self._files.append(file)
        file.size = os.write(descriptor, (json.dumps([self._owner, self._file_id]) + "\n").encode("ascii"))
        return file

    def _drop(self, file: OutboxFile) -> None:
        os.close(file.descriptor)
        self._files.remove(file)
        file.path.unlink(missing_ok=True)


def outbox_files(path: Path) -> list[Path]:
    """The outbox files beside a run file, of any process."""
    return sorted(path.parent.glob(f"{_escape(path.name)}-outbox-*"))


def leftovers(path: Path) -> list[Path]:
    """The outbox files of processes that are dead, or seem to be because nothing was written for long."""
    files = []
    for file in outbox_files(path):
        try:
            with file.open("rb") as stream:
                owner, _ = _head(stream.readline())
            if is_dead(owner) or time.time() - file.stat().st_mtime > STALE_SECONDS:
                files.append(file)
        except OSError:
            continue
    return files


def absorb(connection: sqlite3.Connection, path: Path, owner: str) -> list[Path]:
    """Writes what this owner left, inside a transaction; returns the files, to be deleted after the commit. Writing an
    answer twice changes nothing, so an owner that is alive after all loses nothing."""
    files = sorted(path.parent.glob(f"{_escape(_name(path, owner))}*"))
    for file in files:
        absorb_file(connection, file)
    return files


def absorb_file(connection: sqlite3.Connection, file: Path, file_id: str = "") -> None:
    """Writes the answers of one file, if they belong to the run file with this id (JSON; "": this one) and not to an
    earlier one at the same path. The last line may be cut off: that answer was never acknowledged."""
    if not file_id:
        (file_id,) = connection.execute("SELECT value FROM main.meta WHERE key = 'file_id'").fetchone()
    for entry in _read(file, file_id):
        if not connection.execute("SELECT 1 FROM cases WHERE case_id = ?", (entry.key,)).fetchone():
            continue
        if isinstance(entry, Interim):
            write_interim(connection, entry)
        else:
            write_results(connection, [entry])


def _head(line: bytes) -> tuple[str, str]:
    """Owner and run file id of an outbox file; empty if its first line is incomplete."""
    try:
        owner, file_id = json.loads(line)
    except (ValueError, TypeError):
        return "", ""
    return str(owner), str(file_id)


def _escape(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _encode(entry: CaseResult | Interim) -> bytes:
    """A line. Keys and payloads hold no lone surrogate."""
    if isinstance(entry, Interim):
        return msgspec.json.encode([entry.system_key, entry.key, entry.name, entry.payload]) + b"\n"
    scores = [[row.metric, row.version, row.status, row.payload, row.verdicts] for row in entry.scores]
    return msgspec.json.encode([entry.system_key, entry.key, entry.response, entry.error, scores]) + b"\n"


def _read(file: Path, file_id: str) -> Iterator[CaseResult | Interim]:
    try:
        head, *lines = file.read_bytes().split(b"\n")[:-1] or [b""]
    except FileNotFoundError:  # another process absorbed it
        return
    except OSError as error:
        raise StorageError(
            f"{file}: cannot be read ({error.strerror}). Make it readable, then run the same command again."
        ) from error
    if _head(head)[1] != file_id:
        return
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):  # anything that is not an answer was never counted
            values = json.loads(line)
            if len(values) == 4:
                yield Interim(*values)
                continue
            system, key, response, error_text, scores = values
            yield CaseResult(system, key, response, error_text, [ScoreRow(*score) for score in scores])
