"""Ends what the tests of a session have started and left: `python -I -S tests/reaper.py MARK PID`. No test of its own.

The session's processes have `RAGSTONE_TESTS=MARK` in their environment. Standard input ends when the process PID does.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path


def marked(mark: str) -> list[int]:
    """The processes whose environment has the mark, but for this one."""
    wanted, found = f"RAGSTONE_TESTS={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is not ours
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return [number for number in found if number != os.getpid()]


def main() -> None:
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    mark, session = sys.argv[1], int(sys.argv[2])
    os.environ.pop("RAGSTONE_TESTS", None)
    sys.stdin.read()
    while left := [number for number in marked(mark) if number != session]:
        for number in left:
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


if __name__ == "__main__":
    main()
