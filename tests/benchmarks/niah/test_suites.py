"""Suites: one option selects the tasks of a published set."""

from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.suites import SUITES
from ragstone.errors import UsageError

SMALL: dict[str, Any] = {"lengths": "2000", "depths": "0,50,100"}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_asks_each_of_its_tasks_equally_often(name: str) -> None:
    cases = list(make("niah", suite=name, **SMALL).cases())
    tasks = [case.condition["needle"] for case in cases if case.condition["ability"] == "needle"]
    assert {case.condition["suite"] for case in cases} == {name}
    assert {task: tasks.count(task) for task in tasks} == {kind.name: 3 for kind in SUITES[name].kinds}
    assert len({case.id for case in cases}) == len(cases)


def test_needle_selects_tasks_of_a_suite() -> None:
    cases = make("niah", suite="ruler", needles=["niah_multiquery", "niah_single_2"], **SMALL).cases()
    assert {case.condition["needle"] for case in cases} == {"niah_multiquery", "niah_single_2"}


def test_what_is_no_suite_or_none_of_its_tasks_is_refused() -> None:
    with pytest.raises(UsageError, match="ruler"):
        make("niah", suite="rular", **SMALL)
    with pytest.raises(UsageError, match="niah_single_2"):
        make("niah", suite="ruler", needles=["sandwich"], **SMALL)
    with pytest.raises(UsageError, match="--template"):
        make("niah", suite="ruler", templates=["earlier"], **SMALL)
