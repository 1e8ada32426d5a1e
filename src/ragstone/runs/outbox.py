"""Answers between arrival and commit, kept beside the run file so that no killed process loses one.

A commit with `synchronous=FULL` takes some milliseconds, and a worker that waits for it is idle. So an answer is first
appended to a file that belongs to the process, which costs microseconds and outlives the process (not the machine: only
the commit is acknowledged), and the worker goes on. The next process that opens the run file or takes over the leases
absorbs what a killed process left. `close` leaves no such file.
"""

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

import msgspec

from ragstone.errors import DataError, StorageError
from ragstone.runs.entries import CaseResult, CaseRow, Interim, ScoreRow, write_cases, write_interim, write_results
from ragstone.runs.owners import is_dead
from ragstone.runs.record_pages import no_share, score_of
from ragstone.runs.schema import decode, text_of
from ragstone.types import Response

# Beyond this size a new file is started. While a run goes on, so many bytes of the latest answers stay here, committed
# ones, too: if the run file is damaged meanwhile, they need not be asked again.
FILE_BYTES, KEPT_BYTES = 2**20, 2**25
# After this long without an answer, the owner of a file on another machine counts as dead.
STALE_SECONDS = 3600.0
EMPTY: Mapping[str, str] = MappingProxyType({})

_Version: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_HEAD = msgspec.json.Decoder(tuple[str, str, dict[str, str]])
_INTERIM = msgspec.json.Decoder(tuple[str, str, str, str, str])
_RESULT = msgspec.json.Decoder(
    tuple[str, str, str | None, str | None, list[tuple[str, _Version, str, str, list[str]]], str]
)


@dataclass(slots=True)
class OutboxFile:
    """One file of an outbox; `waiting` counts its answers that are not committed, `answers` all of them."""

    path: Path
    descriptor: int
    size: int = 0
    waiting: int = 0
    answers: int = 0


def _name(path: Path, owner: str) -> str:
    """The prefix of an owner's files: only its nonce, because the rest of its name may not be valid in a file name."""
    return f"{path.name}-outbox-{owner.rpartition('|')[2]}-"


class Outbox:
    """The files of one owner. Used by one thread."""

    def __init__(self, path: Path, owner: str, file_id: str, settings: Mapping[str, str] = EMPTY) -> None:
        """`settings`: system → the hash of all that its answers rest on but for the case (see `Orphans`)."""
        self._path, self._owner, self._file_id, self._settings = path, owner, file_id, settings
        self._files: list[OutboxFile] = []
        self._created = 0
        self.received = 0  # answers, those that are no longer here, too

    def put(self, entry: CaseResult | Interim, content: str = "") -> OutboxFile:
        """Keeps the entry until `done` is called with the returned file. `content`: the hash of its case."""
        line = _encode(entry, content)
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
        is_answer = isinstance(entry, CaseResult) and entry.response is not None
        file.answers += is_answer
        self.received += is_answer
        return file

    def done(self, file: OutboxFile) -> None:
        """One answer of this file is committed. After `close`, as when an error ends the run, the file stays: the next
        process that opens the run file finds its answers committed already."""
        file.waiting -= 1
        size = sum(each.size for each in self._files)
        for each in self._files[:-1]:
            if size > KEPT_BYTES and each.waiting == 0:
                size -= each.size
                self._drop(each)

    @property
    def waiting(self) -> bool:
        """Whether something in it may not be committed."""
        return any(file.waiting for file in self._files)

    @property
    def answers(self) -> int:
        """How many answers are in it, committed or not."""
        return sum(file.answers for file in self._files)

    def close(self, *, discard: bool = False, keep: bool = False) -> None:
        """Deletes the files whose answers are committed; the rest stays for the next process that opens the run file.
        `discard`: delete all, because nobody will. `keep`: delete none, because the run file is damaged."""
        for file in list(self._files):
            if discard or (file.waiting == 0 and not keep):
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
        file.size = os.write(
            descriptor, msgspec.json.encode([self._owner, self._file_id, dict(self._settings)]) + b"\n"
        )
        return file

    def _drop(self, file: OutboxFile) -> None:
        os.close(file.descriptor)
        self._files.remove(file)
        file.path.unlink(missing_ok=True)


def outbox_files(path: Path) -> list[Path]:
    """The outbox files beside a run file, of any process."""
    return _regular(path, f"{path.name}-outbox-")


def _regular(path: Path, prefix: str) -> list[Path]:
    """The regular files with names that begin so: an outbox is nothing else."""
    files = []
    for file in sorted(path.parent.glob(f"{_escape(prefix)}*")):
        with contextlib.suppress(OSError):  # another process absorbed it
            if stat.S_ISREG(file.lstat().st_mode):
                files.append(file)
    return files


def leftovers(path: Path) -> list[Path]:
    """The outbox files of processes that are dead, or seem to be because nothing was written for long."""
    files = []
    for file in outbox_files(path):
        try:
            with file.open("rb") as stream:
                owner = (_head(stream.readline()) or ("",))[0]
            if is_dead(owner) or time.time() - file.stat().st_mtime > STALE_SECONDS:
                files.append(file)
        except OSError:
            continue
    return files


def absorb(connection: sqlite3.Connection, path: Path, owner: str) -> list[Path]:
    """Writes what this owner left, inside a transaction; returns the files, to be deleted after the commit. Writing an
    answer twice changes nothing, so an owner that is alive after all loses nothing."""
    files = _regular(path, _name(path, owner))
    for file in files:
        absorb_file(connection, file)
    return files


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many lines of an outbox file cannot be read, and how many scores in its other lines."""

    lines: int = 0
    scores: int = 0


def absorb_file(
    connection: sqlite3.Connection, file: Path, file_id: str = "", is_share: Callable[[str], bool] = no_share
) -> LeftOut:
    """Writes the answers of one file, if they belong to the run file with this id (JSON; "": this one) and not to an
    earlier one at the same path. Returns what it leaves out because it cannot be, such as a score out of range
    (`is_share` as in `RecordPages.expect`). The last line may be cut off: that answer was never acknowledged."""
    if not file_id:
        (file_id,) = connection.execute("SELECT value FROM main.meta WHERE key = 'file_id'").fetchone()
    content = _read(file, is_share)
    if content.file_id == file_id:
        _write(connection, [entry for entry, _ in content.entries])
    return content.left_out if content.file_id in (file_id, "") else LeftOut()


def left_answers(path: Path, file_id: str) -> Iterator[CaseResult]:
    """The answers and scores of dead processes that the next command on the run file with this id (JSON) absorbs."""
    for file in leftovers(path):
        content = _read(file)
        if content.file_id == file_id:
            yield from (entry for entry, _ in content.entries if isinstance(entry, CaseResult) and entry.error is None)


class Orphans:
    """The answers of outboxes whose run file is gone: it was damaged, or cut to nothing. Those of the same question,
    system and case are taken over when that case comes, and need not be asked again.

    `settings`: those of the new run file. A file without an answer for them is left to `absorb_file`."""

    def __init__(self, files: Sequence[Path], file_id: str, settings: Mapping[str, str]) -> None:
        self.files: list[Path] = []
        self._entries: dict[tuple[str, str], list[tuple[CaseResult | Interim, str]]] = {}
        for file in files:
            left = _read(file)
            ours = {name for name, digest in left.settings.items() if settings.get(name) == digest}
            fitting = [pair for pair in left.entries if pair[1] and pair[0].system_key in ours]
            if left.file_id == file_id:
                continue
            for entry, content in fitting:
                self._entries.setdefault((entry.system_key, entry.key), []).append((entry, content))
            if fitting:
                self.files.append(file)

    def adopt(self, connection: sqlite3.Connection, system_key: str, rows: Sequence[CaseRow]) -> None:
        """Writes the answers to these cases, inside a transaction."""
        for row in rows if self._entries else ():
            found = self._entries.get((system_key, row.key), ())
            if fitting := [entry for entry, content in found if content == content_of(row)]:
                write_cases(connection, [row])
                _write(connection, fitting)

    def settle(self, system_key: str, keys: Sequence[str]) -> None:
        """What `adopt` wrote of these cases is committed. When nothing is left, the files go."""
        if not self._entries:
            return
        for key in keys:
            self._entries.pop((system_key, key), None)
        if not self._entries:
            for file in self.files:
                with contextlib.suppress(OSError):
                    file.unlink()


def content_of(row: CaseRow) -> str:
    """The hash of a case."""
    return blake2b(row.payload.encode("ascii", "backslashreplace"), digest_size=8).hexdigest()


def _write(connection: sqlite3.Connection, entries: Sequence[CaseResult | Interim]) -> None:
    """Writes those whose case and system are there: of a file that was recovered, some may be lost."""
    known = "SELECT 1 FROM cases JOIN systems WHERE case_id = ? AND system_id = ?"
    for entry in entries:
        if not connection.execute(known, (entry.key, entry.system_key)).fetchone():
            continue
        if isinstance(entry, Interim):
            write_interim(connection, entry)
        else:
            write_results(connection, [entry])


def _head(line: bytes) -> tuple[str, str, dict[str, str]] | None:
    """Owner, run file id and settings of an outbox file; None if its first line is incomplete."""
    try:
        return _HEAD.decode(line)
    except (ValueError, RecursionError):
        return None


def _escape(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _encode(entry: CaseResult | Interim, content: str) -> bytes:
    """A line. Keys and payloads hold no lone surrogate."""
    if isinstance(entry, Interim):
        return msgspec.json.encode([entry.system_key, entry.key, entry.name, entry.payload, content]) + b"\n"
    scores = [[row.metric, row.version, row.status, row.payload, row.verdicts] for row in entry.scores]
    return msgspec.json.encode([entry.system_key, entry.key, entry.response, entry.error, scores, content]) + b"\n"


@dataclass(frozen=True, slots=True)
class _Content:
    """What a file has: its entries, each with the hash of its case. `file_id` is "" if its first line is damaged."""

    file_id: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    entries: Sequence[tuple[CaseResult | Interim, str]] = ()
    left_out: LeftOut = LeftOut()


def _read(file: Path, is_share: Callable[[str], bool] = no_share) -> _Content:
    try:
        first, *lines = file.read_bytes().split(b"\n")[:-1] or [b""]
    except FileNotFoundError:  # another process absorbed it
        return _Content()
    except OSError as error:
        raise StorageError(
            f"{file}: cannot be read ({error.strerror}). Make it readable, then run the same command again."
        ) from error
    if (head := _head(first)) is None:
        return _Content(left_out=LeftOut(len(lines)))
    found: list[tuple[CaseResult | Interim, str]] = []
    scores = 0
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError, DataError):  # whatever a damaged or foreign line has
            entry, content, bad = _entry(line, is_share)
            found.append((entry, content))
            scores += bad
    return _Content(head[1], head[2], found, LeftOut(len(lines) - len(found), scores))


def _entry(line: bytes, is_share: Callable[[str], bool]) -> tuple[CaseResult | Interim, str, int]:
    """The entry in a line that `_encode` wrote, the hash of its case, and how many of its scores are left out.
    DataError, ValueError or RecursionError for any other line."""
    try:
        system, key, response, error, scores, content = _RESULT.decode(line)
    except msgspec.ValidationError:
        *values, content = _INTERIM.decode(line)
        interim = Interim(*values)
        _check_payload(interim.payload, object)
        return interim, content, 0
    if response is not None:
        _check_payload(response, Response)
    if error is not None:
        _check_payload(error, str)
    rows = [row for row in (ScoreRow(*score) for score in scores) if _is_whole(key, row, is_share)]
    return CaseResult(system, key, response, error, rows), content, len(scores) - len(rows)


def _check_payload(text: str, kind: Any) -> None:
    """DataError or ValueError for what `to_json` did not write of a `kind`."""
    text.encode("ascii")
    decode(text, kind, "", "")


def _is_whole(key: str, row: ScoreRow, is_share: Callable[[str], bool]) -> bool:
    try:
        text_of(row.metric)
        row.payload.encode("ascii")
        score_of(row.payload, key, row.metric, row.status, is_share=is_share)
        for verdict in row.verdicts:
            _check_payload(verdict, object)
    except (ValueError, RecursionError, DataError):
        return False
    return True
