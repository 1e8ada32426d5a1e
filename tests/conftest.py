"""Settings that all tests share."""

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["pytester", "tests.chromium"]

# What a test sees does not depend on whose terminal it runs in; one that is about these sets them.
TERMINAL = (
    "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
    "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONUNBUFFERED", "PYTEST_ADDOPTS",
)  # fmt: skip
for name in TERMINAL:
    os.environ.pop(name, None)
os.environ["RAGSTONE_LANGUAGE"] = "en"
os.environ["RAGSTONE_TRUST"] = "ragstone.toml"  # the one in the folder of a test; tests of consent leave it out

# Signals that the parent ignores (under `nohup`, or with `&`) are ignored by all processes that a test starts, too,
# unless they are handled here: a handler is not inherited.
for number in (signal.SIGINT, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ())):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_configure(config: pytest.Config) -> None:
    """With this process goes all that its tests have started, however it ends (Linux)."""
    if hasattr(config, "workerinput") or not Path("/proc/self/environ").exists():
        return
    os.environ["RAGSTONE_TESTS"] = mark = secrets.token_hex(8)
    reaper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py")), mark, str(os.getpid())]
    config.stash[_REAPER] = subprocess.Popen(reaper, stdin=subprocess.PIPE, start_new_session=True)


_REAPER = pytest.StashKey["subprocess.Popen[bytes]"]()

# A shared machine stalls now and then: an example's time says nothing about the code.
settings.register_profile("ragstone", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("ragstone")
