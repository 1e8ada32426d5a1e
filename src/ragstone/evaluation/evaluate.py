"""`evaluate`: score answers that exist already, into one run file."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragstone.benchmarks.recorded.aggregate import columns_of, display_order, tally_scores
from ragstone.benchmarks.recorded.benchmark import RecordedAnswers, RecordedRow
from ragstone.datasets.tabular import EvalData, retrieval_only_note
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.datasets.tabular.problems import places
from ragstone.datasets.tabular.traces.samples import SCHEMAS
from ragstone.engine.batches import price_in_batches
from ragstone.engine.execute import DEFAULTS, Job, RunOptions, Shell, cache_folder, default_name, execute, limited
from ragstone.engine.judge_tools import DEFAULT_EMBEDDER, Judging, family_of, name_of
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_info import prices_and_gates
from ragstone.engine.run_result import RunResult
from ragstone.errors import UsageError
from ragstone.evaluation.extension import Extension, extension_of
from ragstone.evaluation.recorded_rows import Contents, RecordedRows, Replies
from ragstone.messages import checked_language, messages, preferred_language
from ragstone.metrics.judge import Prompts
from ragstone.metrics.judge.panel import Combine
from ragstone.models import ModelOptions
from ragstone.prices import read_price
from ragstone.runs import open_run
from ragstone.systems.recorded import Recorded
from ragstone.types import Embedder, Metric, Model, Run

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class EvalResult(RunResult):
    """The result of an evaluation. `system`: the name of these answers in the run, which may hold others of the same
    data."""

    system: str = ""

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Metric → `mean`, `low`, `high` (95%, over samples), `n` scored of `total`, `failed`, `not_applicable`,
        `unsure` (of a rule that cannot tell), `unsupported_quotes` (scores that rest on a verdict whose quote is in
        no passage). `mean` is None where nothing was scored."""
        with open_run(self.run) as run:
            return self.summary_of(run)

    def summary_of(self, run: Run) -> dict[str, dict[str, Any]]:
        """`summary`, from the run as it is open: its scores are read once for all that asks for them."""
        counts = tally_scores(run)[self.system]
        summary = {}
        for name in counts.names:
            scores, mean = counts.metrics[name], counts.metrics[name].mean()
            summary[name] = {
                "mean": mean.value, "low": mean.low, "high": mean.high, "n": mean.n, "total": mean.total,
                "failed": scores.failed, "not_applicable": scores.not_applicable, "unsure": scores.unsure,
                "unsupported_quotes": scores.unsupported_quotes,
            }  # fmt: skip
        return summary

    @property
    def scores(self) -> list[dict[str, Any]]:
        """One dict a sample, in the order of the data: `id`, `question`, `answer`, its other columns, and the value
        of each metric (None where there is none; `METRIC.reason` says why)."""
        rows = []
        with open_run(self.run) as run:
            for record in run.records(system=self.system, texts=False):
                case = record.case
                row: dict[str, Any] = {
                    "id": case.sample.id, "question": case.sample.question,
                    "answer": None if record.response is None else record.response.answer,
                }  # fmt: skip
                row |= {**columns_of(record), **case.condition}
                for name in sorted(record.scores, key=display_order):
                    score = record.scores[name]
                    row[name] = score.value
                    if score.value is None:
                        row[f"{name}.reason"] = f"{score.status}: {score.reason}"
                rows.append(row)
        return rows

    def to_pandas(self) -> "pandas.DataFrame":
        """`scores` as a data frame. Needs pandas, which ragstone does not install."""
        return data_frame(self.scores)


def data_frame(rows: Sequence[Mapping[str, Any]]) -> "pandas.DataFrame":
    """The rows as a data frame. UsageError if pandas is not installed."""
    try:
        import pandas as pd  # noqa: PLC0415
    except ImportError:
        raise UsageError("to_pandas needs pandas, which is not installed: pip install pandas.") from None
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class EvalPlan:
    """An evaluation before it runs."""

    data: EvalData
    benchmark: RecordedAnswers
    system: Recorded
    metrics: tuple[str | Metric, ...]
    judging: Judging
    warnings: tuple[str, ...] = ()


def plan_evaluation(
    data: EvalData,
    metrics: Sequence[str | Metric] | None,
    judging: Judging,
    *,
    name: str = "",
    data_language: str = "",
    group_by: Sequence[str] = (),
    repeat: int = 1,
    system_model: str = "",
) -> EvalPlan:
    """Checks everything that can be checked before any model is opened. Raises UsageError."""
    if data_language:
        checked_language(data_language)
    check_columns(data, group_by)
    rows, texts = RecordedRows(data.items, data_language), messages(__name__, preferred_language())
    warnings = [*retrieval_only_note(rows.retrieval_only), *data.warnings]
    if unanswered := rows.unanswered:
        shown = ", ".join(unanswered[:5]) + ("…" if len(unanswered) > 5 else "")
        warnings.append(texts["unanswered"].format(count=len(unanswered), total=len(data.items), where=shown))
    if failed := rows.failed:
        shown = places(failed, len(failed), preferred_language())
        warnings.append(texts["recorded_errors"].format(count=len(failed), total=len(data.items), where=shown))
    if not rows:
        raise UsageError(f"{data.name} has no row with an answer to score.")
    requested = tuple(metrics or ())
    if not requested and not judging.rubrics:
        traced = data.schema in SCHEMAS
        requested = default_metrics(rows, judging, traced=traced)
        if traced and not any(row.sample.references for row in rows):
            names = "context_recall, answer_correctness" if judging.model is not None else "token_f1, rouge_l"
            warnings.append(messages(__name__, preferred_language())["no_references"].format(names=names))
    judging.check(requested)
    warnings += _family_warning(judging, rows, system_model)
    benchmark = RecordedAnswers(
        rows, data_name=data.name, sha256=data.sha256, language=data_language, repeat=repeat, group_by=tuple(group_by),
        mapping=data.mapping, warnings=tuple(warnings),
    )  # fmt: skip
    system = Recorded(name or data.name, Replies(rows), data.sha256, rows.errors)
    return EvalPlan(data, benchmark, system, requested, judging, tuple(warnings))


def fitted(plan: EvalPlan, path: Path) -> tuple[EvalPlan, Extension]:
    """The plan with its rows numbered as in the run file, if that exists. Raises UsageError if its rows are others."""
    extension = extension_of(plan.data, path, plan.system.id)
    assert isinstance(plan.benchmark.rows, RecordedRows)
    rows = plan.benchmark.rows.renumbered(extension.numbers)
    errors = {extension.number(row): error for row, error in plan.system.errors.items()}
    benchmark = dataclasses.replace(plan.benchmark, rows=rows)
    system = dataclasses.replace(plan.system, answers=Replies(rows), errors=errors)
    return dataclasses.replace(plan, benchmark=benchmark, system=system), extension


def check_columns(data: EvalData, group_by: Sequence[str]) -> None:
    """Raises UsageError if the data do not have one of these columns."""
    known = {column for item in data.items for column in item.extra} if group_by else ()
    for column in group_by:
        if column not in known:
            raise UsageError(
                f"--group-by {column}: {data.name} has no such column of single values"
                + (f"; there are: {', '.join(sorted(known)[:20])}." if known else ".")
            )


async def run_evaluation(plan: EvalPlan, how: RunOptions = DEFAULTS) -> EvalResult:
    """Runs the plan; by default the name of the run file is derived from the settings."""
    path = how.path(lambda: default_run(plan))
    plan, extension = fitted(plan, path)
    options = how.calling()
    price = price_in_batches(how.price, plan.judging.judges, batch=options.batch is not None)
    job = Job(
        plan.benchmark, [plan.system], path, how.at_once([plan.judging.model]), plan.metrics, plan.judging, options,
        info=prices_and_gates(price, how.gates), replaces=extension.replaces, rows=extension.rows,
    )  # fmt: skip
    done = await execute(job, how.shell)
    return EvalResult(path, done.outcome, (*plan.warnings, *done.notes), system=plan.system.id)


@public
async def evaluate_async(
    data: Any,
    metrics: str | Sequence[str | Metric] | None = None,
    judge: str | Model | Sequence[str | Model] | None = None,
    *,
    combine: Combine = "mean",
    embedder: str | Embedder | None = None,
    judge_protocol: Literal["matrix", "ragas"] = "matrix",
    verify: Literal["joint", "separate"] = "joint",
    prompts: str | Path | None = None,
    rubrics: str | Path | Sequence[str | Path] = (),
    run: str | Path | None = None,
    name: str = "",
    data_language: str = "",
    language: str | None = None,
    group_by: str | Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    sample: int | None = None,
    limit: int | None = None,
    repeat: int = 1,
    judge_base_url: str | Sequence[str] | None = None,
    embedder_base_url: str | Sequence[str] | None = None,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
    reasons: bool = False,
    strict_quotes: bool = False,
    max_requests: int | None = None,
    max_cost: float | None = None,
    price: str = "",
    gates: Mapping[str, float] | None = None,
    system_model: str = "",
    sep: str | None = None,
    sheet: str | None = None,
    split: str | None = None,
    qrels: str | Path | None = None,
    corpus: str | Path | None = None,
    references: Any = None,
    seed: int = 0,
    otlp: str = "",
    cluster: str = "",
    workers: int | None = None,
    shard: str = "",
) -> EvalResult:
    """Score existing answers and keep everything in one run file; results already in the file are not computed again.

    `data`: a path (JSONL, JSON, CSV, TSV, XLSX, Parquet, a Hugging Face folder), a list of dicts, a pandas or polars
    frame, or a data set; `mapping` assigns columns to ragstone's fields where their names do not tell. `metrics`: names
    listed by `ragstone metrics`, or your own; by default whatever the data and the judge allow. `judge`: a chat model,
    by name or your own `Model`, or several, whose scores `combine` ("mean", "majority", "each") puts together or keeps
    apart. `embedder`: local/e5-small by default, where a metric needs one. `judge_protocol`:
    "matrix" or "ragas". `verify`, `prompts`, `rubrics`, `reasons`, `strict_quotes`: see `Judging`. `run`: the run file;
    by default its name is derived from the settings. `data_language`: language of all rows, detected by default.
    `language`: language of tables and reports, "en" or "zh". `group_by`: columns to group by. `sample`, `limit`: number
    of rows, drawn with `seed` or taken from the start. `repeat`: how often the judge is asked, to measure its variance.
    `max_requests`, `max_cost`: the run stops there, and a larger limit resumes it. `price`: "IN/OUT[/CACHED]" per
    million tokens, for the cost table and for `max_cost`. `gates`: thresholds by metric; those of correctness decide
    which answers are right in reports and exports (else `answer_correctness` or a match of at least 0.5).
    `system_model`: the model that answered, where the data do not say; a judge of the same family causes a warning.
    `sep`: separator of several contexts in one cell; `sheet`: of a spreadsheet; `split`: of a data set with several;
    `qrels`, `corpus`: relevance labels and documents of a TREC run file. `references`: a file (or other data) with the
    references of these questions, joined by question or id. `otlp`: an endpoint that spans of the
    answers with their scores are sent to. `cluster`: has `workers` (one for each CPU) of a Ray cluster score: "local",
    "auto" or "ray://HOST:PORT". `shard`: "1/4" scores that quarter of the samples, and `merge` joins the four run
    files. Raises `RagstoneError`s, one line each.
    """
    read_price(price, "price")
    judging = Judging.of(
        judge, embedder=embedder, protocol=judge_protocol, verify=verify, prompts=prompts, rubrics=rubrics,
        base_url=judge_base_url, embedder_base_url=embedder_base_url, language=data_language,
        reasons=reasons, strict_quotes=strict_quotes, combine=combine,
    )  # fmt: skip
    read = read_data(
        data, mapping=mapping, limit=limit, sample=sample, seed=seed, sep=sep, sheet=sheet, split=split, qrels=qrels,
        corpus=corpus, references=references,
    )  # fmt: skip
    plan = plan_evaluation(
        read,
        [metrics] if isinstance(metrics, str) else metrics,
        judging,
        name=name,
        data_language=data_language,
        group_by=[group_by] if isinstance(group_by, str) else group_by,
        repeat=repeat,
        system_model=system_model,
    )
    shell = Shell.of(language=language, otlp=otlp, cluster=cluster, workers=workers, shard=shard)
    calling = limited(model_options or ModelOptions(cache=cache_folder()), max_requests, max_cost, read_price(price))
    return await run_evaluation(plan, RunOptions(run, calling, concurrency, price, gates=gates, shell=shell))


evaluate = blocking(evaluate_async, name="evaluate")


def default_metrics(rows: Sequence[RecordedRow], judging: Judging, *, traced: bool = False) -> tuple[str, ...]:
    """The metrics that the data allow: those that need references, labels or passages only if some row has them. A
    row that a system is yet to answer may have passages. Of traces without references, refusals are counted."""
    has = Contents()
    for row in rows:
        has.add(row)
    answers, passages = not has.responses or has.answers, not has.responses or has.passages
    references, labels = has.references, has.labels
    names: list[str] = []
    if judging.model is not None:
        names += ["faithfulness"] * (passages and answers) + ["answer_relevancy"] * answers
        names += ["context_precision"] * passages + ["context_recall"] * (passages and references)
        names += ["answer_correctness"] * (answers and references)
    if references and answers:
        names += [*(["exact_match", "answer_match"] if has.short_references else []), "token_f1", "rouge_l"]
    if labels:
        names += ["recall", "precision", "ndcg", "mrr"]
    if has.answerable or (traced and answers and not references):
        names.append("refusal")
    if not names:
        raise UsageError(
            "There is nothing to score without a judge: the data have no answers with references and no labels. "
            "Add --judge PROVIDER/MODEL."
        )
    return tuple(names)


def _family_warning(judging: Judging, rows: Sequence[RecordedRow], system_model: str) -> list[str]:
    judge = name_of(judging.model)
    family = family_of(judge)
    if not family:
        return []
    models = {system_model, *(row.response.model for row in rows if row.response is not None)} - {""}
    same = sorted(model for model in models if family_of(model) == family)
    if not same:
        return []
    texts = messages(__name__, preferred_language())
    return [texts["same_family"].format(judge=judge, family=family, model=same[0])]


def default_run(plan: EvalPlan) -> Path:
    """The default run file, named after data, judge and settings, but not the metrics: more may be added."""
    judging = plan.judging
    judge, embedder = name_of(judging.model), name_of(judging.embedder)
    how: list[Any] = []
    if judge:
        prompts = {} if judging.prompts is None else dict(Prompts.load(judging.prompts).spec)
        how = [judging.protocol, judging.verify, judging.budget or 0, prompts]
        others = [name_of(other) for other in judging.others]
        how += [others, judging.combine] if others else []
        how += [name for name in ("reasons", "strict_quotes") if getattr(judging, name)]
    settings = [plan.benchmark.question, plan.system.id, judge, embedder or DEFAULT_EMBEDDER, *how]
    return default_name(plan.benchmark.name, settings)
