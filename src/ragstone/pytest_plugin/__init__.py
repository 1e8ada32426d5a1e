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
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from ragstone.pytest_plugin.options import OPTIONS, option_of, path_of, tolerance_of, updates_baseline
from ragstone.pytest_plugin.recorder import Recorder, ScoreTable, fail, without_traceback

if TYPE_CHECKING:
    from ragstone.diagnosis.diagnose import DiagnosisResult
    from ragstone.evaluation.evaluate import EvalResult
    from ragstone.pytest_plugin.messages import PassRate
    from ragstone.pytest_plugin.runs import LiveRun
    from ragstone.pytest_plugin.support import Baseline, Evaluator, Scored

_FAILING = 20  # samples of a suite that a message names


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each with an ini value of the same name (`ragstone_judge`)."""
    group = parser.getgroup("ragstone", "scores of RAG answers")
    for name, metavar, description in OPTIONS:
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
    if (protocol := option_of(config, "judge-protocol")) not in ("", "matrix", "ragas"):
        raise pytest.UsageError(f"--ragstone-judge-protocol is matrix or ragas, not {protocol!r}.")
    tolerance_of(config)
    if updates_baseline(config) and path_of(config, "baseline") is None:
        raise pytest.UsageError("--ragstone-update-baseline writes a file: name it with --ragstone-baseline FILE.")
    config.pluginmanager.register(ScoreTable(config), "ragstone-session")


def _check_thresholds(thresholds: Mapping[str, float]) -> None:
    """Raises UsageError for a threshold that no score could miss, or none reach."""
    from ragstone.analysis.gates import check_thresholds  # noqa: PLC0415

    check_thresholds(thresholds)


def _asked(thresholds: Mapping[str, float], ask: Callable[[], "LiveRun"]) -> "LiveRun":
    """The run of a live system; the thresholds are checked before it is asked."""
    __tracebackhide__ = True
    without_traceback(lambda: _check_thresholds(thresholds))
    live: LiveRun = without_traceback(ask)
    return live


@pytest.fixture(scope="session")
def ragstone(request: pytest.FixtureRequest) -> Iterator["Evaluator"]:
    """An evaluator with the judge of the session: `ragstone.score(sample, ["faithfulness"]).value("faithfulness")`."""
    from ragstone.engine.judge_tools import Judging  # noqa: PLC0415  (nothing is loaded before a test needs it)
    from ragstone.pytest_plugin.support import Evaluator  # noqa: PLC0415

    config = request.config
    judging: Any = Judging(
        model=option_of(config, "judge") or None,
        base_url=option_of(config, "judge-base-url") or None,
        embedder=option_of(config, "embedder") or None,
        embedder_base_url=option_of(config, "embedder-base-url") or None,
        protocol=option_of(config, "judge-protocol") or "matrix",  # type: ignore[arg-type]
        prompts=path_of(config, "prompts"),
    )
    with Evaluator(judging, cache=path_of(config, "cache")) as evaluator:
        yield evaluator


@pytest.fixture(scope="session")
def _ragstone_baseline(request: pytest.FixtureRequest) -> "Baseline | None":
    from ragstone.pytest_plugin.support import Baseline  # noqa: PLC0415

    path = path_of(request.config, "baseline")
    if path is None or updates_baseline(request.config):
        return None
    read: Baseline = without_traceback(lambda: Baseline.read(path, tolerance=tolerance_of(request.config)))
    return read


@pytest.fixture
def _ragstone_recorder(request: pytest.FixtureRequest, _ragstone_baseline: "Baseline | None") -> "Recorder":
    return Recorder(request.node, _ragstone_baseline)


@pytest.fixture
def assert_scores(ragstone: "Evaluator", _ragstone_recorder: "Recorder") -> "Callable[..., Scored]":
    """`assert_scores(sample, {"faithfulness": 0.8}, repeat=1)`: fails if a score is missing or below its threshold
    (above it, for metrics where lower is better). Returns the scores.

    `sample` is a dict with the columns that `ragstone eval` recognises. With `repeat`, the judge scores it several
    times and the mean counts. The failure message shows the evidence of the scores."""

    def check(sample: Mapping[str, Any], thresholds: Mapping[str, float], *, repeat: int = 1) -> "Scored":
        from ragstone.pytest_plugin.messages import at_length, misses  # noqa: PLC0415

        __tracebackhide__ = True
        without_traceback(lambda: _check_thresholds(thresholds))
        scored: Scored = without_traceback(lambda: ragstone.score(sample, list(thresholds), repeat=repeat))
        values = {name: value for name in thresholds if (value := scored.value(name)) is not None}
        lines = misses(scored, thresholds)
        lines += _ragstone_recorder.record(scored.id, values, passed=not lines)
        if lines:
            fail([*lines, *at_length(scored, thresholds)])
        return scored

    return check


@pytest.fixture
def assert_pass_rate(ragstone: "Evaluator", _ragstone_recorder: "Recorder") -> "Callable[..., PassRate]":
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
        without_traceback(lambda: _check_thresholds(thresholds))
        rows = list(samples)
        scored = without_traceback(lambda: ragstone.score_all(rows, list(thresholds), repeat=repeat))
        result = pass_rate(scored, thresholds)
        passed = result.rate >= rate
        lines = _ragstone_recorder.record(f"{result.total} samples", result.means(), passed=passed, rate=result.rate)
        if not passed:
            shares = f"{result.rate:.0%}, {rate:.0%} needed"
            head = f"{result.passed} of {result.total} samples reach the thresholds ({shares})"
            more = len(result.failures) - _FAILING
            lines = [head, *result.failures[:_FAILING], *([f"… and {more} more"] if more > 0 else []), *lines]
        if lines:
            fail([lines[0], *(f"  {line}" for line in lines[1:])])
        return result

    return check


@pytest.fixture(scope="session")
def _ragstone_runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this session's run files, the same for all workers of xdist."""
    session = getattr(request.config, "workerinput", {}).get("testrunuid", "")
    if (folder := path_of(request.config, "runs")) is not None:
        return folder / (session or uuid.uuid4().hex)[:8]  # a new folder: the system is asked anew in each session
    base = tmp_path_factory.getbasetemp()
    return (base.parent if session else base) / "ragstone"


@pytest.fixture
def assert_run(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_recorder: "Recorder", _ragstone_runs: Path
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
            lines = without_traceback(lambda: live.misses(mode, min_coverage))
            means, title = live.means(), f"{len(live.result.scores)} questions"
            undecided = live.undecided(mode, min_coverage)
            if baseline is not None:
                lines = [*lines, *without_traceback(lambda: live.regressions(Path(baseline)))]
        else:
            lines, undecided = without_traceback(lambda: live.misses_of(only)), []
            row = next(row for row in live.result.scores if row["id"] == only)
            means, title = {name: row[name] for name in live.thresholds if row.get(name) is not None}, only
        _ragstone_recorder.conclude(title, means, lines, live.result.run, undecided)
        return live.result

    return check


@pytest.fixture
def assert_diagnosis(
    request: pytest.FixtureRequest, ragstone: "Evaluator", _ragstone_recorder: "Recorder", _ragstone_runs: Path
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
        lines = without_traceback(lambda: live.misses(mode, min_coverage))
        title = f"{len(live.result.questions)} questions"
        _ragstone_recorder.conclude(title, live.means(), lines, live.result.run, live.undecided(mode, min_coverage))
        return live.result

    return check
