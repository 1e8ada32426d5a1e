"""What CONTRIBUTING.md promises of the tests themselves."""

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import settings
from tests.examples import examples, naming

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


def test_what_make_check_leaves_out_is_run_by_make_test_or_make_test_slow() -> None:
    rules = (TESTS.parent / "Makefile").read_text(encoding="utf-8").split("\n\n")
    calls = {
        rule.partition(":")[0]: shlex.split(line)
        for rule in rules
        for line in rule.splitlines()
        if line.startswith("\t$(BIN)/pytest")
    }
    marked = {name: call[call.index("-m") + 1] for name, call in calls.items() if "-m" in call}
    assert marked == {"check": "not (slow or live or browser)", "test-slow": "slow and not live"}
    assert "--hypothesis-profile=quick" in calls["check"]
    assert not [
        word for name in ("test", "test-slow") for word in calls[name] if re.match("--(ignore|hypo|desel)", word)
    ]


def test_the_quick_profile_tries_fewer_examples_and_never_none() -> None:
    standing = settings.default
    assert standing
    try:
        settings.load_profile("quick")
        assert (examples(300), examples(10)) == (60, 5)
        settings.load_profile("ragstone")
        assert (examples(300), examples(10)) == (300, 10)
    finally:
        settings.register_profile("standing", standing)
        settings.load_profile("standing")


def test_a_failure_inside_a_loop_names_its_case() -> None:
    with pytest.raises(AssertionError) as raised, naming("full", 7):
        raise AssertionError
    assert raised.value.__notes__ == ["in the case 'full', 7"]
