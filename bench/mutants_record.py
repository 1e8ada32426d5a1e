"""A pytest plug-in for `bench/mutants.py`: which test calls which function.

Set MUTANTS_SOURCE to the folder whose functions count ("": none, and only who passed is recorded) and MUTANTS_RECORD to
the JSON file to write: {node id: {"seconds": how long, "passed": whether, "functions": ["path::qualified name", …]}}.
What a fixture of a wider scope calls counts for every test that uses it. Processes that a test starts are not seen.
"""

import json
import os
import sys
import threading
import types
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []

_SOURCE = os.environ["MUTANTS_SOURCE"]
_calls: set[types.CodeType] = set()
_fixtures: dict[str, set[types.CodeType]] = {}
_tests: dict[str, dict[str, Any]] = {}


def _on_call(frame: types.FrameType, _event: str, _argument: object) -> None:
    _calls.add(frame.f_code)


def _ours() -> set[types.CodeType]:
    return {code for code in _calls.copy() if code.co_filename.startswith(_SOURCE)}


def pytest_configure() -> None:
    _trace()


def _trace() -> None:
    if _SOURCE:
        threading.settrace(_on_call)
        sys.settrace(_on_call)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:
    before = _calls.copy()
    _calls.clear()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            _fixtures.setdefault(fixturedef.argname, set()).update(_ours())
        _calls.update(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _calls.clear()
    _tests[item.nodeid] = {"seconds": 0.0, "passed": True}
    _trace()  # a test may have ended it
    result = yield
    wider = (_fixtures.get(name, set()) for name in getattr(item, "fixturenames", ()))
    _tests[item.nodeid]["functions"] = sorted({_name(code) for code in _ours().union(*wider)})
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _tests[report.nodeid]["seconds"] += report.duration
    _tests[report.nodeid]["passed"] &= report.passed


def pytest_sessionfinish() -> None:
    sys.settrace(None)
    Path(os.environ["MUTANTS_RECORD"]).write_text(json.dumps(_tests), encoding="utf-8")


def _name(code: types.CodeType) -> str:
    parts = code.co_qualname.replace(".<locals>", "").split(".")
    named = [part for part in parts if not part.startswith("<")]
    return f"{os.path.relpath(code.co_filename, _SOURCE)}::{'.'.join(named)}"
