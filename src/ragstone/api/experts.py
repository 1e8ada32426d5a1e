"""`agreement_of_experts`: how far people agree, how far a judge agrees with them, and means that their labels make
valid.

Labels are a table (CSV, JSONL, JSON) with a row per item and expert: `id` of the question, `expert`, and either `task`
and `label`, or a column per task (`correct`, `faithful`, `relevant`, or the name of a metric). A label is yes or no, or
a number; an empty one means "cannot tell"."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ragstone.analysis.calibration import LEAST_LABELS, Calibrated, calibrated_mean
from ragstone.analysis.raters import alpha, bootstrap, complete, fleiss_kappa, pearson, spearman, weighted_kappa
from ragstone.api.blocking import public
from ragstone.api.expert_tables import expert_tables
from ragstone.api.open_run import open_checked, viewed
from ragstone.datasets.tabular.rows import Rows
from ragstone.datasets.tabular.sources import open_source
from ragstone.display import Table
from ragstone.errors import DataError, UsageError
from ragstone.stats import Array, Estimate
from ragstone.text import detect

__all__ = ["Agreed", "ExpertAgreement", "JudgeAgreement", "agreement_of_experts"]

TASKS: Mapping[str, tuple[str, ...]] = {
    "correct": ("answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match"),
    "faithful": ("faithfulness", "groundedness", "ragas.faithfulness", "ragchecker.faithfulness"),
    "relevant": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}
"""The metrics that a task of labelling is compared with: the first one that the run has."""

_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0, "是": 1.0, "否": 0.0, "对": 1.0, "错": 0.0}
_BLANK = ("", "cannot tell", "n/a", "无法判断")
_HALF = 0.5


@dataclass(frozen=True)
class Agreed:
    """Agreement on one task: `items` with two labels or more, by `experts`. `equal`: the share of pairs of labels that
    are equal. Each statistic is (value, low, high), or None if it is undefined."""

    task: str
    items: int
    experts: tuple[str, ...]
    equal: float
    statistics: Mapping[str, tuple[float, float | None, float | None] | None]
    disputed: tuple[str, ...]


@dataclass(frozen=True)
class JudgeAgreement:
    """A metric against the experts' mean labels, over `n` questions; `part` is "", or a language or length. `kappa` of
    right and wrong at one half; `bias`: judge minus experts; `precision` and `recall` of what the judge finds wrong."""

    task: str
    metric: str
    part: str
    n: int
    kappa: tuple[float, float | None, float | None] | None
    bias: Estimate
    precision: Estimate
    recall: Estimate
    correlation: float | None
    differ: tuple[str, ...]


@dataclass(frozen=True)
class ExpertAgreement:
    """What the labels tell. `calibrated`: (task, metric) → the calibrated mean, or the reason why there is none."""

    agreed: tuple[Agreed, ...]
    judged: tuple[JudgeAgreement, ...] = ()
    calibrated: Mapping[tuple[str, str], Calibrated | str] = field(default_factory=dict)

    def tables(self, *, language: str = "en") -> list[Table]:
        """The tables, in a language."""
        return expert_tables(self, language=language)


@public
def agreement_of_experts(
    labels: str | Path | Sequence[Mapping[str, Any]],
    run: str | Path | None = None,
    *,
    system: str | None = None,
    scale: tuple[float, float] = (0.0, 1.0),
    by: str = "",
) -> ExpertAgreement:
    """How far the experts agree on each task and, with a `run` of the same questions, how far its judge agrees with
    them.

    `scale`: the lowest and the highest label, (1, 5) for five stars. `by`: a column of the data by which the calibrated
    means are stratified. Raises UsageError and DataError, one line each."""
    by_task = _read(labels, scale)
    agreed = tuple(_agreed(task, table) for task, table in sorted(by_task.items()))
    if run is None:
        return ExpertAgreement(agreed)
    judged, calibrated = [], {}
    scores = _scores(Path(run), system, by)
    for task, table in sorted(by_task.items()):
        metric = next((name for name in (*TASKS.get(task, ()), task) if name in scores), None)
        if metric is None:
            continue
        means = {item: float(np.mean([*values.values()])) for item, values in table.items() if values}
        judged += _judged(task, metric, means, scores[metric])
        calibrated[task, metric] = _calibrated(means, scores[metric], stratified=bool(by))
    if not judged:
        known = ", ".join(sorted(scores)) or "none"
        raise UsageError(f"{run} has no metric for {', '.join(by_task)} and the labelled questions (metrics: {known}).")
    return ExpertAgreement(agreed, tuple(judged), calibrated)


def _read(labels: Any, scale: tuple[float, float]) -> dict[str, dict[str, dict[str, float]]]:
    """Task → question id → expert → label, from 0 to 1."""
    low, high = scale
    if not low < high:
        raise UsageError(f"The scale {low:g}..{high:g} should go from the lowest to the highest label.")
    name = str(labels) if isinstance(labels, str | Path) else "the labels"
    table: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for data_row in Rows(open_source(labels)).take():
        row, where = data_row.cells, data_row.where
        if data_row.problem:
            raise DataError(name, f"{where}: {data_row.problem}")
        item, expert = _text(row, "id", where, name), _text(row, "expert", where, name)
        for task, value in _tasks(row):
            number = _number(value, where, name)
            if number is None:
                table[task][item]
                continue
            if not low <= number <= high:
                raise DataError(name, f"{where}: the label {value!r} is outside of {low:g}..{high:g}; set the scale.")
            table[task][item][expert] = (number - low) / (high - low)
    if not any(values for items in table.values() for values in items.values()):
        raise UsageError(
            f"{name} has no label. Expected columns: id, expert, and task and label, or a column per task."
        )
    return table


def _text(row: Mapping[str, Any], column: str, where: str, name: str) -> str:
    value = row.get(column)
    if value in (None, ""):
        raise DataError(name, f"{where} has no {column}; expected columns: id, expert, and task and label.")
    return str(value)


def _tasks(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if "task" in row and "label" in row:
        yield str(row["task"]), row["label"]
        return
    yield from ((key, value) for key, value in row.items() if key not in ("id", "expert", "comment", "seconds"))


def _number(value: Any, where: str, name: str) -> float | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _BLANK):
        return None
    known = _WORDS.get(str(value).strip().lower())
    try:
        number = float(value) if known is None else known
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(name, f"{where}: the label {str(value)[:40]!r} is neither yes or no nor a number.")
    return number


def _agreed(task: str, items: Mapping[str, Mapping[str, float]]) -> Agreed:
    experts = sorted({expert for values in items.values() for expert in values})
    several = {item: values for item, values in items.items() if len(values) > 1}
    ratings = np.array([[values.get(expert, math.nan) for expert in experts] for values in several.values()])
    ratings = ratings.reshape(len(several), len(experts))
    pairs = [(a, b) for values in several.values() for n, a in enumerate(values.values())
             for b in list(values.values())[n + 1 :]]  # fmt: skip
    two = len(experts) == 2
    statistics: dict[str, Any] = {
        "kappa": _with_interval(lambda rows: weighted_kappa(*_two(rows), "none"), ratings)
        if two
        else _with_interval(fleiss_kappa, ratings),
        "weighted_kappa": _with_interval(lambda rows: weighted_kappa(*_two(rows)), ratings) if two else None,
        "alpha_nominal": _with_interval(lambda rows: alpha(rows, "nominal"), ratings),
        "alpha_ordinal": _with_interval(lambda rows: alpha(rows, "ordinal"), ratings),
        "alpha_interval": _with_interval(lambda rows: alpha(rows, "interval"), ratings),
        "pearson": _with_interval(lambda rows: pearson(*_two(rows)), ratings) if two else None,
        "spearman": _with_interval(lambda rows: spearman(*_two(rows)), ratings) if two else None,
    }
    disputed = sorted(several, key=lambda item: -float(np.ptp([*several[item].values()])))
    return Agreed(
        task, len(several), tuple(experts), sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan,
        statistics,
        tuple(item for item in disputed if len({*several[item].values()}) > 1),
    )  # fmt: skip


def _two(rows: Array) -> tuple[Array, Array]:
    rated = complete(rows)
    return rated[:, 0], rated[:, 1]


def _with_interval(statistic: Any, rows: Array) -> tuple[float, float | None, float | None] | None:
    value = statistic(rows) if len(rows) else None
    if value is None:
        return None
    interval = bootstrap(statistic, rows)
    return (value, None, None) if interval is None else (value, *interval)


@dataclass
class _Scored:
    """The scores of a metric: question → value, and the language, length and stratum of each question."""

    values: dict[str, float] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    strata: dict[str, str] = field(default_factory=dict)


def _scores(path: Path, system: str | None, by: str) -> dict[str, _Scored]:
    found: dict[str, _Scored] = defaultdict(_Scored)
    with open_checked(path) as opened:
        run = viewed(opened)
        names = list(run.systems)
        if system is None and len(names) > 1:
            raise UsageError(f"{path} has {len(names)} systems: name one with --system; it has: {', '.join(names)}.")
        if system is not None and system not in names:
            raise UsageError(f"{path} has no system {system!r}; it has: {', '.join(names)}.")
        for record in run.records(system=system or names[0]):
            sample, response = record.case.sample, record.response
            columns = sample.meta.get("columns")
            stratum = str(columns.get(by, "")) if isinstance(columns, Mapping) else ""
            for name, score in record.scores.items():
                if score.value is not None and response is not None:
                    one = found[name]
                    one.values[sample.id] = score.value
                    one.languages[sample.id] = sample.language or detect(sample.question)
                    one.lengths[sample.id] = len(response.answer)
                    one.strata[sample.id] = stratum
    return found


def _judged(task: str, metric: str, means: Mapping[str, float], scored: _Scored) -> list[JudgeAgreement]:
    """The agreement in all questions, by language, and of shorter and longer answers."""
    items = [item for item in means if item in scored.values]
    if not items:
        return []
    middle = float(np.median([scored.lengths[item] for item in items]))
    parts = {"": items}
    for language in sorted({scored.languages[item] for item in items}):
        parts[language] = [item for item in items if scored.languages[item] == language]
    parts["short"] = [item for item in items if scored.lengths[item] <= middle]
    parts["long"] = [item for item in items if scored.lengths[item] > middle]
    return [_one_judged(task, metric, part, some, means, scored) for part, some in parts.items()
            if some and (not part or len(some) < len(items))]  # fmt: skip


def _one_judged(
    task: str, metric: str, part: str, items: Sequence[str], means: Mapping[str, float], scored: _Scored
) -> JudgeAgreement:
    people = np.array([means[item] for item in items])
    judge = np.array([scored.values[item] for item in items])
    both = np.stack([people >= _HALF, judge >= _HALF], axis=1).astype(float)
    called, is_wrong = judge < _HALF, people < _HALF
    hits = int((called & is_wrong).sum())
    differ = sorted(items, key=lambda item: -abs(means[item] - scored.values[item]))
    return JudgeAgreement(
        task, metric, part, len(items), _with_interval(lambda rows: weighted_kappa(*_two(rows), "none"), both),
        Estimate.of_difference([float(value) for value in judge - people]),
        Estimate.of_count(hits, int(called.sum())), Estimate.of_count(hits, int(is_wrong.sum())),
        pearson(people, judge),
        tuple(item for item in differ if (means[item] >= _HALF) != (scored.values[item] >= _HALF)),
    )  # fmt: skip


def _calibrated(means: Mapping[str, float], scored: _Scored, *, stratified: bool) -> Calibrated | str:
    """The calibrated mean, or the reason why there is none."""
    both = [item for item in means if item in scored.values]
    rest = [item for item in scored.values if item not in means]
    if len(both) < LEAST_LABELS:
        return f"{len(both)} of {LEAST_LABELS} labels"
    strata = ([scored.strata[item] for item in both], [scored.strata[item] for item in rest]) if stratified else None
    values = scored.values
    return calibrated_mean(
        [means[item] for item in both], [values[item] for item in both], [values[item] for item in rest], strata=strata
    )
