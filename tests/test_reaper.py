"""A session of tests that is stopped half way leaves no process, and its children handle signals as usual."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

ROOT = Path(__file__).parents[1]
SESSION = """
import os, subprocess, sys
from types import SimpleNamespace
import tests.conftest as session

session.pytest_configure(SimpleNamespace(stash={}))
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


def started(code: str, **options: object) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_session_has_started_ends_with_it(number: signal.Signals) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "RAGSTONE_TESTS"}
    with started(SESSION, env=environ) as session:
        assert session.stdout is not None
        child = int(session.stdout.readline())
        assert is_alive(child)
        session.send_signal(number)
        session.wait()
        while is_alive(child):
            os.sched_yield()


def test_children_handle_the_signals_that_the_parent_of_the_session_ignores() -> None:
    """As with `nohup make test &`."""
    ask = "import signal; print([signal.getsignal(n).name for n in (signal.SIGHUP, signal.SIGTERM)])"
    code = f"""
import signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
import tests.conftest
subprocess.run([sys.executable, "-c", {ask!r}])
subprocess.run([sys.executable, "-c", "import signal; print(signal.getsignal(2) is signal.default_int_handler)"])
"""
    with started(code) as session:
        out, _ = session.communicate()
    assert out.splitlines() == ["['SIG_DFL', 'SIG_DFL']", "True"]
