"""`agreement_of_experts`: how far people agree, how far a judge agrees with them, and means that their labels make
valid.

Labels are a file of `ragstone annotate`, or a table (CSV, JSONL, JSON) with a row per item and expert: `id` of the
question, `expert`, and either `task` and `label`, or a column per task (`correct`, `faithful`, `relevant`, or the name
of a metric). A label is yes or no, or a number; an empty one means "cannot tell"."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.analysis.expert_agreement import (
    Agreed,
    ExpertFindings,
    JudgeAgreement,
    Scored,
    agreed,
    calibrate,
    judged,
    strata_of,
)  # fmt: skip
from ragstone.analysis.next_labels import NextLabels, next_labels
from ragstone.display import Table
from ragstone.engine.open_run import open_checked, viewed
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.experts.expert_labels import ExpertLabels, read_labels
from ragstone.messages import preferred_language
from ragstone.report.expert_tables import expert_summary, expert_tables
from ragstone.report.findings_file import write_findings
from ragstone.report.notebook import result_snippet, result_text
from ragstone.text import detect

__all__ = [
    "TASKS", "Agreed", "ExpertAgreement", "JudgeAgreement", "agreement_of_experts", "metric_of", "next_to_label",
    "scores_of", "side_of",
]  # fmt: skip

TASKS: Mapping[str, tuple[str, ...]] = {
    "correct": (
        "answer_correctness",
        "ragas.answer_correctness",
        "ragchecker.f1",
        "answer_match.judge",
        "answer_match",
    ),
    "faithful": ("faithfulness", "groundedness", "ragas.faithfulness", "ragchecker.faithfulness"),
    "relevant": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}
"""The metrics that a task of labelling is compared with: the first one that the run has."""


@dataclass(frozen=True, repr=False)
class ExpertAgreement(ExpertFindings):
    """Findings of the labels, with `summary` and `tables`, and `keep` for reports. It shows itself."""

    labels: str = ""
    sha256: str = ""
    run: str = ""

    def summary(self, *, language: str = "en") -> str:
        """The answer in a line for each task, in a language."""
        return expert_summary(self, language=language)

    def tables(self, *, language: str = "en") -> list[Table]:
        """The tables, in a language."""
        return expert_tables(self, language=language)

    def __repr__(self) -> str:
        """The summary and the tables."""
        language = preferred_language()
        return result_text(self.summary(language=language), self.tables(language=language), language=language)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        language = preferred_language()
        return result_snippet(self.summary(language=language), self.tables(language=language))

    def keep(self) -> Path:
        """Writes the findings beside the run, where its reports find them; returns the path. Raises UsageError where
        there is no run (docs/decisions/0030)."""
        if not self.run:
            raise UsageError("Only what the labels say of a run can be kept: name the run with --run.")
        with open_checked(self.run) as opened:
            return write_findings(self, Path(self.run), opened.file_id, labels=self.labels, sha256=self.sha256)


@public
def agreement_of_experts(
    labels: str | Path | Sequence[Mapping[str, Any]],
    run: str | Path | None = None,
    *,
    system: str | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    by: str = "",
    metric: str = "",
) -> ExpertAgreement:
    """Agreement of the experts on each task and, with a `run` of the same questions, of its judge with them.

    `metric`: what the labels are compared with, by default the run's metric for each task. `scale`: the lowest and the
    highest label, (1, 5) for five stars. `by`: a column of the data by which the calibrated
    means are stratified (by default the judge's score). Raises UsageError and DataError, one line each."""
    if run is None:
        read = read_labels(labels, scale)
        return ExpertAgreement(_agreed(read), labels=read.name, sha256=read.sha256)
    name, source = side_of(Path(run), system)
    read = read_labels(labels, scale, system=name, source=source)
    labelled = {item for table in read.by_task.values() for item in table}
    scores = scores_of(Path(run), name, by, metrics=_compared(read.by_task, metric), about=labelled)
    found, calibrated = [], {}
    for task, table in sorted(read.by_task.items()):
        if (compared := metric_of(task, scores, metric)) is None:
            continue
        means = read.means(task)
        found += judged(task, compared, table, means, scores[compared])
        calibrated[task, compared] = calibrate(means, scores[compared], picked=read.picked)
    if not found:
        known = ", ".join(sorted(scores)) or "none"
        what = metric or f"metric for {', '.join(read.by_task)}"
        raise UsageError(f"{run} has no {what} and the labelled questions (metrics: {known}).")
    return ExpertAgreement(_agreed(read), tuple(found), calibrated, name, read.name, read.sha256, str(run))


@public
def next_to_label(
    labels: str | Path | Sequence[Mapping[str, Any]] | None,
    run: str | Path,
    count: int,
    *,
    task: str = "",
    system: str | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    by: str = "",
    metric: str = "",
    seed: int = 0,
) -> tuple[str, NextLabels]:
    """The metric, and the `count` questions of the run whose labels narrow its calibrated interval most: of `task`, or
    of the first task that the labels and the run have. `labels` None: before the first label. Raises UsageError."""
    name, source = side_of(Path(run), system)
    read = None if labels is None else read_labels(labels, scale, system=name, source=source)
    tasks = [task] if task else sorted(read.by_task if read else TASKS)
    scores = scores_of(Path(run), name, by, metrics=_compared(tasks, metric))
    found = [(one, of) for one in tasks if (of := metric_of(one, scores, metric)) is not None]
    if not found:
        raise UsageError(
            f"{run} has no metric for {', '.join(tasks)} (metrics: {', '.join(sorted(scores)) or 'none'})."
        )
    one, compared = found[0]
    means = read.means(one) if read is not None and one in read.by_task else {}
    scored = scores[compared]
    return compared, next_labels(scored.values, means, count, strata=strata_of(scored), seed=seed)


def _compared(tasks: Iterable[str], chosen: str) -> set[str]:
    """The metrics that `metric_of` may find for these tasks."""
    return {chosen} if chosen else {name for task in tasks for name in (*TASKS.get(task, ()), task)}


def metric_of(task: str, scores: Mapping[str, Any], chosen: str = "") -> str | None:
    """The metric of a run that a task is compared with: the `chosen` one, else the task's; None if the run has none."""
    if chosen:
        return chosen if chosen in scores else None
    return next((name for name in (*TASKS.get(task, ()), task) if name in scores), None)


def _agreed(read: ExpertLabels) -> tuple[Agreed, ...]:
    return tuple(agreed(task, table) for task, table in sorted(read.by_task.items()))


def side_of(path: Path, system: str | None) -> tuple[str, str]:
    """A system of a run (its only one by default), and the id of the run. Raises UsageError."""
    with open_checked(path) as run:
        names = list(viewed(run).systems)
        if system is None and len(names) > 1:
            raise UsageError(f"{path} has {len(names)} systems: name one with --system; it has: {', '.join(names)}.")
        if system is not None and system not in names:
            raise UsageError(f"{path} has no system {system!r}; it has: {', '.join(names)}.")
        return system or names[0], run.file_id


def scores_of(
    path: Path, system: str, by: str = "", *, metrics: Collection[str] | None = None, about: Collection[str] = ()
) -> dict[str, Scored]:
    """The scores of a system by metric; of a large run they take much memory, so that those beside `metrics` (all by
    default) are named without values, and languages and lengths are only those of the questions `about`."""
    found: dict[str, Scored] = defaultdict(Scored)
    with open_checked(path) as opened:
        for record in viewed(opened).records(system=system, texts=False):
            sample, response = record.case.sample, record.response
            columns = sample.meta.get("columns") if by else None
            stratum = str(columns.get(by, "")) if isinstance(columns, Mapping) else ""
            for name, score in record.scores.items():
                if score.value is None or response is None:
                    continue
                one = found[name]
                if metrics is not None and name not in metrics:
                    continue
                one.values[sample.id] = score.value
                if sample.id in about:
                    one.languages[sample.id] = sample.language or detect(sample.question)
                    one.lengths[sample.id] = len(response.answer)
                if by:
                    one.strata[sample.id] = stratum
    return found
