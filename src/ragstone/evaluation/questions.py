"""`run`: ask a system the user's own questions, and score its answers."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from ragstone.benchmarks.recorded.benchmark import OwnQuestions, RecordedRow
from ragstone.datasets.tabular import EvalData
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.batches import price_in_batches
from ragstone.engine.execute import DEFAULTS, Job, RunOptions, Shell, asking, default_name, execute, limited
from ragstone.engine.judge_tools import Judging
from ragstone.engine.project_config import asked_system
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_info import prices_and_gates
from ragstone.errors import UsageError
from ragstone.evaluation.evaluate import EvalResult, check_columns, default_metrics
from ragstone.evaluation.extension import Extension, extension_of
from ragstone.evaluation.gold_documents import with_gold_documents
from ragstone.messages import checked_language, messages, preferred_language
from ragstone.metrics.judge.panel import Combine
from ragstone.models import ModelOptions
from ragstone.prices import read_price
from ragstone.retrieval.corpus import read_corpus
from ragstone.systems import check_system, system_settings
from ragstone.systems.rag import RagTarget
from ragstone.systems.with_retriever import SystemTarget
from ragstone.types import NO_ANSWER, Embedder, Metric, Model


@dataclass(frozen=True)
class QuestionPlan:
    """Questions and the system that is to answer them, before any of them is asked."""

    data: EvalData
    benchmark: OwnQuestions
    system: Any
    metrics: tuple[str | Metric, ...]
    judging: Judging

    @property
    def model(self) -> Any:
        """What `--price` is the price of: the model of a retriever with a model, else the system."""
        return self.system.model if isinstance(self.system, RagTarget) else self.system


def plan_questions(
    data: EvalData,
    system: Any,
    metrics: Sequence[str | Metric] | None,
    judging: Judging,
    *,
    data_language: str = "",
    group_by: Sequence[str] = (),
    repeat: int = 1,
    by_shape: bool = True,
) -> QuestionPlan:
    """Checks everything that can be checked before the system is opened. Raises UsageError. `by_shape`: see
    `with_gold_documents`."""
    check_system(system)
    if (system.system if isinstance(system, SystemTarget) else system) == "local/extractive":
        raise UsageError(
            "local/extractive has no retriever. Name your documents instead: --corpus FOLDER asks it about them."
        )
    if data_language:
        checked_language(data_language)
    check_columns(data, group_by)
    rows = []
    for item in data.items:
        sample = replace(item.sample, language=data_language) if data_language else item.sample
        rows.append(RecordedRow(item.row, sample, None, item.history, item.extra))
    corpus = read_corpus(system.corpus) if isinstance(system, RagTarget) else None
    rows, warnings = with_gold_documents(rows, data.items, corpus, by_shape=by_shape)
    requested = tuple(metrics or ())
    if not requested and not judging.rubrics:
        requested = default_metrics(rows, judging)
    judging.check(requested)
    warnings = [*(note for note in data.warnings if note not in data.of_contexts), *warnings]
    if corpus is not None:
        warnings += corpus.warnings
        system = dataclasses.replace(system, corpus=corpus)
    answered = [item.response for item in data.items if item.response is not None]
    if recorded := sum(response.finish_reason != NO_ANSWER for response in answered):
        texts = messages(__name__, preferred_language())
        warnings.append(texts["recorded"].format(count=recorded, total=len(rows)))
    benchmark = OwnQuestions(
        rows, data_name=data.name, sha256=data.sha256, language=data_language, repeat=repeat, group_by=tuple(group_by),
        mapping=data.mapping, warnings=tuple(warnings),
    )  # fmt: skip
    return QuestionPlan(data, benchmark, system, requested, judging)


def default_question_run(plan: QuestionPlan) -> Path:
    """The default run file, named after the questions and the system."""
    return default_name(plan.benchmark.name, {**plan.benchmark.question, "system": system_settings(plan.system)})


def fitted_questions(plan: QuestionPlan, path: Path) -> tuple[QuestionPlan, Extension]:
    """The plan with its rows numbered as in the run file, if that exists. Raises UsageError if its rows are others."""
    extension = extension_of(plan.data, path)
    rows = [replace(row, row=extension.number(row.row)) for row in plan.benchmark.rows]
    return dataclasses.replace(plan, benchmark=dataclasses.replace(plan.benchmark, rows=rows)), extension


async def run_questions(plan: QuestionPlan, how: RunOptions = DEFAULTS) -> EvalResult:
    """Runs the plan; by default the name of the run file is derived from the questions and the system."""
    path = how.path(lambda: default_question_run(plan))
    most = how.at_once([plan.system])
    options = how.calling(most)
    plan, extension = fitted_questions(plan, path)
    batch = options.batch is not None
    judge_price = price_in_batches(how.judge_price or how.price, plan.judging.judges, batch=batch)
    system_price = price_in_batches(how.price, [plan.model], batch=batch)
    info = prices_and_gates(judge_price, how.gates, system_price=system_price)
    job = Job(
        plan.benchmark, [plan.system], path, most, plan.metrics, plan.judging, options, info=info,
        replaces=extension.replaces, rows=extension.rows,
    )  # fmt: skip
    done = await execute(job, how.shell)
    return EvalResult(path, done.outcome, (*plan.benchmark.warnings, *done.notes), system=done.systems[0])


@public
async def run_async(
    questions: Any,
    system: Any,
    metrics: str | Sequence[str | Metric] | None = None,
    judge: str | Model | Sequence[str | Model] | None = None,
    *,
    retriever: Any = None,
    combine: Combine = "mean",
    embedder: str | Embedder | None = None,
    judge_protocol: Literal["matrix", "ragas"] = "matrix",
    verify: Literal["joint", "separate"] = "joint",
    prompts: str | Path | None = None,
    rubrics: str | Path | Sequence[str | Path] = (),
    run: str | Path | None = None,
    data_language: str = "",
    language: str | None = None,
    group_by: str | Sequence[str] = (),
    mapping: Mapping[str, str] | None = None,
    sample: int | None = None,
    limit: int | None = None,
    repeat: int = 1,
    timeout: float = 120.0,
    judge_base_url: str | Sequence[str] | None = None,
    embedder_base_url: str | Sequence[str] | None = None,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
    reasons: bool = False,
    strict_quotes: bool = False,
    max_requests: int | None = None,
    max_cost: float | None = None,
    price: str = "",
    judge_price: str = "",
    gates: Mapping[str, float] | None = None,
    sheet: str | None = None,
    split: str | None = None,
    references: Any = None,
    seed: int = 0,
    otlp: str = "",
    cluster: str = "",
    workers: int | None = None,
    shard: str = "",
) -> EvalResult:
    """Ask a system the user's questions, score its answers, and keep everything in one run file.

    `questions`: a path (CSV, JSONL, JSON, XLSX, Parquet…), a list of dicts or a data frame with a column of questions;
    references, labelled passages and other columns are used as in `evaluate`. `system`: a function or coroutine that
    takes a question; an object of LangChain, LlamaIndex, Haystack or DSPy; a `System`; `HttpTarget`; or a name:
    `file.py:name`, `package.module:name`, an HTTP address, a model, "local/extractive", or that of a table
    `[systems.NAME]` of `ragstone.toml`. Named code runs in a process of its own, a live object where it is.
    `retriever`: the one that the system uses, an object or a name (`app.py:search`, an address), for searches without
    an answer (`ragstone diagnose`). `timeout`: seconds for one answer. `repeat`: how often each question is asked.
    `concurrency`: questions asked at once (64). `price`: "IN/OUT[/CACHED]" per million tokens of the system's models
    and, unless `judge_price` says otherwise, of the judge.
    The other options are those of `evaluate`. An exception, a hang or a crash of the system is the error of that
    question; the run goes on. Raises `RagstoneError`s, one line each.
    """
    read_price(price, "price")
    judging = Judging.of(
        judge, embedder=embedder, protocol=judge_protocol, verify=verify, prompts=prompts, rubrics=rubrics,
        base_url=judge_base_url, embedder_base_url=embedder_base_url, language=data_language,
        reasons=reasons, strict_quotes=strict_quotes, combine=combine,
        price=read_price(judge_price),
    )  # fmt: skip
    plan = plan_questions(
        read_data(
            questions, mapping=mapping, limit=limit, sample=sample, seed=seed, sheet=sheet, split=split,
            references=references,
        ),
        asked_system(system, retriever),
        [metrics] if isinstance(metrics, str) else metrics,
        judging,
        data_language=data_language,
        group_by=[group_by] if isinstance(group_by, str) else group_by,
        repeat=repeat,
    )  # fmt: skip
    model_options = model_options or asking(timeout, concurrency)
    model_options = limited(model_options, max_requests, max_cost, read_price(price or judge_price))
    shell = Shell.of(language=language, otlp=otlp, cluster=cluster, workers=workers, shard=shard)
    return await run_questions(plan, RunOptions(run, model_options, concurrency, price, judge_price, gates, shell))


run = blocking(run_async, name="run")
