"""What CONTRIBUTING.md promises of the tests themselves."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
# Doubles of what takes its time: an endpoint, and a worker that is killed while it waits for one.
SLOW_DOUBLES = {"servers/fake_endpoint.py", "runs/worker.py"}


def test_no_test_sleeps() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in TESTS.rglob("*.py")
        if path.relative_to(TESTS).as_posix() not in SLOW_DOUBLES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<!def )\bsleep\((?!0\)|\w+: )", line)
    ]
    assert found == [], "wait for an event or a condition (tests/waiting.py) instead"
