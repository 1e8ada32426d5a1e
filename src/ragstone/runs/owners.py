"""The owners of leases: names of processes that show, on the same machine, whether the process is still alive.

The lease of an owner that is certainly dead is free at once, so that nobody waits after a `kill -9`. If that cannot be
known (another machine, another container), the lease expires.
"""

import contextlib
import os
import platform
import secrets
import sys
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

_living: set[str] = set()  # the owners that this process created and has not given up
_cleaned: set[Path] = set()  # the folders in which this process has looked for what killed ones left


def new_owner() -> str:
    """A name for a part of this process: `place|pid|start|nonce`."""
    pid = os.getpid()
    owner = "|".join((_place(), str(pid), _start_of(pid) or "", secrets.token_hex(8)))
    _living.add(owner)
    return owner


def forget(owner: str) -> None:
    """Gives up a name of this process: its leases that could not be deleted are free."""
    _living.discard(owner)


def is_dead(owner: str) -> bool:
    """True if the owner is certainly gone; False if it is alive or that cannot be known here."""
    place, _, rest = owner.partition("|")
    fields = rest.split("|")
    if len(fields) != 3 or place != _place() or sys.platform == "win32" or not fields[0].isdecimal():
        return False
    pid, start = int(fields[0]), fields[1]
    if pid == os.getpid() and start == (_start_of(pid) or ""):
        return owner not in _living
    if start:
        return _start_of(pid) != start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def mark() -> str:
    """Marks a file that this process makes in its name: `PLACE-PID-START`."""
    return f"{_place_mark()}-{os.getpid()}-{_start_of(os.getpid()) or ''}"


def is_left(marked: str) -> bool:
    """Whether a process of this machine with this `mark` is certainly gone."""
    place, _, rest = marked.partition("-")
    pid, _, start = rest.partition("-")
    return place == _place_mark() and pid.isdecimal() and bool(start) and _start_of(int(pid)) != start


def left_part(path: Path) -> Path:
    """A free name beside `path`, for a file that becomes it when it is whole; see `remove_left`."""
    return path.with_name(f".{path.name[:40]}.{mark()}-{secrets.token_hex(4)}.part")


def remove_left(folder: Path) -> None:
    """Removes what killed processes of this machine left of unfinished files with names of `left_part`."""
    with contextlib.suppress(OSError):
        for left in folder.glob(".*.part*"):
            marked = left.name.rpartition(".part")[0].rpartition(".")[2].rpartition("-")[0]
            if is_left(marked):
                left.unlink(missing_ok=True)


def remove_left_once(folder: Path) -> None:
    """The same, but only the first time that this process opens a run file in this folder."""
    if folder not in _cleaned:
        _cleaned.add(folder)
        remove_left(folder)


def _place_mark() -> str:
    return sha256(_place().encode("utf-8", "surrogateescape")).hexdigest()[:8]


@lru_cache(maxsize=1)
def _place() -> str:
    """Where process ids are comparable: this boot of this machine and, on Linux, this process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return platform.node().replace("|", "_")


def _start_of(pid: int) -> str | None:
    """When the process started, in clock ticks since boot; None if there is no such process (a zombie does not count)
    or no /proc. See proc(5): the fields after the name in parentheses."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZXx" else fields[19]
