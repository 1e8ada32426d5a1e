"""`build_mirage`: MIRAGE's data set from published questions and a Wikipedia dump."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ragstone.api.blocking import blocking, public
from ragstone.api.construction import construct, keep_report
from ragstone.api.execute import Shell, cache_folder
from ragstone.api.run_result import RunResult
from ragstone.benchmarks.construction import ConstructionPlugin
from ragstone.builders.mirage.items import MappedQuestion
from ragstone.builders.mirage.mapping import map_questions
from ragstone.builders.mirage.pipeline import mirage_pipeline, mirage_rows
from ragstone.builders.mirage.qa_sets import read_qa_set
from ragstone.builders.pipeline import PassYield, Pipeline, Rejected, State
from ragstone.builders.steps import Role
from ragstone.datasets.mirage import write_mirage
from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.storage import replacing
from ragstone.types import Model

__all__ = ["BuiltMirage", "MirageBuild", "build_mirage", "build_mirage_async", "plan_mirage_build", "run_mirage_build"]


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
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: -o names a folder.")
    source = [question for path in paths for question in read_qa_set(path)]
    mapped, unmapped = map_questions(source, Path(dump), changed_after=changed_after)
    if not mapped:
        raise UsageError(f"{dump} has no article for any of the {len(source)} questions.")
    return MirageBuild(mirage_pipeline(mapped, size=size), tuple(unmapped), models, folder)


async def run_mirage_build(
    plan: MirageBuild,
    *,
    run: str | Path | None = None,
    retriever: str = "bm25",
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
    shell: Shell | None = None,
) -> BuiltMirage:
    """Runs the plan and writes `dataset.json`, `doc_pool.json`, `oracle.json`, the labels as a table for `ragstone
    agreement experts` (`labels.csv`), and `rejected.jsonl`."""
    plan.output.mkdir(parents=True, exist_ok=True)
    path = Path(run) if run is not None else plan.output / "build.run"
    mapped = len(plan.pipeline.start)
    before = State((), plan.unmapped, (PassYield("map", mapped + len(plan.unmapped), mapped),))
    done = await construct(
        plan.pipeline, plan.models, before=before, run=path, retriever=retriever,
        model_options=model_options or ModelOptions(cache=cache_folder()), concurrency=concurrency, shell=shell,
    )  # fmt: skip
    plugin = ConstructionPlugin()
    if not done.complete:
        return BuiltMirage(path, done.outcome, benchmark=plugin)
    items: Sequence[MappedQuestion] = done.state.items
    write_mirage(plan.output, *mirage_rows(items))
    checker = plan.models["checker"]
    _write(plan.output / "labels.csv", _labels(items, checker if isinstance(checker, str) else checker.id))
    lines = [json.dumps(msgspec.to_builtins(one), ensure_ascii=False) + "\n" for one in done.state.rejected]
    _write(plan.output / "rejected.jsonl", "".join(lines))
    keep_report(path, done.state, len(items))
    return BuiltMirage(path, done.outcome, benchmark=plugin, questions=len(items))


def _labels(items: Sequence[MappedQuestion], checker: str) -> str:
    """The checker's labels as those of an expert, a row for each chunk, to compare with people's."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "expert", "task", "label"])
    for item in items:
        for number, supports in enumerate(item.support, 1):
            writer.writerow([f"{item.id}/{number}", checker, "relevant", "yes" if supports else "no"])
    return out.getvalue()


def _write(path: Path, text: str) -> None:
    with replacing(path, parents=True) as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))


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
    return await run_mirage_build(
        plan, run=run, retriever=retriever, model_options=model_options, concurrency=concurrency
    )


build_mirage = blocking(build_mirage_async, name="build_mirage")
"""`ragstone build mirage`."""
