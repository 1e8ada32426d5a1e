"""Answers between their arrival and their commit, kept beside the run file, so that no killed process loses one.

A commit with `synchronous=FULL` takes a disk some milliseconds, and a place in flight that waits for it is a place
not used. So an answer is first appended to a file of the process's own, which costs microseconds and outlives the
process (not the machine: only the commit is acknowledged), and the place is free. What a killed process leaves is
taken into the run file by the next that opens it or takes over its leases. `close` leaves no such file.
"""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragstone.errors import StorageError
from ragstone.runs.entries import Entry, Interim, ScoreRow, write_entries, write_interim
from ragstone.runs.owners import is_dead

__all__ = ["Outbox", "Part", "absorb", "absorb_file", "leftovers"]

# Answers of more than this make a new file, so that the old one can go as soon as all of it is committed.
PART_BYTES = 2**20
# After this long without an answer, the owner of a file on another machine counts as gone.
SILENT_SECONDS = 3600.0


@dataclass(slots=True)
class Part:
    """One file of an outbox; `waiting` is how many of its answers are not committed."""

    path: Path
    descriptor: int
    size: int = 0
    waiting: int = 0


def _name(path: Path, owner: str) -> str:
    """What the files of an owner begin with: its nonce, because the rest of its name is no file name."""
    return f"{path.name}-outbox-{owner.rpartition('|')[2]}-"


class Outbox:
    """The files of one owner. Used by one thread."""

    def __init__(self, path: Path, owner: str, file_id: str) -> None:
        self._path, self._owner, self._file_id = path, owner, file_id
        self._parts: list[Part] = []
        self._made = 0

    def put(self, entry: Entry | Interim) -> Part:
        """Keeps the entry until `done` is called with the part that comes back."""
        line = (_encode(entry) + "\n").encode("ascii")
        try:
            part = self._parts[-1] if self._parts and self._parts[-1].size < PART_BYTES else self._new_part()
            written = os.write(part.descriptor, line)
        except OSError as error:
            raise StorageError(f"{self._path}: an answer could not be kept beside it ({error.strerror}).") from error
        if written != len(line):
            raise StorageError(f"{self._path}: the disk is full. Make space, then run the same command again.")
        part.size += written
        part.waiting += 1
        return part

    def done(self, part: Part) -> None:
        """One answer of this part is committed. After `close`, as where a run ends by an error, the file stays for the
        next that opens the run file, who finds its answers there already."""
        part.waiting -= 1
        if part not in self._parts:
            return
        if part.waiting == 0 and (part is not self._parts[-1] or part.size >= PART_BYTES):
            self._drop(part)

    def close(self, *, discard: bool = False) -> None:
        """Removes what is committed; the rest stays for the next that opens the run file. `discard`: nobody ever will,
        and all of it goes."""
        for part in list(self._parts):
            if discard or part.waiting == 0:
                self._drop(part)
            else:
                os.close(part.descriptor)
                self._parts.remove(part)

    def _new_part(self) -> Part:
        self._made += 1
        path = self._path.with_name(f"{_name(self._path, self._owner)}{self._made}")
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666
        )
        part = Part(path, descriptor)
        self._parts.append(part)
        part.size = os.write(descriptor, (json.dumps([self._owner, self._file_id]) + "\n").encode("ascii"))
        return part

    def _drop(self, part: Part) -> None:
        os.close(part.descriptor)
        self._parts.remove(part)
        part.path.unlink(missing_ok=True)


def leftovers(path: Path) -> list[Path]:
    """The outbox files of processes that are gone: surely, or so it seems, because nothing came for long."""
    found = []
    for file in sorted(path.parent.glob(f"{_escape(path.name)}-outbox-*")):
        try:
            with file.open("rb") as stream:
                owner, _ = _head(stream.readline())
            if is_dead(owner) or time.time() - file.stat().st_mtime > SILENT_SECONDS:
                found.append(file)
        except OSError:
            continue
    return found


def absorb(connection: sqlite3.Connection, path: Path, owner: str) -> list[Path]:
    """Writes what this owner left, inside a transaction; returns the files, to be deleted after its commit. Writing
    an answer twice changes nothing, so an owner that lives after all loses nothing."""
    files = sorted(path.parent.glob(f"{_escape(_name(path, owner))}*"))
    for file in files:
        absorb_file(connection, file)
    return files


def absorb_file(connection: sqlite3.Connection, file: Path) -> None:
    """Writes the answers of one file, where they are answers of this run file and not of one that lay here before.
    The last line may be cut off: that answer never counted."""
    (file_id,) = connection.execute("SELECT value FROM meta WHERE key = 'file_id'").fetchone()
    for entry in _read(file, file_id):
        if not connection.execute("SELECT 1 FROM cases WHERE case_id = ?", (entry.key,)).fetchone():
            continue
        if isinstance(entry, Interim):
            write_interim(connection, entry)
        else:
            write_entries(connection, [entry])


def _head(line: bytes) -> tuple[str, str]:
    """Owner and run file of an outbox file; empty where it has no whole first line."""
    try:
        owner, file_id = json.loads(line)
    except (ValueError, TypeError):
        return "", ""
    return str(owner), str(file_id)


def _escape(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _encode(entry: Entry | Interim) -> str:
    if isinstance(entry, Interim):
        return json.dumps([entry.system_key, entry.key, entry.name, entry.payload])
    scores = [[row.metric, row.version, row.status, row.payload, row.verdicts] for row in entry.scores]
    return json.dumps([entry.system_key, entry.key, entry.response, entry.error, scores])


def _read(file: Path, file_id: str) -> Iterator[Entry | Interim]:
    try:
        head, *lines = file.read_bytes().split(b"\n")[:-1] or [b""]
    except FileNotFoundError:  # another process was faster
        return
    except OSError as error:
        raise StorageError(f"{file}: it cannot be read ({error.strerror}).") from error
    if _head(head)[1] != file_id:
        return
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):  # what is no answer never counted as one
            values = json.loads(line)
            if len(values) == 4:
                yield Interim(*values)
                continue
            system, key, response, stated, scores = values
            yield Entry(system, key, response, stated, [ScoreRow(*score) for score in scores])
