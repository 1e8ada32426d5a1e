"""What is known of provider batches, in one durable SQLite file: it is what a killed process comes back to.

A request is in it from the moment its batch is sealed until its reply has been used, under the key of the reply cache.
So no request can be in two batches, whoever asks for it: a command that was killed, the same command again, or another
one at the same time. The requests themselves are in a file beside it until the provider has them.
"""

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ragstone.errors import UsageError
from ragstone.storage import Layout, connect, storage_errors, transaction
from ragstone.storage.database import result_code

OVER = ("ended", "failed", "cancelled")
_SETTLED = ("settled", "used")

_LAYOUT = Layout(
    what="list of batches",
    application_id=0x52474254,  # "RGBT"
    version=1,
    tables=(
        # lane: the model at its endpoint. state: see `Batch`. status, total, done, failed: as the provider last said.
        (
            "CREATE TABLE batches (id INTEGER PRIMARY KEY, lane TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,"
            " file TEXT NOT NULL, uploaded TEXT NOT NULL DEFAULT '', remote TEXT NOT NULL DEFAULT '',"
            " status TEXT NOT NULL DEFAULT '', total INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0,"
            " failed INTEGER NOT NULL DEFAULT 0, since REAL NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,"
            " base_url TEXT NOT NULL)"
        ),
        # state: asked, settled (there is a reply or a final error), used (a command that has ended has read it), again
        # (to be asked in another batch).
        (
            "CREATE TABLE requests (key BLOB PRIMARY KEY, batch INTEGER NOT NULL, attempt INTEGER NOT NULL, "
            "state TEXT NOT NULL, status INTEGER NOT NULL DEFAULT 0, reply TEXT NOT NULL DEFAULT '') WITHOUT ROWID"
        ),
        "CREATE INDEX requests_of_batch ON requests (batch)",
    ),
)
# The requests that this process collects: they go with it, because nothing has been sent yet.
_COLLECTED = (
    "CREATE TEMP TABLE collected (key BLOB PRIMARY KEY, lane TEXT NOT NULL, attempt INTEGER NOT NULL, line BLOB) "
    "WITHOUT ROWID"
)
_KEPT_SECONDS = 30 * 86_400.0  # how long an ended batch is listed
_LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of one model.

    state: "sealed" (its file is written), "uploaded", "creating" (the provider may have it), "created", "ended" (its
    replies are stored), "failed" or "cancelled". name: the hash of its requests, which the provider keeps, too.
    uploaded, remote: the provider's ids of the file and of the batch, "" before it has them. status: as it last said
    (`remote.STATES`). total, done, failed: requests. since: when it was sealed, in seconds since 1970."""

    id: int
    lane: str
    name: str
    state: str
    file: str
    uploaded: str
    remote: str
    status: str
    total: int
    done: int
    failed: int
    since: float
    provider: str
    model: str
    base_url: str


_COLUMNS = ", ".join(field.name for field in fields(Batch))


@dataclass(frozen=True, slots=True)
class Entry:
    """A request: its batch, how often it has been asked, and what came back (HTTP status and body)."""

    batch: int
    attempt: int
    state: str
    status: int
    reply: str

    @property
    def settled(self) -> bool:
        return self.state in _SETTLED


@dataclass(frozen=True, slots=True)
class Reply:
    """What a batch says about one request. `state`: "settled" or "again"."""

    key: bytes
    state: str
    status: int
    body: str


class BatchStore:
    """The file `batches.sqlite` in `folder`, and the files of requests beside it. For one thread.

    A reply that a command has read stays until no other command has the list open: one that waits for the same batch,
    and looks less often, finds it, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "batches.sqlite"
        try:
            self._connection = connect(self.path, _LAYOUT)
        except UsageError as error:
            raise UsageError(
                f"{error} It lists your batches at providers: move it away to begin a new list, which has none of them."
            ) from error
        self._connection.execute(_COLLECTED)
        self._presence = self._present()

    def close(self) -> None:
        self._presence.close()
        self._forget_used()
        self._connection.close()

    def _present(self) -> sqlite3.Connection:
        """A lock that all commands with this list share; the operating system ends it when a process dies."""
        self._forget_used()
        with storage_errors(self.path):
            lock = sqlite3.connect(self.folder / "open.lock", timeout=_LOCK_SECONDS, isolation_level=None)
            lock.execute("BEGIN")
            lock.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return lock

    def _forget_used(self) -> None:
        """Deletes the replies that were used, if no command has this list open."""
        with (
            storage_errors(self.path),
            contextlib.closing(sqlite3.connect(self.folder / "open.lock", timeout=0.0, isolation_level=None)) as lock,
        ):
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if result_code(error) != sqlite3.SQLITE_BUSY:
                    raise
                return
            self._connection.execute("DELETE FROM requests WHERE state = 'used'")

    # --- collecting --------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> Entry | None:
        """What is known of a request; None if it is in no batch."""
        with storage_errors(self.path):
            row = self._connection.execute(
                "SELECT batch, attempt, state, status, reply FROM requests WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else Entry(*row)

    def collect(self, key: bytes, lane: str, attempt: int, line: bytes | None) -> None:
        """Notes a request whose reply is wanted. `line`: what to send; None if a batch has it already."""
        with storage_errors(self.path):
            self._connection.execute("INSERT OR REPLACE INTO collected VALUES (?, ?, ?, ?)", (key, lane, attempt, line))

    def forget_collected(self) -> None:
        """Begins a new round."""
        with storage_errors(self.path):
            self._connection.execute("DELETE FROM collected")

    def seal(
        self, lane: str, *, provider: str, model: str, base_url: str, requests: int, size: int, files: Path
    ) -> None:
        """Makes batches of the collected requests of a lane that are in none, in the order of their keys, each within
        the limits and with a file in the folder `files`."""
        for group in self._groups(lane, requests, size):
            with self._transaction():
                lines = self._free(group)  # another process may have sealed some meanwhile
                if not lines:
                    continue
                name = _name_of(lane, lines)
                file = files / f"ragstone-{name[:16]}.jsonl"
                self._write(file, [key for key, _ in lines])
                values = (lane, name, "sealed", str(file), len(lines), time.time(), provider, model, base_url)
                number = self._connection.execute(
                    "INSERT INTO batches (lane, name, state, file, total, since, provider, model, base_url) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                ).lastrowid
                self._connection.executemany(
                    "INSERT OR REPLACE INTO requests (key, batch, attempt, state) VALUES (?, ?, ?, 'asked')",
                    [(key, number, attempt) for key, attempt in lines],
                )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with storage_errors(self.path), transaction(self._connection):
            yield

    def _groups(self, lane: str, requests: int, size: int) -> Iterator[list[tuple[bytes, int]]]:
        """(key, attempt) of the collected requests, as many at a time as fit into a batch."""
        query = "SELECT key, attempt, length(line) FROM collected WHERE lane = ? AND line IS NOT NULL ORDER BY key"
        group: list[tuple[bytes, int]] = []
        taken = 0
        for key, attempt, length in self._connection.execute(query, (lane,)).fetchall():
            if group and (len(group) >= requests or taken + length + 1 > size):
                yield group
                group, taken = [], 0
            group.append((key, attempt))
            taken += length + 1
        if group:
            yield group

    def _free(self, lines: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
        entries = ((key, attempt, self.get(key)) for key, attempt in lines)
        return [(key, attempt) for key, attempt, entry in entries if entry is None or entry.state == "again"]

    def _write(self, file: Path, keys: Iterable[bytes]) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as stream:
            for key in keys:
                row = self._connection.execute("SELECT line FROM collected WHERE key = ?", (key,)).fetchone()
                stream.write(row[0] + b"\n")

    def file_size(self, batch: Batch) -> int:
        """The bytes of a batch's file; 0 if it is gone."""
        file = Path(batch.file)
        return file.stat().st_size if file.is_file() else 0

    def remove(self, file: str | Path) -> None:
        """Deletes a file that is not needed any more."""
        Path(file).unlink(missing_ok=True)

    # --- batches -----------------------------------------------------------------------------------------------

    def wanted(self) -> list[Batch]:
        """The batches that have the collected requests, oldest first."""
        return self._select(
            "WHERE id IN (SELECT r.batch FROM requests r JOIN collected c ON c.key = r.key "
            f"WHERE r.state NOT IN {_SETTLED}) ORDER BY id"
        )

    def answered(self) -> bool:
        """Whether a collected request has a reply by now: another command had asked for it, too."""
        with storage_errors(self.path):
            query = "SELECT r.state FROM requests r JOIN collected c ON c.key = r.key"
            return any(state in _SETTLED for (state,) in self._connection.execute(query))

    def all(self) -> list[Batch]:
        """Every batch, oldest first."""
        return self._select("ORDER BY id")

    def batch(self, number: int) -> Batch:
        return self._select("WHERE id = ?", number)[0]

    def others(self, batch: Batch) -> tuple[set[str], bool]:
        """The provider's ids of the other batches, and whether another of as many requests may be there without one."""
        others = [other for other in self.all() if other.id != batch.id]
        unknown = (other for other in others if other.state == "creating" and not other.remote)
        return {other.remote for other in others if other.remote}, any(other.total == batch.total for other in unknown)

    def has_lane(self, lane: str) -> bool:
        """Whether a batch of this model was accepted."""
        return bool(self._select("WHERE lane = ? AND remote <> '' AND state <> 'failed' LIMIT 1", lane))

    def _select(self, condition: str, *values: object) -> list[Batch]:
        with storage_errors(self.path):
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM batches {condition}", values).fetchall()
        return [Batch(*row) for row in rows]

    def update(self, number: int, **columns: object) -> Batch:
        """Sets columns of a batch, on the disk when this returns."""
        with storage_errors(self.path):
            self._set(number, columns)
        return self.batch(number)

    def _set(self, number: int, columns: Mapping[str, object]) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self._connection.execute(f"UPDATE batches SET {names} WHERE id = ?", (*columns.values(), number))

    def end(self, number: int, replies: Iterable[Reply], *, state: str, missing: str, **columns: object) -> None:
        """Stores the replies of a batch. Requests without one are to be asked again; `missing` says why."""
        with self._transaction():
            self._connection.executemany(
                "UPDATE requests SET state = ?, status = ?, reply = ? WHERE key = ? AND batch = ?",
                ((reply.state, reply.status, reply.body, reply.key, number) for reply in replies),
            )
            self._connection.execute(
                "UPDATE requests SET state = 'again', reply = ? WHERE batch = ? AND state = 'asked'", (missing, number)
            )
            self._set(number, {"state": state, **columns})

    def drop(self, number: int) -> None:
        """Takes the requests out of a batch that was not accepted, so that they can be asked in another."""
        with self._transaction():
            self._connection.execute("DELETE FROM requests WHERE batch = ?", (number,))
            self._set(number, {"state": "failed"})

    def forget(self, key: bytes) -> None:
        """Deletes a reply, so that the request is sent again."""
        with storage_errors(self.path):
            self._connection.execute("DELETE FROM requests WHERE key = ?", (key,))

    def use(self, keys: Iterable[bytes]) -> None:
        """Marks replies as used, and deletes batches that ended long ago."""
        with self._transaction():
            self._connection.executemany("UPDATE requests SET state = 'used' WHERE key = ?", ((key,) for key in keys))
            self._connection.execute(
                f"DELETE FROM batches WHERE since < ? AND state IN {OVER} AND id NOT IN (SELECT batch FROM requests)",
                (time.time() - _KEPT_SECONDS,),
            )


def _name_of(lane: str, lines: Sequence[tuple[bytes, int]]) -> str:
    """The hash of a batch: of the model, the requests, and how often each has been asked."""
    digest = hashlib.sha256(lane.encode())
    for key, attempt in lines:
        digest.update(key + attempt.to_bytes(2, "big"))
    return digest.hexdigest()
