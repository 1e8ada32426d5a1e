"""`build_rgb`: RGB's data sets from the user's news articles."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ragstone.construction.benchmarks import ConstructionPlugin
from ragstone.construction.builders.pipeline import Pipeline, State
from ragstone.construction.builders.rgb.base import CHUNK, TOP, Rank
from ragstone.construction.builders.rgb.items import JoinedQuestion, NewsQuestion
from ragstone.construction.builders.rgb.pipeline import int_rows, question_rows, rgb_pipeline
from ragstone.construction.builders.steps import Role
from ragstone.construction.builders.web_search import (
    AssumedPages,
    FoundPage,
    WebSearch,
    check_search,
    open_web_search,
    search_id,
)  # fmt: skip
from ragstone.construction.built_files import CORPUS, QUESTIONS, chunk_row, question_row, write_rows
from ragstone.construction.construction import Constructed, construct, keep_report, output_folder
from ragstone.construction.construction_estimate import Expected, expected
from ragstone.engine.execute import DEFAULTS, RunOptions
from ragstone.engine.public_functions import blocking, public
from ragstone.engine.run_result import RunResult
from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import open_retriever
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import read_corpus
from ragstone.text import estimate_tokens
from ragstone.types import Model, Passage

_ASSUMED = 10  # articles that a web page is assumed to be as long as, and chunks of it


@dataclass(frozen=True)
class RGBBuild:
    """A construction before anything is asked. `search`: a search engine of the web, "" for the `chunks`."""

    articles: tuple[Passage, ...]
    chunks: tuple[Passage, ...]
    models: Mapping[Role, str | Model]
    output: Path
    size: int
    search: str = ""
    retriever: str = "local/e5-small"

    def pipeline(self, rank: Rank) -> Pipeline:
        """The construction; `rank` is asked for the chunks of web pages that are nearest to a question."""
        web = search_id(self.search) if self.search else ""
        return rgb_pipeline(self.articles, self.chunks, size=self.size, web=web, rank=rank)

    async def expected(self, run: str | Path | None = None) -> Expected:
        """What it would ask. A web search is assumed to find pages enough for all chunks that are labelled."""

        async def first(question: str, passages: Sequence[Passage]) -> Sequence[Passage]:
            return passages

        texts = " ".join(article.text for article in self.articles[:_ASSUMED])
        text = texts * -(-_ASSUMED * CHUNK // max(1, estimate_tokens(texts)))
        pages = [FoundPage(f"assumed:{number}", text=text) for number in range(TOP // _ASSUMED)]
        searcher = AssumedPages(self.search, pages) if self.search else None
        return await expected(self.pipeline(first), self.models, run, searcher=searcher)


@dataclass(frozen=True, repr=False)
class BuiltRGB(RunResult):
    """Constructed data. `files`: name of a data set, such as "en_refine", → number of its questions; empty if the
    construction is unfinished."""

    files: Mapping[str, int] | None = None


def plan_rgb_build(
    articles: str | Path,
    output: str | Path,
    models: Mapping[Role, str | Model],
    *,
    size: int = 300,
    search: str = "",
    corpus: str | Path | None = None,
    retriever: str = "local/e5-small",
) -> RGBBuild:
    """Checks everything that can be checked before a model is opened. Raises UsageError and DataError."""
    if search and corpus is not None:
        raise UsageError("Pages come from the web or from a corpus: pass either --search or --corpus.")
    if search:
        check_search(search)
    folder = output_folder(output)
    read = read_corpus(articles)
    chunks = () if search else chunk_passages((read if corpus is None else read_corpus(corpus)).passages, size=CHUNK)
    return RGBBuild(read.passages, tuple(chunks), models, folder, size, search, retriever)


async def run_rgb_build(plan: RGBBuild, how: RunOptions = DEFAULTS) -> BuiltRGB:
    """Runs the plan and writes the official files (`en_refine.json`, `en_int.json`, `en_fact.json`, likewise zh), of
    which the benchmark also makes noise and rejection; `rejected.jsonl`; and for `run` and `diagnose` `questions.jsonl`
    and `corpus.jsonl`."""
    plan.output.mkdir(parents=True, exist_ok=True)
    path, options = how.path(lambda: plan.output / "build.run"), how.calling()
    how = dataclasses.replace(how, run=path, model_options=options)
    plugin = ConstructionPlugin()

    async def rank(question: str, passages: Sequence[Passage]) -> Sequence[Passage]:
        pool = list({passage.id: passage for passage in passages}.values())
        async with open_retriever(plan.retriever, pool, options=options) as retriever:
            return (await retriever.retrieve([question], k=TOP))[0]

    async with AsyncExitStack() as stack:
        stack.enter_context(how.shell.staying())
        web: WebSearch | None = None
        if plan.search:
            web = await stack.enter_async_context(open_web_search(plan.search, options))

        async def part(pipeline: Pipeline, before: State | None) -> Constructed:
            return await construct(
                pipeline, plan.models, before=before, searcher=web, retriever=plan.retriever, how=how
            )

        pipeline = plan.pipeline(rank)
        base = await part(pipeline, None)
        if not base.complete:
            return BuiltRGB(path, base.outcome, benchmark=plugin)
        joining, replacing_answers = pipeline.then(base.state.items)
        joined = await part(joining, base.state)
        fact = await part(replacing_answers, joined.state) if joined.complete else joined
    if not fact.complete:
        return BuiltRGB(path, fact.outcome, benchmark=plugin)
    rows = _by_language({"refine": base.state, "int": joined.state, "fact": fact.state})
    for name, documents in rows.items():
        write_rows(plan.output / f"{name}.json", documents)
    questions, chunks = _own_data(base.state.items, joined.state.items)
    write_rows(plan.output / QUESTIONS, questions)
    write_rows(plan.output / CORPUS, chunks)
    write_rows(plan.output / "rejected.jsonl", map(msgspec.to_builtins, fact.state.rejected))
    counts = {name: len(documents) for name, documents in rows.items()}
    keep_report(path, fact.state, sum(counts.values()))
    return BuiltRGB(path, fact.outcome, _warnings(fact.state), plugin, files=counts)


def _by_language(states: Mapping[str, State]) -> dict[str, list[dict[str, Any]]]:
    """File name → its rows; a language without a question of a kind has no file of it."""
    makers: Mapping[str, Any] = {
        "refine": partial(question_rows, kind="base"), "int": int_rows,
        "fact": partial(question_rows, kind="counterfactual"),
    }  # fmt: skip
    files = {}
    for kind, state in states.items():
        for language in sorted({item.language for item in state.items}):
            files[f"{language}_{kind}"] = makers[kind]([item for item in state.items if item.language == language])
    return files


def _own_data(base: Sequence[NewsQuestion], joined: Sequence[JoinedQuestion]) -> tuple[list[Any], list[Any]]:
    """The questions as rows with their gold documents, and the labelled chunks as a corpus."""
    rows = [question_row(one.id, one.question, [one.answers], one.language, one.positive) for one in base]
    for item in joined:
        gold = [chunk for part in item.parts for chunk in part.positive]
        slots = [part.answers for part in item.parts]
        rows.append(question_row(item.id, item.question, slots, item.language, gold))
    chunks = {chunk.id: chunk for one in base for chunk in (*one.positive, *one.negative)}
    return rows, list(map(chunk_row, chunks.values()))


def _warnings(state: State) -> tuple[str, ...]:
    """What a reader of the data should know."""
    reasons = Counter(item.reason for item in state.rejected)
    unknown = reasons["not_known_without_documents"]
    if not unknown:
        return ()
    return (
        f"{unknown} questions are not in the counterfactual set: the checker does not know their answers by heart.",
    )


@public
async def build_rgb_async(
    articles: str | Path,
    output: str | Path,
    model: str | Model,
    *,
    checker: str | Model | None = None,
    size: int = 300,
    search: str = "",
    corpus: str | Path | None = None,
    retriever: str = "local/e5-small",
    run: str | Path | None = None,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
) -> BuiltRGB:
    """Construct RGB's data sets from news, as Chen et al. 2024 describe in section 3.

    `articles`: a folder or file of articles (text, HTML, JSONL, RSS, WARC…). `model` writes questions and false
    answers, `checker` (by default the same) reads and labels. `size`: questions of each language. `search`: a search
    engine of the web, such as "searxng(https://search.example.org)" or "brave"; without one the chunks of `corpus`, by
    default of the articles, are searched. `retriever` ranks the chunks. The same call resumes. Raises `RagstoneError`s,
    one line each.
    """
    models: dict[Role, str | Model] = {"writer": model, "checker": checker or model}
    plan = plan_rgb_build(articles, output, models, size=size, search=search, corpus=corpus, retriever=retriever)
    return await run_rgb_build(plan, RunOptions(run, model_options, concurrency))


build_rgb = blocking(build_rgb_async, name="build_rgb")
"""`ragstone build rgb`."""
