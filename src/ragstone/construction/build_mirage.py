"""`build_mirage`: MIRAGE's data set from published questions and a Wikipedia dump."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ragstone.construction.benchmarks import ConstructionPlugin
from ragstone.construction.builders.mirage.pipeline import MappedQuestion, map_questions, mirage_pipeline, mirage_rows
from ragstone.construction.builders.mirage.qa_sets import read_qa_set
from ragstone.construction.builders.pipeline import PassYield, Pipeline, Rejected, State
from ragstone.construction.builders.steps import Role
from ragstone.construction.built_files import QUESTIONS, chunk_row, question_row, write_rows
from ragstone.construction.construction import construct, keep_report, output_folder
from ragstone.datasets.mirage import write_mirage
from ragstone.datasets.tabular import read_eval_data
from ragstone.engine.execute import DEFAULTS, RunOptions
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_result import RunResult
from ragstone.errors import UsageError
from ragstone.labels import Label, LabelStore, items_of, task_named
from ragstone.labels.items import candidates, records_of_data
from ragstone.labels.sampling import draw
from ragstone.models import ModelOptions
from ragstone.types import Model

_TASK, _LABELLED = "relevant", 200
_DOCUMENTS = "documents.jsonl"  # `corpus.jsonl` beside questions would be a collection of BEIR


@dataclass(frozen=True)
class MirageBuild:
    """A construction before anything is asked: the mapped questions, and those that have no article."""

    pipeline: Pipeline
    unmapped: tuple[Rejected, ...]
    models: Mapping[Role, str | Model]
    output: Path


@dataclass(frozen=True, repr=False)
class BuiltMirage(RunResult):
    """Constructed data. `questions`: their number, None if the construction is unfinished."""

    questions: int | None = None


def plan_mirage_build(
    questions: Sequence[str | Path],
    dump: str | Path,
    output: str | Path,
    models: Mapping[Role, str | Model],
    *,
    size: int = 7_560,
    changed_after: str = "",
) -> MirageBuild:
    """Reads the questions and maps them to articles of the dump. Raises UsageError and DataError."""
    paths = [Path(path) for path in questions]
    for path in (*paths, Path(dump)):
        if not path.is_file():
            raise UsageError(f"{path}: there is no such file.")
    if not paths:
        raise UsageError("Name at least one file of published questions.")
    folder = output_folder(output)
    source = [question for path in paths for question in read_qa_set(path)]
    mapped, unmapped = map_questions(source, Path(dump), changed_after=changed_after)
    if not mapped:
        raise UsageError(f"{dump} has no article for any of the {len(source)} questions.")
    return MirageBuild(mirage_pipeline(mapped, size=size), tuple(unmapped), models, folder)


async def run_mirage_build(plan: MirageBuild, how: RunOptions = DEFAULTS, *, retriever: str = "bm25") -> BuiltMirage:
    """Runs the plan and writes `dataset.json`, `doc_pool.json`, `oracle.json` and `rejected.jsonl`; for `run` and
    `diagnose`, `questions.jsonl` and `documents.jsonl`; and `labels.sqlite` with the labels of 200 questions, for
    people to label the same chunks (`ragstone annotate`)."""
    plan.output.mkdir(parents=True, exist_ok=True)
    path = how.path(lambda: plan.output / "build.run")
    mapped = len(plan.pipeline.start)
    before = State((), plan.unmapped, (PassYield("map", mapped + len(plan.unmapped), mapped),))
    how = dataclasses.replace(how, run=path, model_options=how.calling())
    done = await construct(plan.pipeline, plan.models, before=before, retriever=retriever, how=how)
    plugin = ConstructionPlugin()
    if not done.complete:
        return BuiltMirage(path, done.outcome, benchmark=plugin)
    items: Sequence[MappedQuestion] = done.state.items
    write_mirage(plan.output, *mirage_rows(items))
    checker = plan.models["checker"]
    if items:
        _keep_labels(plan.output / "labels.sqlite", items, checker if isinstance(checker, str) else checker.id)
    write_rows(plan.output / QUESTIONS, map(_question_row, items))
    write_rows(plan.output / _DOCUMENTS, map(chunk_row, plan.pipeline.corpus))
    write_rows(plan.output / "rejected.jsonl", map(msgspec.to_builtins, done.state.rejected))
    keep_report(path, done.state, len(items))
    return BuiltMirage(path, done.outcome, benchmark=plugin, questions=len(items))


def _keep_labels(path: Path, items: Sequence[MappedQuestion], checker: str) -> None:
    """Adds the labels of a sample of the questions to a file of labels, as those of an expert with the checker's name.
    What people have labelled there stays, and each chunk still lacks the label of one of them."""
    rows = [
        {"id": item.id, "question": item.question.question, "reference": list(item.question.answers),
         "contexts": [{"id": str(number), "title": chunk.title, "text": chunk.text}
                      for number, chunk in enumerate(item.chunks, 1)]}
        for item in items
    ]  # fmt: skip
    data, task = read_eval_data(rows), task_named(_TASK)
    records = list(records_of_data(data.items))
    chosen = draw(candidates(records, {task.kind}), _LABELLED, "random", seed=0)
    support = {(item.id, str(number)): yes for item in items for number, yes in enumerate(item.support, 1)}
    with LabelStore.open(path) as store:
        store.add_tasks([task])
        store.add_samples(data.items)
        store.set("mapping", data.mapping)
        # The source has one name, so that a chunk keeps its id in a set that grew.
        added = store.add_items(items_of(records, chosen, source="mirage", seed=0, by="random"))
        store.set("draw", {"sample": _LABELLED, "by": "random", "strata": "language", "seed": 0, "added": added})
        store.set("per_item", 2)
        origins = store.origins()
        for item in store.items(_TASK):
            origin = origins[item.id]
            if (supports := support.get((origin.sample_id, origin.passage))) is not None:
                label = Label(item.id, _TASK, checker, "yes" if supports else "no", source="build mirage")
                store.put(label, uid=label.uid)


def _question_row(item: MappedQuestion) -> dict[str, Any]:
    source = item.question
    row = question_row(item.id, source.question, [source.answers], item.language, item.supporting)
    return {**row, "source": source.source}


@public
async def build_mirage_async(
    questions: str | Path | Sequence[str | Path],
    dump: str | Path,
    output: str | Path,
    model: str | Model,
    *,
    size: int = 7_560,
    changed_after: str = "",
    retriever: str = "bm25",
    run: str | Path | None = None,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
) -> BuiltMirage:
    """Construct MIRAGE's data set, as Park et al. 2025 describe in section 3.

    `questions`: files of PopQA, Natural Questions, TriviaQA, IfQA or DROP as they are published. `dump`: a Wikipedia
    dump, `pages-articles.xml.bz2`. `model` labels the chunks and reads. `size`: the most questions. `changed_after`:
    use only articles whose revision is later than this date (ISO). The same call resumes. Raises `RagstoneError`s, one
    line each.
    """
    models: dict[Role, str | Model] = {"writer": model, "checker": model}
    paths: Any = [questions] if isinstance(questions, str | Path) else questions
    plan = plan_mirage_build(paths, dump, output, models, size=size, changed_after=changed_after)
    return await run_mirage_build(plan, RunOptions(run, model_options, concurrency), retriever=retriever)


build_mirage = blocking(build_mirage_async, name="build_mirage")
"""`ragstone build mirage`."""
