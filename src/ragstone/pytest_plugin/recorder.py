"""The scores of a session: recorded test by test in the properties of their reports, and collected for the table at the
end, JUnit and the baseline."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ragstone.pytest_plugin.options import path_of, updates_baseline

if TYPE_CHECKING:
    from ragstone.pytest_plugin.support import Baseline

_PROPERTY = "ragstone"


class Recorder:
    """Records the scores of one test for the table, JUnit and the baseline. A test that is rerun starts afresh."""

    def __init__(self, node: Any, baseline: "Baseline | None") -> None:
        self._node, self._baseline, self._number = node, baseline, 0
        node.user_properties[:] = [
            (name, value)
            for name, value in node.user_properties
            if name != _PROPERTY and not name.startswith(f"{_PROPERTY}.")
        ]

    def record(
        self, sample: str, values: Mapping[str, float], *, passed: bool, rate: float | None = None,
        run: Path | None = None, undecided: Sequence[str] = (),
    ) -> list[str]:  # fmt: skip
        """Records the scores of one assertion, and returns a line for each that is worse than in the baseline."""
        self._number += 1
        test = self._node.nodeid if self._number == 1 else f"{self._node.nodeid}#{self._number}"
        worse = [] if self._baseline is None else self._baseline.regressions(test, values)
        row = {"test": test, "sample": sample, "values": dict(values), "rate": rate, "passed": passed and not worse,
               "run": "" if run is None else str(run), "undecided": [*undecided]}  # fmt: skip
        properties = self._node.user_properties
        properties += [(f"{_PROPERTY}.{name}", f"{value:.4f}") for name, value in values.items()]
        if rate is not None:
            properties.append((f"{_PROPERTY}.pass_rate", f"{rate:.4f}"))
        properties.append((_PROPERTY, json.dumps(row, ensure_ascii=True)))
        return [f"worse than the baseline: {line}" for line in worse]

    def conclude(
        self, title: str, means: Mapping[str, float], misses: Sequence[str], run: Path, undecided: Sequence[str]
    ) -> None:
        """Records the means of a run with what they cannot decide, and fails the test if they miss something."""
        __tracebackhide__ = True
        lines = [*misses, *self.record(title, means, passed=not misses, run=run, undecided=undecided)]
        if lines:
            fail([*lines, f"run file: {run}"])


class ScoreTable:
    """Collects the scores of all tests from their reports, for the table at the end and the baseline."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._rows: dict[str, dict[str, Any]] = {}
        self._written: Path | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and isinstance(value, str):
                row = json.loads(value)
                self._rows[row["test"]] = row

    def pytest_sessionfinish(self) -> None:
        path = path_of(self._config, "baseline")
        if path is None or not updates_baseline(self._config) or not self._rows or hasattr(self._config, "workerinput"):
            return
        from ragstone.errors import UsageError  # noqa: PLC0415
        from ragstone.pytest_plugin.support import Baseline  # noqa: PLC0415

        scores = {test: row["values"] for test, row in self._rows.items()}
        try:
            Baseline.read(path, missing=True).write(scores)
        except UsageError as error:
            pytest.exit(f"The baseline was not written: {error}", returncode=pytest.ExitCode.USAGE_ERROR)
        self._written = path

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._rows:
            return
        from ragstone.pytest_plugin.messages import score_lines  # noqa: PLC0415

        terminalreporter.write_sep("-", "ragstone scores")
        for line in score_lines(self._rows.values()):
            terminalreporter.write_line(line)
        if self._written is not None:
            terminalreporter.write_line(f"baseline: {self._written}")


def without_traceback(work: Callable[[], Any]) -> Any:
    """The result of the work; an error of ragstone's fails the test with its own lines instead of a traceback."""
    from ragstone.errors import RagstoneError  # noqa: PLC0415

    __tracebackhide__ = True
    try:
        return work()
    except RagstoneError as error:  # it names the options of the command line
        lines = [re.sub(r"(?<!\S)--(?=(judge|embedder|prompts)\b)", "--ragstone-", line) for line in error.lines]
    return fail(lines)


def fail(lines: Sequence[str]) -> NoReturn:
    """Fails the test with these lines, in which control characters of the data are replaced."""
    from ragstone.report.sanitize import readable  # noqa: PLC0415

    __tracebackhide__ = True
    pytest.fail(readable("\n".join(lines)), pytrace=False)
