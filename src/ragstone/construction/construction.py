"""Runs a construction: pass by pass, each of them cases of one run file, until the last one is done."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ragstone.construction.benchmarks import Construction
from ragstone.construction.builders.model_system import BuildingModel, BuildingTarget
from ragstone.construction.builders.pipeline import Pass, Pipeline, State, advance
from ragstone.construction.builders.steps import Reply, Role, reply_of
from ragstone.construction.builders.template_model import TEMPLATE_MODEL
from ragstone.engine.execute import DEFAULTS, Job, RunOptions, default_name, execute
from ragstone.engine.systems_and_metrics import check_addressed
from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import check_retriever, open_retriever
from ragstone.runs import Outcome, RunFile, open_run
from ragstone.types import Model, Passage, System

_SEARCHED = 256  # texts at once
_MOST_LINES, _LONGEST_LINE = 50, 200  # dropped lines in a run file, and their characters


@dataclass(frozen=True)
class Constructed:
    """How a construction ended: its run file, the outcome of the last pass that ran, and the state it reached. Only a
    `complete` one has accepted items."""

    run: Path
    outcome: Outcome
    state: State
    complete: bool


async def construct(
    pipeline: Pipeline,
    models: Mapping[Role, str | Model],
    *,
    before: State | None = None,
    searcher: System | None = None,
    retriever: str = "bm25",
    how: RunOptions = DEFAULTS,
) -> Constructed:
    """Runs all passes, in rounds while there is `more`. What the run file has is not asked again, so the same command
    resumes, a later round asks only what is new, and a larger size extends. `before`: the state of an earlier part of
    the construction, whose yields and rejections go on. `searcher`: the search engine of passes that need one. Raises
    UsageError, RunMismatch and the errors of opening models."""
    check_retriever(retriever)
    most = how.at_once(list(models.values()))
    shell, options = how.shell, how.calling(most)
    check_addressed(list(dict.fromkeys(models.values())), options)
    settings = {"construction": pipeline.name, **pipeline.settings}
    path = how.path(lambda: default_name(f"build-{pipeline.name}", settings))
    before = before or State()
    states, outcome = [State(tuple(pipeline.start), before.rejected, before.yields)], Outcome()
    async with AsyncExitStack() as stack:
        stack.enter_context(shell.staying())
        opened: dict[Any, BuildingModel] = {}
        for model in models.values():
            if id(model) not in opened and model not in opened:
                opened[model] = await stack.enter_async_context(BuildingTarget(model, pipeline.steps).open(options))
        search = CorpusSearch(pipeline.corpus, retriever, options, stack)
        while len(states) <= len(pipeline.passes):
            one, state = pipeline.passes[len(states) - 1], states[-1]
            replies: dict[tuple[str, int], Reply] = {}
            tasks = list(one.tasks(state.items)) if one.step is not None else []
            if one.step is not None and tasks:
                system = searcher if one.role == "searcher" else opened[models[one.role]]
                assert system is not None, one.name
                benchmark = Construction.of(pipeline, one, tasks)
                searching = one.role == "searcher"  # it is open, and asked by this process
                sources = [] if searching else [BuildingTarget(models[one.role], pipeline.steps)]
                job = Job(benchmark, [system], path, most, model_options=options, sources=sources)
                done = await execute(job, replace(shell, cluster=None) if searching else shell)
                outcome = done.outcome
                known = replies_of(path, system.id, one)
                cases = {(task.key, task.repeat): task.case(one.name, one.step.name).id for task in tasks}
                replies = {key: known[case_id] for key, case_id in cases.items() if case_id in known}
                if len(replies) < len(cases):
                    return Constructed(path, outcome, state, complete=False)
            states.append(await advance(state, one, replies, search))
            if len(states) > len(pipeline.passes) and (larger := pipeline.more(states[-1])) is not None:
                states, pipeline = states[: pipeline.shared(larger) + 1], larger
    return Constructed(path, outcome, states[-1], complete=True)


def replies_of(path: Path, system: str, one: Pass) -> dict[str, Reply]:
    """Case id → the parsed reply, of every case of this pass that has one."""
    assert one.step is not None
    with open_run(path) as run:
        return {name: reply_of(response, one.step.kind) for name, response in run.responses(system, f"{one.name}/")}


def output_folder(output: str | Path) -> Path:
    """The folder that is made or extended. Raises UsageError for a file."""
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: -o names a folder.")
    return folder


def keep_report(
    path: Path, state: State, accepted: int, covered: Mapping[str, tuple[int, int]] | None = None,
    lines: Mapping[str, int] | None = None,
) -> None:  # fmt: skip
    """Notes in the run file of a finished construction what each pass kept, for its tables. `covered`: of what it is
    made (facts, documents) how many were used, of how many. `lines`: dropped boilerplate → number of documents."""
    if not path.exists():
        raise UsageError("The documents hold nothing that a model could be asked about.")
    reasons = Counter(rejected.reason for rejected in state.rejected)
    report: dict[str, Any] = {
        "accepted": accepted, "yields": [msgspec.structs.asdict(one) for one in state.yields],
        "rejected": dict(sorted(reasons.items())),
        "covered": {name: list(pair) for name, pair in (covered or {}).items()},
        "lines": [[line[:_LONGEST_LINE], count] for line, count in islice((lines or {}).items(), _MOST_LINES)],
    }  # fmt: skip
    with open_run(path) as run:
        question = dict(run.meta["question"])
        usages = [  # rules ask no model
            response.usage for name in run.systems if name != TEMPLATE_MODEL
            for _, response in run.responses(name, "") if response.usage
        ]  # fmt: skip
    report["usage"] = {
        "requests": sum(usage.requests for usage in usages),
        "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
        "completion_tokens": sum(usage.completion_tokens for usage in usages),
    }
    RunFile.create_or_open(path, question=question, info={"construction": report}, systems={}).close()


class CorpusSearch:
    """Searches the corpus; the index is built when the first pass needs it."""

    def __init__(self, corpus: Sequence[Passage], retriever: str, options: ModelOptions, stack: AsyncExitStack) -> None:
        self._corpus, self._name, self._options, self._stack = corpus, retriever, options, stack
        self._opened: Any = None

    async def __call__(self, texts: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        if not texts:
            return []
        if self._opened is None:
            opening = open_retriever(self._name, self._corpus, options=self._options)
            self._opened = await self._stack.enter_async_context(opening)
        found: list[list[Passage]] = []
        for start in range(0, len(texts), _SEARCHED):  # a retriever may score every text with every passage at once
            found += await self._opened.retrieve(list(texts[start : start + _SEARCHED]), k=k)
        return found
