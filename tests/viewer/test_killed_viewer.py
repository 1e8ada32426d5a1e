"""A viewer that is killed leaves no process that goes on making an index."""

import contextlib
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.tools import command, environment
from tests.waiting import until_elsewhere

from ragstone.evaluation.evaluate import evaluate

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")]
COPIES = 60


def children(parent: int) -> set[int]:
    """The processes that a process has started, and theirs."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    found, new = set[int](), {parent}
    while new := {pid for pid, above in parents.items() if above in new} - found:
        found |= new
    return found


def is_indexing(pid: int, folder: Path) -> bool:
    """Whether a process has a file of an index open."""
    try:
        return any(str(folder) in str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_viewer_leaves_no_process_that_makes_an_index(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    rows = ({"id": f"q{at}", "question": f"Which {at}?", "reference": "7", "answer": "7"} for at in range(1000))
    evaluate(rows, ["answer_match"], run=path)
    with closing(sqlite3.connect(path)) as file, file:  # enough to be indexed for many seconds
        for at in range(1, COPIES):
            for table, columns in (("cases", "payload"), ("records", "response, error, retry"),
                                   ("scores", "metric, metric_version, status, payload, retry, verdicts")):  # fmt: skip
                system = "" if table == "cases" else "system_id, "
                file.execute(
                    f"INSERT INTO {table} ({system}case_id, {columns}) SELECT {system}case_id || 'x{at}', {columns}"
                    f" FROM {table} WHERE case_id NOT LIKE '%x%'"
                )
    home = tmp_path / "home"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    viewer = subprocess.Popen(
        command("view", "a.run", "--port", port), cwd=tmp_path, env=environment(tmp_path),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        working: set[int] = set()
        while not working and time.monotonic() < deadline and viewer.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/cases?run=a.run", timeout=5).close()
            working = {pid for pid in children(viewer.pid) if is_indexing(pid, home)}
        assert working, "no process made an index"
        everything = children(viewer.pid)
    finally:
        viewer.send_signal(signal.SIGKILL)
        viewer.wait()
    until_elsewhere(lambda: not any(map(is_alive, everything)))
