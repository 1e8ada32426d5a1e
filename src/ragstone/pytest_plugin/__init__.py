"""The pytest plug-in: scores as assertions. It costs nothing until a test uses one of its fixtures.

    def test_leave(assert_scores):
        assert_scores({"question": …, "answer": …, "contexts": […]}, {"faithfulness": 0.8})

    def test_suite(assert_pass_rate):
        assert_pass_rate(samples, {"faithfulness": 0.8}, rate=0.9, repeat=3)

    def test_my_system(assert_run):
        assert_run("questions.csv", {"answer_match": 0.8}, system=ask)

    def test_search(assert_diagnosis):
        assert_diagnosis("questions.csv", {"cause.not_retrieved": 0.1}, system=ask, retriever=search, corpus="docs")

The judge is set by `--ragstone-judge PROVIDER/MODEL` or `ragstone_judge` in pytest's configuration. The scores of a
test travel in the `user_properties` of its report, so that the workers of xdist share one table and one baseline.
"""

import argparse
import json
import math
import re
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pytest

if TYPE_CHECKING:
    from ragstone.diagnosis.diagnose import DiagnosisResult
    from ragstone.evaluation.evaluate import EvalResult
    from ragstone.pytest_plugin.messages import PassRate
    from ragstone.pytest_plugin.runs import LiveRun
    from ragstone.pytest_plugin.support import Baseline, Evaluator, Scored

_PROPERTY = "ragstone"
_TOLERANCE = 0.05
_FAILING = 20  # samples of a suite that a message names
_OPTIONS = (
    ("judge", "PROVIDER/MODEL", "chat model used as the judge"),
    ("judge-base-url", "URL", "its endpoint, overriding its provider's"),
    ("embedder", "PROVIDER/MODEL", "the embedder (default: local/e5-small)"),
    ("embedder-base-url", "URL", "its endpoint, overriding its provider's"),
    ("judge-protocol", "matrix|ragas", "the judge's protocol (default: matrix)"),
    ("prompts", "DIR", "folder of your own prompts"),
    ("cache", "DIR", "folder for cached replies of the judge (also: --cache=DIR)"),
    ("runs", "DIR", "folder for the run files of live systems (default: pytest's temporary folder)"),
    ("baseline", "FILE", "scores of an earlier session, which must not become worse"),
    ("tolerance", "NUMBER", f"how much worse than the baseline a score may be (default: {_TOLERANCE})"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each with an ini value of the same name (`ragstone_judge`)."""
    group = parser.getgroup("ragstone", "scores of RAG answers")
    for name, metavar, description in _OPTIONS:
        group.addoption(f"--ragstone-{name}", metavar=metavar, default=None, help=description)
        parser.addini(f"ragstone_{name.replace('-', '_')}", description, default="")
    group.addoption("--ragstone-update-baseline", action="store_true", help="write the baseline instead")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> Generator[None, None, None]:
    """Adds `--cache` if it is used and no other plug-in has it. Only now are all options known, including those of
    conftest.py, and ours must never keep another plug-in's from being added."""
    yield
    if any(word.partition("=")[0] == "--cache" for word in args):
        try:
            parser.getgroup("ragstone").addoption("--cache", dest="ragstone_cache", metavar="DIR", default=None)
        except (ValueError, argparse.ArgumentError):
            return  # it is another plug-in's


def pytest_configure(config: pytest.Config) -> None:
    """Rejects invalid settings at once, and collects the scores of all tests from their reports."""
    if (protocol := _option(config, "judge-protocol")) not in ("", "matrix", "ragas"):
        raise pytest.UsageError(f"--ragstone-judge-protocol is matrix or ragas, not {protocol!r}.")
    _tolerance(config)
    if _updates(config) and _path(config, "baseline") is None:
        raise pytest.UsageError("--ragstone-update-baseline writes a file: name it with --ragstone-baseline FILE.")
    config.pluginmanager.register(_Session(config), "ragstone-session")


def _option(config: pytest.Config, name: str) -> str:
    """An option of the command line, else of the configuration, else ""."""
    key = name.replace("-", "_")
    return str(config.getoption(f"ragstone_{key}", None) or config.getini(f"ragstone_{key}") or "")


def _path(config: pytest.Config, name: str) -> Path | None:
    """A path option: on the command line relative to where pytest was called, in the configuration to its file."""
    if path := config.getoption(f"ragstone_{name}", None):
        return Path(config.invocation_params.dir, str(path))
    path = config.getini(f"ragstone_{name}")
    return Path(config.rootpath if config.inipath is None else config.inipath.parent, str(path)) if path else None


def _tolerance(config: pytest.Config) -> float:
    text = _option(config, "tolerance")
    try:
        tolerance = float(text or _TOLERANCE)
    except ValueError:
        tolerance = math.nan
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise pytest.UsageError(f"--ragstone-tolerance is a number of at least 0, not {text!r}.")
    return tolerance


def _updates(config: pytest.Config) -> bool:
    return bool(config.getoption("ragstone_update_baseline"))


def _without_traceback(work: Callable[[], Any]) -> Any:
    """The result of the work; an error of ragstone's fails the test with its own lines instead of a traceback."""
    from ragstone.errors import RagstoneError  # noqa: PLC0415

    __tracebackhide__ = True
    try:
        return work()
    except RagstoneError as error:  # it names the options of the command line
        lines = [re.sub(r"(?<!\S)--(?=(judge|embedder|prompts)\b)", "--ragstone-", line) for line in error.lines]
    return _fail(lines)


def _fail(lines: Sequence[str]) -> NoReturn:
    """Fails the test with these lines, in which control characters of the data are replaced."""
    from ragstone.report.sanitize import readable  # noqa: PLC0415

    __tracebackhide__ = True
    pytest.fail(readable("\n".join(lines)), pytrace=False)


def _check_thresholds(thresholds: Mapping[str, float]) -> None:
    """Raises UsageError for a threshold that no score could miss, or none reach."""
    from ragstone.analysis.gates import check_thresholds  # noqa: PLC0415

    check_thresholds(thresholds)


def _asked(thresholds: Mapping[str, float], ask: Callable[[], "LiveRun"]) -> "LiveRun":
    """The run of a live system; the thresholds are checked before it is asked."""
    __tracebackhide__ = True
    _without_traceback(lambda: _check_thresholds(thresholds))
    live: LiveRun = _without_traceback(ask)
    return live


@pytest.fixture(scope="session")
def ragstone(request: pytest.FixtureRequest) -> Iterator["Evaluator"]:
    """An evaluator with the judge of the session: `ragstone.score(sample, ["faithfulness"]).value("faithfulness")`."""
    from ragstone.engine.judging import Judging  # noqa: PLC0415  (nothing is loaded before a test needs it)
    from ragstone.pytest_plugin.support import Evaluator  # noqa: PLC0415

    config = request.config
    judging: Any = Judging(
        model=_option(config, "judge") or None,
        base_url=_option(config, "judge-base-url") or None,
        embedder=_option(config, "embedder") or None,
        embedder_base_url=_option(config, "embedder-base-url") or None,
        protocol=_option(config, "judge-protocol") or "matrix",  # type: ignore[arg-type]
        prompts=_path(config, "prompts"),
    )
    with Evaluator(judging, cache=_path(config, "cache")) as evaluator:
        yield evaluator


@pytest.fixture(scope="session")
def _ragstone_baseline(request: pytest.FixtureRequest) -> "Baseline | None":
    from ragstone.pytest_plugin.support import Baseline  # noqa: PLC0415

    path = _path(request.config, "baseline")
    if path is None or _updates(request.config):
        return None
    read: Baseline = _without_traceback(lambda: Baseline.read(path, tolerance=_tolerance(request.config)))
    return read


@pytest.fixture
def _ragstone_recorder(request: pytest.FixtureRequest, _ragstone_baseline: "Baseline | None") -> "_Recorder":
    return _Recorder(request.node, _ragstone_baseline)


@pytest.fixture
def assert_scores(ragstone: "Evaluator", _ragstone_recorder: "_Recorder") -> "Callable[..., Scored]":
    """`assert_scores(sample, {"faithfulness": 0.8}, repeat=1)`: fails if a score is missing or below its threshold
    (above it, for metrics where lower is better). Returns the scores.

    `sample` is a dict with the columns that `ragstone eval` recognises. With `repeat`, the judge scores it several
    times and the mean counts. The failure message shows the evidence of the scores."""

    def check(sample: Mapping[str, Any], thresholds: Mapping[str, float], *, repeat: int = 1) -> "Scored":
        from ragstone.pytest_plugin.messages import at_length, misses  # noqa: PLC0415

        __tracebackhide__ = True
        _without_traceback(lambda: _check_thresholds(thresholds))
        scored: Scored = _without_traceback(lambda: ragstone.score(sample, list(thresholds), repeat=repeat))
        values = {name: value for name in thresholds if (value := scored.value(name)) is not None}
        lines = misses(scored, thresholds)
        lines += _ragstone_recorder.record(scored.id, values, passed=not lines)
        if lines:
            _fail([*lines, *at_length(scored, thresholds)])
        return scored

    return check


@pytest.fixture
def assert_pass_rate(ragstone: "Evaluator", _ragstone_recorder: "_Recorder") -> "Callable[..., PassRate]":
    """`assert_pass_rate(samples, {"faithfulness": 0.8}, rate=0.9, repeat=3)`: fails if a smaller share of the
    samples reaches every threshold, each by its mean over the repeats, so that a single flaky verdict does not fail the
    test. A sample without a score does not pass. A sample with `answerable: False` passes if the answer declines, and
    one with `answerable: True` does not. Returns the pass rate."""

    def check(
        samples: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float], *, rate: float = 0.9, repeat: int = 1
    ) -> "PassRate":
        from ragstone.pytest_plugin.messages import pass_rate  # noqa: PLC0415

        __tracebackhide__ = True
        if not 0 <= rate <= 1:
            pytest.fail(f"rate={rate}: it is a share, from 0 to 1.", pytrace=False)
        _without_traceback(lambda: _check_thresholds(thresholds))
        rows = list(samples)
        scored = _without_traceback(lambda: ragstone.score_all(rows, list(thresholds), repeat=repeat))
        result = pass_rate(scored, thresholds)
        passed = result.rate >= rate
        lines = _ragstone_recorder.record(f"{result.total} samples", result.means(), passed=passed, rate=result.rate)
        if not passed:
            shares = f"{result.rate:.0%}, {rate:.0%} needed"
            head = f"{result.passed} of {result.total} samples reach the thresholds ({shares})"
            more = len(result.failures) - _FAILING
            lines = [head, *result.failures[:_FAILING], *([f"… and {more} more"] if more > 0 else []), *lines]
        if lines:
            _fail([lines[0], *(f"  {line}" for line in lines[1:])])
        return result

    return check


@pytest.fixture(scope="session")
def _ragstone_runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this session's run files, the same for all workers of xdist."""
    session = getattr(request.config, "workerinput", {}).get("testrunuid", "")
    if (folder := _path(request.config, "runs")) is not None:
        return folder / (session or uuid.uuid4().hex)[:8]  # a new folder: the system is asked anew in each session
    base = tmp_path_factory.getbasetemp()
    return (base.parent if session else base) / "ragstone"


@pytest.fixture
def assert_run(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_recorder: "_Recorder", _ragstone_runs: Path
) -> "Callable[..., EvalResult]":
    """`assert_run("questions.csv", {"answer_match": 0.8}, system=ask)`: asks the live system the questions and fails if
    the whole 95% interval of a mean misses its threshold, or if too little could be scored. Returns the result. What
    too few questions leave undecided passes, with a line at the end of the session.

    `questions`: a path, or a list of dicts. `system`: a function, an object of a framework, `HttpTarget`, a name such
    as `app.py:ask`, or a table of ragstone.toml. `only="ID"` checks one question; the system is asked once in a
    session, so one test for each question costs no more. `mode="point"`: the means decide. `min_coverage`: the share
    that must be scored. `baseline`: an earlier run file of these questions; the test fails, too, if a metric is worse
    than there, question by question (paired test, p < 0.01 after Holm's correction). `options`: `repeat`, `timeout`,
    `concurrency`, `limit`, `sample`, `mapping`…, as in `run`."""

    kept: list[Any] = []  # so that the ids of systems differ

    def check(
        questions: Any, thresholds: Mapping[str, float], *, system: Any, only: str | None = None,
        mode: Literal["interval", "point"] = "interval", min_coverage: float = 0.95,
        baseline: str | Path | None = None, **options: Any,
    ) -> "EvalResult":  # fmt: skip
        from ragstone.evaluation.evaluate import EvalResult  # noqa: PLC0415
        from ragstone.pytest_plugin.runs import ask_system  # noqa: PLC0415

        __tracebackhide__ = True
        kept.append(system)
        test = f"{request.node.nodeid} {id(system)}"
        live = _asked(
            thresholds, lambda: ask_system(ragstone, questions, system, thresholds, _ragstone_runs, test, **options)
        )
        assert isinstance(live.result, EvalResult)
        if only is None:
            lines = _without_traceback(lambda: live.misses(mode, min_coverage))
            means, title = live.means(), f"{len(live.result.scores)} questions"
            undecided = live.undecided(mode, min_coverage)
            if baseline is not None:
                lines = [*lines, *_without_traceback(lambda: live.regressions(Path(baseline)))]
        else:
            lines, undecided = _without_traceback(lambda: live.misses_of(only)), []
            row = next(row for row in live.result.scores if row["id"] == only)
            means, title = {name: row[name] for name in live.thresholds if row.get(name) is not None}, only
        _ragstone_recorder.conclude(title, means, lines, live.result.run, undecided)
        return live.result

    return check


@pytest.fixture
def assert_diagnosis(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_recorder: "_Recorder", _ragstone_runs: Path
) -> "Callable[..., DiagnosisResult]":
    """`assert_diagnosis("questions.csv", {"cause.not_retrieved": 0.1}, system=ask, corpus="docs")`: asks the live
    system under changed conditions, as `ragstone diagnose`, and fails if the whole 95% interval of a cause's share of
    all questions is above its threshold. Returns the result.

    Metrics that decide what is right may have minima in the same dict. `retriever`, `corpus`, `index` and the other
    options as in `diagnose`; `system`, `mode` and `min_coverage` as in `assert_run`."""

    kept: list[Any] = []  # so that the ids of systems differ

    def check(
        questions: Any, thresholds: Mapping[str, float], *, system: Any,
        mode: Literal["interval", "point"] = "interval", min_coverage: float = 0.95, **options: Any,
    ) -> "DiagnosisResult":  # fmt: skip
        from ragstone.diagnosis.diagnose import DiagnosisResult  # noqa: PLC0415
        from ragstone.pytest_plugin.runs import diagnose_system  # noqa: PLC0415

        __tracebackhide__ = True
        kept.append(system)
        test = f"{request.node.nodeid} {id(system)}"
        live = _asked(
            thresholds,
            lambda: diagnose_system(ragstone, questions, system, thresholds, _ragstone_runs, test, **options),
        )
        assert isinstance(live.result, DiagnosisResult)
        lines = _without_traceback(lambda: live.misses(mode, min_coverage))
        title = f"{len(live.result.questions)} questions"
        _ragstone_recorder.conclude(title, live.means(), lines, live.result.run, live.undecided(mode, min_coverage))
        return live.result

    return check


class _Recorder:
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
            _fail([*lines, f"run file: {run}"])


class _Session:
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
        path = _path(self._config, "baseline")
        if path is None or not _updates(self._config) or not self._rows or hasattr(self._config, "workerinput"):
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
