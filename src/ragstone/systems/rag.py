"""The plainest RAG system over the user's documents: a retriever, a prompt and a model.

    rag(retriever=hybrid(bm25,local/e5-small), model=openai/gpt-4o-mini, k=5)

It is the embedded default of `ragstone run --corpus`, with BM25 and `local/extractive`, and a baseline for any other.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from ragstone.errors import UsageError, check_name
from ragstone.models import ModelOptions
from ragstone.responses.stages import search_response, stage_step
from ragstone.retrieval import check_retriever, code_of, open_retriever, parse, retriever_name
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import Corpus, read_corpus
from ragstone.retrieval.search_log import SearchLog, logged
from ragstone.systems.accepted import ACCEPTED
from ragstone.systems.template import PromptTemplate, prompt_template
from ragstone.types import Passage, Query, Response, Retriever, Sampling, Step, System, Template, Usage

OpenReader: TypeAlias = Callable[[str, Template], Awaitable[System]]

RAG_TEMPLATE = PromptTemplate(
    name="rag",
    system={
        "en": (
            "Answer the question from the documents. Be brief. If the documents do not contain the answer, say that "
            "they do not contain it."
        ),
        "zh": "请根据文档回答问题，回答要简短。如果文档中没有答案，请说明文档中没有答案。",
    },
    user={"en": "Documents:\n{DOCS}\n\nQuestion: {QUERY}", "zh": "文档：\n{DOCS}\n\n问题：{QUERY}"},
    closed_book={"en": "Answer the question briefly: {QUERY}", "zh": "请简短回答问题：{QUERY}"},
    joiner="\n\n",
    sampling=Sampling(temperature=0.0),
)


def _instructed(name: str, english: str, chinese: str) -> PromptTemplate:
    return replace(RAG_TEMPLATE, name=name, system={"en": english, "zh": chinese})


RAG_TEMPLATES = {
    "rag": RAG_TEMPLATE,
    "strict": _instructed(
        "strict",
        "Answer the question only with what the documents state. Be brief. If they do not state the answer, or only "
        "something similar, say that the documents do not contain it, and nothing else.",
        "只用文档中写明的内容回答问题，回答要简短。如果文档没有写明答案，或只有相近的内容，只说明文档中没有答案。",
    ),
    "answer": _instructed(
        "answer",
        "Answer the question from the documents. Be brief. Give the answer that the documents support best.",
        "请根据文档回答问题，回答要简短。给出文档最支持的答案。",
    ),
}
"""Our templates: with an instruction to refuse, with a stricter one, and without."""


@dataclass(frozen=True)
class RagTarget:
    """What to build. `retriever`: a name, or an object that can search (`retrieval/own.py`). `chunk`: size of the
    chunks in tokens, 0 for whole documents. `template`: one of `RAG_TEMPLATES`, or RGB's
    "paper" or "official". `model`: a chat
    model, or "local/extractive"."""

    corpus: str | Path | Corpus
    retriever: Any = "bm25"
    model: str = "local/extractive"
    k: int = 5
    chunk: int = 330
    template: str = "rag"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"rag(k={self.k}): k should be 1 or more.")
        if self.chunk < 0:
            raise UsageError(f"rag(chunk={self.chunk}): chunk should be 0 or more.")

    @property
    def name(self) -> str:
        """Its spelling on the command line."""
        parts = [f"retriever={retriever_name(self.retriever)}", f"model={self.model}", f"k={self.k}"]
        parts += [f"{item.name}={getattr(self, item.name)}" for item in fields(self)[4:]
                  if getattr(self, item.name) != item.default]  # fmt: skip
        return f"rag({', '.join(parts)})"


def rag_target(text: str, corpus: str | Path | Corpus) -> RagTarget:
    """The target of a name such as `rag(retriever=bm25, k=3)`. Raises UsageError."""
    spec = parse(text)
    if spec.function != "rag" or spec.arguments:
        raise UsageError(f"{text!r} should be rag(NAME=VALUE, …), for example rag(retriever=bm25, k=5).")
    known = {item.name: item for item in fields(RagTarget) if item.name != "corpus"}
    values: dict[str, Any] = {}
    for key, value in spec.options.items():
        check_name("option of rag", key, known)
        if known[key].type in (int, "int"):
            if not (value.isascii() and value.isdecimal()):
                raise UsageError(f"rag({key}={value}): {key} should be a whole number.")
            values[key] = int(value)
        else:
            values[key] = value
    return RagTarget(corpus, **values)


class RagSystem:
    """Retrieves `k` passages for a question and asks a reader with them; passages that a benchmark hands over are used
    instead. Its stages are `rewrite` and `rerank` where the retriever does that, `fetch` and `prompt`."""

    accepts = frozenset(ACCEPTED)
    counted = True  # by its reader and its retriever

    def __init__(self, target: RagTarget, corpus: Corpus, retriever: Retriever, reader: System) -> None:
        self.target, self.corpus, self._retriever, self._reader = target, corpus, retriever, reader

    @property
    def id(self) -> str:
        return self.target.name

    @property
    def spec(self) -> Mapping[str, Any]:
        code = code_of(self.target.retriever)
        return {
            "kind": "rag", "retriever": retriever_name(self.target.retriever), "k": self.target.k,
            "chunk": self.target.chunk, "corpus": self.corpus.sha256, "reader": dict(self._reader.spec),
            **({"code": code} if code else {}),
        }  # fmt: skip

    async def answer(self, query: Query, /) -> Response:
        if query.passages is not None:
            response = await self._reader.answer(query)
            return replace(response, steps=(stage_step("prompt", _unlabelled(query.passages)), *response.steps))
        found, steps, seconds, usage = await self._found(query)
        if query.retrieve_only:
            return replace(search_response(query, found, seconds=seconds, steps=steps), usage=usage)
        response = await self._reader.answer(replace(query, passages=found))
        steps = [*steps, stage_step("prompt", found), *response.steps]
        seconds += response.seconds or 0.0
        if usage is not None:
            usage += response.usage or Usage()
        return replace(
            response, passages=found, steps=tuple(steps), seconds=seconds, empty_retrieval=not found,
            usage=usage or response.usage,
        )  # fmt: skip

    async def _found(self, query: Query) -> tuple[tuple[Passage, ...], list[Step], float, Usage | None]:
        """The passages for a question, the steps that led to them, the seconds, and the usage of the models that
        rewrote and reranked; None if there are none."""
        started = time.perf_counter()
        with logged(rewrites=not query.retrieve_only) as log:
            (passages,) = await self._retriever.retrieve([query.question], k=query.k or self.target.k)
        seconds, found = time.perf_counter() - started, _unlabelled(passages)
        usage = sum(log.usages.values(), Usage()) if log.usages else None
        return found, _steps(query.question, found, log, seconds), seconds, usage


def _steps(question: str, found: tuple[Passage, ...], log: SearchLog, seconds: float) -> list[Step]:
    """The steps of a search that took so many seconds."""
    queries, usages = log.queries, log.usages
    searched = queries[-1] if queries else question
    steps = []
    if queries:
        spent = usages.get("rewrite")
        steps.append(Step("rewrite", input=question, output=queries, seconds=log.rewrite_seconds, usage=spent))
    if log.fetched is None:
        return [*steps, stage_step("fetch", found, query=searched, seconds=seconds - log.rewrite_seconds)]
    rest = max(0.0, seconds - log.seconds - log.rewrite_seconds)
    steps.append(stage_step("fetch", _unlabelled(log.fetched), query=searched, seconds=log.seconds))
    return [*steps, stage_step("rerank", found, seconds=rest, usage=usages.get("rerank"))]


def _unlabelled(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(replace(passage, relevant=None) for passage in passages)


@contextlib.asynccontextmanager
async def open_rag(target: RagTarget, options: ModelOptions, open_reader: OpenReader) -> AsyncIterator[RagSystem]:
    """Reads the documents, builds the index and opens the reader. Raises UsageError and DataError."""
    template = RAG_TEMPLATES.get(target.template) or prompt_template(target.template)
    check_retriever(target.retriever, options)
    corpus = read_corpus(target.corpus)
    pool: list[Passage] = chunk_passages(corpus.passages, size=target.chunk)
    async with open_retriever(target.retriever, pool, options=options) as retriever:
        reader = await open_reader(target.model, template)
        yield RagSystem(target, corpus, retriever, reader)
