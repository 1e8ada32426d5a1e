"""`diagnose`: ask a system the user's questions under changed conditions, and name the cause of each wrong answer."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragstone.analysis.gold_passages import CorpusIndex
from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.benchmarks.row_names import row_name
from ragstone.datasets.tabular import EvalData
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.diagnosis.gold_search import find_gold
from ragstone.diagnosis.interventions.advice import Fix, fixes
from ragstone.diagnosis.interventions.alarms import alarms_of
from ragstone.diagnosis.interventions.benchmark import Interventions, takes_of
from ragstone.diagnosis.interventions.causes import Cause
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.effect import Alarm
from ragstone.diagnosis.interventions.index import SystemIndex
from ragstone.diagnosis.interventions.question import Question
from ragstone.diagnosis.interventions.verification import SHOWN, Withdrawal, withdrawals
from ragstone.diagnosis.interventions.waterfall import Waterfall, waterfall
from ragstone.display import Table
from ragstone.engine.batches import price_in_batches
from ragstone.engine.execute import DEFAULTS, Executed, Job, RunOptions, Shell, asking, default_name, execute, limited
from ragstone.engine.judge_tools import Judging
from ragstone.engine.open_run import OpenRun
from ragstone.engine.project_config import asked_system
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_info import prices_and_gates
from ragstone.engine.run_result import RunResult
from ragstone.engine.slices import Slices, slices
from ragstone.errors import AllowanceSpent, UsageError
from ragstone.evaluation.evaluate import data_frame, plan_evaluation
from ragstone.evaluation.questions import plan_questions
from ragstone.messages import LANGUAGES, messages, preferred_language
from ragstone.models import ModelOptions
from ragstone.prices import read_price
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import NO_CORPUS, Corpus, read_corpus
from ragstone.retrieval.index_list import read_index
from ragstone.runs import open_run
from ragstone.systems import accepts_of, open_system, system_settings
from ragstone.systems.probes import probe_interventions
from ragstone.systems.rag import RagTarget, rag_target
from ragstone.types import Embedder, Metric, Model, System

if TYPE_CHECKING:
    import pandas

_TRIED = ("passages", "k", "retrieve")
_ROUNDS = 2 * len(CONDITIONS)  # each asks one more condition of every question that waits
_CHUNK = 330  # tokens of the chunks in which a corpus is searched for gold passages


@dataclass(frozen=True, repr=False)
class DiagnosisResult(RunResult):
    """The result of a diagnosis. `system`: the system's id in the run."""

    system: str = ""

    @cached_property
    def questions(self) -> list[Diagnosed]:
        """Every question with its evidence and its cause."""
        with self.open() as opened:
            benchmark = opened.benchmark
            assert isinstance(benchmark, Interventions)
            return benchmark.diagnosed(opened.run, self.system)

    def open(self) -> OpenRun:
        """Open the run. What was diagnosed before is not diagnosed again."""
        opened = super().open()
        if "questions" in vars(self) and isinstance(opened.benchmark, Interventions):
            opened.benchmark.keep(opened.run, self.system, self.questions)
        return opened

    def causes(self) -> dict[str, Cause]:
        """Question id → the primary cause ("healthy" where the answer is right)."""
        return {item.id: item.cause for item in self.questions}

    def waterfall(self) -> Waterfall:
        """The share right as is, what each step would gain, and what remains wrong."""
        return waterfall(self.questions)

    def fixes(self) -> list[Fix]:
        """What fixing each cause would buy, the largest gain first."""
        return fixes(self.questions)

    def withdrawn(self) -> list[Withdrawal]:
        """The conditions that did not take effect, on which questions and why."""
        return withdrawals([item.evidence for item in self.questions])

    def alarms(self) -> tuple[Alarm, ...]:
        """What in the answers contradicts itself, so that no advice is built on it."""
        return alarms_of(self.questions)

    def slices(self) -> Slices:
        """The topics, documents, columns… whose answers fail more than the rest."""
        return next(found for found in slices(self.run) if found.system == self.system)

    def stages(self) -> Table:
        """In how many questions the gold was in the index, fetched, in the prompt, and the answer right."""
        return next(table for table in self.tables(language="en") if table.id == "diagnosis-stages")

    def to_pandas(self) -> "pandas.DataFrame":
        """A row per question: id, question, answer, cause, stage that lost the gold, labels, confidence, outcomes."""
        return data_frame([_row(item) for item in self.questions])


def _row(item: Diagnosed) -> dict[str, Any]:
    first = item.evidence.first
    return {
        "id": item.id, "question": item.evidence.sample.question, "answer": None if first is None else first.answer,
        "cause": item.cause.name, "also": ", ".join(item.cause.also), "lost": item.lost,
        "missing": item.cause.missing, "labels": ", ".join(item.labels),
        "confidence": item.confidence, "gold_found": item.found,
        **{name: item.evidence.outcome(name) for name in item.evidence.records if item.right(name) is not None},
    }  # fmt: skip


@dataclass(frozen=True)
class DiagnosisPlan:
    """A diagnosis before anything is asked. `corpus`: the true documents, in which gold passages are looked up.
    `index`: what the system can find. `recorded`: the answers exist, and nothing can be asked."""

    data: EvalData
    rows: Sequence[RecordedRow]
    system: Any
    metrics: tuple[str | Metric, ...]
    judging: Judging
    corpus: Corpus | None
    index: Corpus | None
    chunk: int
    full: bool
    warnings: tuple[str, ...]
    recorded: bool = False


def has_answers(data: EvalData) -> bool:
    """Whether some row has an answer of a system, or the error that it ended with."""
    return any(item.response is not None or item.error for item in data.items)


def plan_diagnosis(
    data: EvalData,
    system: Any,
    metrics: Sequence[str | Metric] | None,
    judging: Judging,
    *,
    corpus: str | Path | Corpus | None = None,
    index: Corpus | None = None,
    data_language: str = "",
    full: bool = False,
) -> DiagnosisPlan:
    """Checks everything that can be checked before the system is opened. `system` None or "recorded": the data have the
    answers. `index`: as `read_index` lists it; that of `rag(…)` is otherwise its own documents. Raises UsageError."""
    if not any(item.sample.references or item.sample.meta.get("answerable") is False for item in data.items):
        raise UsageError(
            f"{data.name} has no references, so nothing tells which answers are wrong. Add a column `reference`."
        )
    requested = tuple(metrics or (("answer_correctness",) if judging.model is not None else ("answer_match",)))
    recorded = system is None or system == "recorded"
    plan: Any
    if recorded and not has_answers(data):
        raise UsageError(
            f"{data.name} has no answers, so name a system to ask: --system app.py:ask, or --corpus with a folder of "
            "documents."
        )
    if recorded:
        plan = plan_evaluation(data, requested, judging, data_language=data_language)
    else:
        plan = plan_questions(data, system, requested, judging, data_language=data_language, by_shape=False)
    warnings = plan.benchmark.warnings
    if system is None:
        warnings = (messages(__name__, preferred_language())["recorded"], *warnings)
    chunk = _CHUNK
    if isinstance(plan.system, RagTarget):
        own, chunk = read_corpus(plan.system.corpus), plan.system.chunk
        corpus = corpus or own
        if index is None and own.passages:  # its settings have the documents' hash
            index = Corpus(own.name, tuple(chunk_passages(own.passages, size=chunk)), "")
    documents = index if corpus is None else read_corpus(corpus)
    return DiagnosisPlan(
        data, plan.benchmark.rows, plan.system, requested, judging, documents, index, chunk, full, warnings, recorded,
    )  # fmt: skip


async def run_diagnosis(plan: DiagnosisPlan, how: RunOptions = DEFAULTS) -> DiagnosisResult:
    """Runs the plan in rounds: each asks what the answers before it have shown to be needed. Of a shard of the rows,
    all answers to a question are asked."""
    most = how.at_once([plan.system])
    options = how.calling(most)
    corpus = None
    if plan.corpus is not None:
        corpus = CorpusIndex.of(plan.corpus.passages, chunk_passages(plan.corpus.passages, size=plan.chunk))
    index = None if plan.index is None else SystemIndex(plan.index.passages)
    questions = await find_gold(plan.rows, corpus, plan.judging, options, how.shell.shard, index)
    del corpus, index  # their chunks and words are not needed any more
    if plan.recorded:
        questions = [dataclasses.replace(question, recorded=True) for question in questions]
    benchmark = Interventions(
        questions, len(plan.rows), data_name=plan.data.name, sha256=plan.data.sha256, warnings=plan.warnings,
        full=plan.full, corpus=plan.corpus.sha256 if plan.corpus is not None else "",
        index=plan.index.sha256 if plan.index is not None else "", gates=_correctness(how.gates),
    )  # fmt: skip
    question = {**benchmark.question, "system": "recorded" if plan.recorded else system_settings(plan.system)}
    path = how.path(lambda: default_name("diagnosis", question))
    price = price_in_batches(how.price, [plan.system, *plan.judging.judges], batch=options.batch is not None)
    info = prices_and_gates(price, how.gates)
    async with AsyncExitStack() as stack:
        stack.enter_context(how.shell.staying())
        opened = open_system(plan.system, template=benchmark.template, options=options)
        system = await stack.enter_async_context(opened)
        # What users get is asked first, of every question: a system that keeps answers gives what it was asked before.
        known = {system.id: frozenset[str]()} if plan.recorded else _known(path)
        benchmark = dataclasses.replace(benchmark, takes=known)
        rounds = dataclasses.replace(how.shell, shard=None)  # the benchmark has the questions of the shard alone
        job = Job(
            benchmark, [system], path, most, plan.metrics, plan.judging, options, info=info, sources=[plan.system],
        )  # fmt: skip
        done = await execute(job, rounds)
        try:
            if not plan.recorded and not _is_stopped(done):
                takes, notes = await _allowed(system, path, questions, how.shell.language)
                benchmark = dataclasses.replace(benchmark, takes=takes, warnings=(*plan.warnings, *notes))
        except AllowanceSpent as spent:
            done = dataclasses.replace(done, outcome=dataclasses.replace(done.outcome, refused=(spent,)))
        for number in range(_ROUNDS):
            if plan.recorded or _is_stopped(done):
                break
            with open_run(path) as before:
                benchmark = benchmark.grown(before, system.id)
            if number and not benchmark.waiting:
                break
            failed = any(one.failed and "as_is" in one.right for one in benchmark.standings.values())
            job = dataclasses.replace(job, benchmark=benchmark, retry_failed=failed and not number)
            done = await execute(job, rounds)
    warnings = (*benchmark.warnings, *filter(None, [how.shell.part()]))
    return DiagnosisResult(path, done.outcome, warnings, system=system.id)


def _is_stopped(done: Executed) -> bool:
    return done.outcome.interrupted or bool(done.outcome.refused)


def _known(path: Path) -> dict[str, frozenset[str]]:
    """What earlier commands on the run found that its systems take."""
    if not path.exists() or not path.stat().st_size:
        return {}
    with open_run(path) as run:
        return takes_of(run.meta)


async def _allowed(
    system: System, path: Path, questions: Sequence[Question], language: str | None
) -> tuple[dict[str, frozenset[str]], tuple[str, ...]]:
    """What each system of the run takes, with this one: tried once with at most five questions, and a note on what it
    does not take. The run remembers it. Of the user's questions one is used that was answered as it is, if any was."""
    with open_run(path) as run:
        known, warned = takes_of(run.meta), run.meta.get("warnings", [])
        if system.id in known:
            return known, _noted(known[system.id], warned, language)
        found = ((one, run.find([(system.id, f"{row_name(one.row)}/as_is")])[0]) for one in questions)
        answered = ((one, record.response) for one, record in found if record and record.response)
        question, as_is = next(answered, (None, None))
    if question is None:
        return known, ()
    probes = await probe_interventions(system, question.query, as_is)
    names = [name for name in _TRIED if probes[name].outcome in ("works", "unknown")]
    texts = messages(__name__, language or preferred_language())
    notes = [texts[f"{name}_{probes[name].outcome}"] for name in _TRIED if name not in names]
    shown = {SHOWN} if probes["passages"].outcome == "works" else set()
    takes = frozenset({*names, *shown, "repeat", *(accepts_of(system) & {"history", "language"})})
    return {**known, system.id: takes}, tuple(notes)


def _noted(takes: frozenset[str], warned: Collection[str], language: str | None) -> tuple[str, ...]:
    """The notes that earlier commands on the run left (`warned`) on what the system does not take."""
    texts = messages(__name__, language or preferred_language())
    keys = [key for key in texts for name in _TRIED if name not in takes and key.startswith(f"{name}_")]
    return tuple(texts[key] for key in keys if any(messages(__name__, known)[key] in warned for known in LANGUAGES))


def _correctness(gates: Mapping[str, float] | None) -> dict[str, float]:
    return {name: limit for name, limit in (gates or {}).items() if not name.startswith("cause.")}


@public
async def diagnose_async(
    questions: Any,
    system: Any = None,
    metrics: str | Sequence[str | Metric] | None = None,
    judge: str | Model | Sequence[str | Model] | None = None,
    *,
    retriever: Any = None,
    corpus: str | Path | Corpus | None = None,
    index: Any = None,
    plan: Literal["adaptive", "full"] = "adaptive",
    budget: float | None = None,
    price: str = "",
    embedder: str | Embedder | None = None,
    judge_base_url: str | Sequence[str] | None = None,
    run: str | Path | None = None,
    data_language: str = "",
    language: str | None = None,
    mapping: Mapping[str, str] | None = None,
    sample: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    references: Any = None,
    timeout: float = 120.0,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
    max_requests: int | None = None,
    gates: Mapping[str, float] | None = None,
    cluster: str = "",
    workers: int | None = None,
    shard: str = "",
) -> DiagnosisResult:
    """Ask a system the user's questions under changed conditions, name the cause of each wrong answer, and price fixes.

    `questions`, `system`, `retriever`, `judge` and the options that are not named here: as in `run`. Without a system
    the answers that the data have, such as traces, are diagnosed as far as that needs no asking. Questions need
    references; gold passages come from labels, else from `corpus`, the true documents (a folder or a file). `index`:
    what the system can find, to tell missing and old documents: a folder, a file, a list of passages, a function that
    returns one, a vector store, or a name such as "app.py:chunks" or "qdrant(http://…,collection=docs)"; `rag(…)` is
    built over it, and without it over the corpus.
    `metrics`: those that decide what is right, "answer_correctness" with a judge, else "answer_match". `plan`
    "adaptive" asks only what can change a verdict, "full" every condition that the system allows. `budget`: the most
    that models may cost, in the currency of `price` ("IN/OUT[/CACHED]" per million tokens); a larger one resumes.
    `shard`: "1/4" diagnoses that quarter of the questions, and `merge` joins the four run files.
    Raises `RagstoneError`s, one line each.
    """
    per_token = read_price(price, "price")
    if plan not in ("adaptive", "full"):
        raise UsageError(f"Unknown plan {plan!r}: choose adaptive or full.")
    judging = Judging.of(judge, embedder=embedder, base_url=judge_base_url, language=data_language)
    listed = None if index is None else await read_index(index, asking(timeout))
    if isinstance(system, str) and system.startswith("rag("):
        system = rag_target(system, listed or corpus or NO_CORPUS)
    planned = plan_diagnosis(
        read_data(questions, mapping=mapping, limit=limit, sample=sample, seed=seed, references=references),
        asked_system(system, retriever, listed or (corpus if isinstance(system, str) else None)),
        [metrics] if isinstance(metrics, str) else metrics,
        judging,
        corpus=corpus,
        index=listed,
        data_language=data_language,
        full=plan == "full",
    )
    model_options = limited(model_options or asking(timeout, concurrency), max_requests, budget, per_token)
    shell = Shell.of(language=language, cluster=cluster, workers=workers, shard=shard)
    return await run_diagnosis(planned, RunOptions(run, model_options, concurrency, price, gates=gates, shell=shell))


diagnose = blocking(diagnose_async, name="diagnose")
"""`ragstone diagnose`."""
