"""Runs of a live system for the pytest plug-in: it is asked once in a session, for all tests and workers.

The run file is named after the questions and the system, in a folder of the session, so that tests which ask the same,
and the workers of xdist, share it: each asks what is missing.
"""

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragstone.analysis.gates import GateResult
from ragstone.comparison.compare import compare
from ragstone.datasets.tabular import EvalData
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.diagnosis.diagnose import DiagnosisResult, plan_diagnosis, run_diagnosis
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.engine.execute import RunOptions, asking, default_name
from ragstone.engine.gates import check_gates
from ragstone.engine.project_config import asked_system
from ragstone.errors import UnknownName, UsageError
from ragstone.evaluation.evaluate import EvalResult
from ragstone.evaluation.questions import plan_questions, run_questions
from ragstone.pytest_plugin.messages import at_length, misses
from ragstone.pytest_plugin.support import Evaluator, Scored
from ragstone.retrieval.index_list import read_index
from ragstone.runs import open_run
from ragstone.systems import system_settings
from ragstone.systems.http import HttpTarget
from ragstone.types import System

_READING = ("mapping", "limit", "sample", "seed")
# Of a gate that is checked at every commit, an alarm in twenty would be one too many.
_REGRESSION = 0.01
CAUSE = "cause."  # metrics of a diagnosis: the share of questions with this cause


@dataclass(frozen=True)
class LiveRun:
    """A finished run and what it is checked for: thresholds by metric, minima or, where lower is better, maxima."""

    result: EvalResult | DiagnosisResult
    thresholds: Mapping[str, float]

    def gates(self, mode: Literal["interval", "point"], min_coverage: float) -> list[GateResult]:
        """The thresholds as gates of the run."""
        return check_gates(
            self.result.run, self.thresholds, mode=mode, min_coverage=min_coverage, system=self.result.system
        )

    def means(self) -> dict[str, float]:
        """The mean of each metric that has one."""
        return {gate.gate.metric: gate.mean for gate in self.gates("point", 0.0) if gate.mean is not None}

    def misses(self, mode: Literal["interval", "point"], min_coverage: float) -> list[str]:
        """A line for each gate that fails or cannot be decided because too little was scored, with the samples that
        decided, and for the questions that failed."""
        lines = []
        for gate in self.gates(mode, min_coverage):
            if gate.verdict in ("failed", "unknown"):
                worst = ", ".join(gate.decided_by())
                lines += [gate.line_in("en"), *([f"  decided by: {worst}"] if worst else [])]
        if lines:
            with open_run(self.result.run) as run:
                lines += [f"{failure.count} × {failure.message}" for failure in run.failures()[:3]]
        return lines

    def undecided(self, mode: Literal["interval", "point"], min_coverage: float) -> list[str]:
        """A line for each gate that fails nothing only because the answers are too few to decide it."""
        return [
            f"undecided: {gate.scored} answers are too few to tell {gate.gate.metric} {gate.mean:.3g} "
            f"from {gate.gate.threshold:g}"
            for gate in self.gates(mode, min_coverage)
            if gate.verdict == "warned"
        ]

    def regressions(self, baseline: Path) -> list[str]:
        """A line for each metric that is worse than in an earlier run: question by question, on those that both have.
        A metric that cannot be compared is named, too. Raises UsageError if the runs have no question in common."""
        names = list(self.thresholds)
        with open_run(baseline) as run:
            same = self.result.system if self.result.system in run.systems else None
        found = compare(
            baseline, self.result.run, system_a=same, system_b=self.result.system, metrics=names, primary=names,
            on="common",
        )  # fmt: skip
        lines = [
            f"{row.label}: {row.b:.3g}, {row.a:.3g} in {baseline} ({row.worsened} of {row.samples} questions worse, "
            f"{row.improved} better, p = {row.p_holm:.2g})"
            for row in found.rows
            if row.regressed(level=_REGRESSION)
        ]
        compared = {name for row in found.rows for name in (row.metric, *row.aliases)}
        return [*lines, *(f"{name}: cannot be compared with {baseline}" for name in names if name not in compared)]

    def misses_of(self, sample: str) -> list[str]:
        """What one question misses, with its answer, evidence and passages. Raises UsageError for an unknown id."""
        with open_run(self.result.run) as run:
            records = [item for item in run.records(system=self.result.system) if item.case.sample.id == sample]
        if not records:
            assert isinstance(self.result, EvalResult)
            known = [row["id"] for row in self.result.scores]
            raise UsageError(f"only={sample!r}: no question has this id. There are: {', '.join(map(str, known[:10]))}.")
        lines: list[str] = []
        for record in records:
            if record.response is None:
                lines.append(f"{sample}: no answer ({record.error})")
                continue
            scores = {name: (record.scores[name],) for name in self.thresholds}
            scored = Scored(record.case, record.response, scores)
            missed = misses(scored, self.thresholds)
            lines += [*missed, *at_length(scored, self.thresholds)] if missed else []
        return lines


def ask_system(
    evaluator: Evaluator,
    questions: Any,
    system: Any,
    thresholds: Mapping[str, float],
    folder: Path,
    test: str,
    *,
    timeout: float = 120.0,
    concurrency: int | None = None,
    **options: Any,
) -> LiveRun:
    """Asks the system what the session has not asked it yet. `questions` and `system`: as in `run`, or a table of
    `ragstone.toml`. `test`: the id of the test, to tell its own objects from those of others. `options`: `mapping`,
    `limit`, `sample`, `seed` of the questions; `repeat`, `data_language`. Raises the errors of `run`."""
    evaluator.check(list(thresholds))
    limits = {str(evaluator.judging.names([name])[0]): limit for name, limit in thresholds.items()}
    target = asked_system(system, trusted=True)
    data = _read(questions, options)
    plan = plan_questions(data, target, list(thresholds), evaluator.judging, **options)
    settings = [plan.benchmark.question, system_settings(plan.system), _identity(target, test)]
    calling = asking(timeout, concurrency, cache=evaluator.options.cache)
    path = folder / default_name("run", settings)
    folder.mkdir(parents=True, exist_ok=True)
    result = evaluator.wait(run_questions(plan, RunOptions(path, calling, concurrency)))
    return LiveRun(result, limits)


def _read(questions: Any, options: dict[str, Any]) -> EvalData:
    """The questions, as those of the options say that are about reading; they are taken out of the options."""
    return read_data(questions, **{name: options.pop(name) for name in _READING if name in options})


def diagnose_system(
    evaluator: Evaluator,
    questions: Any,
    system: Any,
    thresholds: Mapping[str, float],
    folder: Path,
    test: str,
    *,
    retriever: Any = None,
    corpus: str | Path | None = None,
    index: Any = None,
    timeout: float = 120.0,
    concurrency: int | None = None,
    **options: Any,
) -> LiveRun:
    """Diagnoses the system, and asks only what the session has not asked it yet. `thresholds`: maxima of `cause.NAME`,
    and minima of the metrics that decide what is right. The rest as in `ask_system` and `diagnose`."""
    causes = [name for name in thresholds if name.startswith(CAUSE)]
    for name in causes:
        if name.removeprefix(CAUSE) not in CAUSES:
            raise UnknownName("cause", name, [f"{CAUSE}{cause}" for cause in CAUSES])
    metrics = [name for name in thresholds if name not in causes]
    if metrics:
        evaluator.check(metrics)
    target = asked_system(system, trusted=True)
    data = _read(questions, options)
    calling = asking(timeout, concurrency, cache=evaluator.options.cache)
    listed = None if index is None else evaluator.wait(read_index(index, calling))
    asked = asked_system(target, retriever, listed or (corpus if isinstance(system, str) else None))
    plan = plan_diagnosis(data, asked, metrics or None, evaluator.judging, corpus=corpus, index=listed, **options)
    digest = "" if listed is None else listed.sha256
    settings = [plan.data.sha256, system_settings(plan.system), _identity(target, test), metrics, digest]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / default_name("diagnosis", {"settings": settings})
    result = evaluator.wait(run_diagnosis(plan, RunOptions(path, calling, concurrency)))
    return LiveRun(result, thresholds)


def _identity(system: Any, test: str) -> str:
    """What tells two live systems of the same name apart: where a function or class is defined; any other object
    belongs to its test."""
    if isinstance(system, str | HttpTarget | System):
        return ""
    function = system.func if isinstance(system, functools.partial) else system
    named = inspect.isroutine(function) or inspect.isclass(function)
    if named and function is system and "<" not in function.__qualname__ and not inspect.ismethod(function):
        return f"{function.__module__}.{function.__qualname__}"
    return test
