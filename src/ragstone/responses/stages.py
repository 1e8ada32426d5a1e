"""What a system did on its way to an answer: the query it searched for, what it fetched, and what reached the prompt.

A response has these as `steps` named `rewrite`, `fetch`, `rerank` and `prompt`; the output of a step is its passages.
Adapters of frameworks record them while they run; the passages of the prompt are those fetched passages of which the
model's prompt has something, with as much of their text as it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.responses.outputs import usage_of
from ragstone.responses.prompt_parts import LONGEST_PROMPT, parts_in, shortened
from ragstone.responses.returned_passages import passages_of
from ragstone.structs import Itself
from ragstone.types import NO_ANSWER, Passage, Query, Response, Step, Usage

STAGES = ("fetch", "rerank", "prompt")
"""The stages that have passages, in their order."""

STAGE_WORDS = {"fetched": "fetch", "reranked": "rerank", "prompted": "prompt"}
"""How the name of a metric says at which of `STAGES` it measures: `recall@5 fetched`."""

FIRST_TOKEN = "first token"
"""The step of a streamed answer that has the seconds from the question to its first piece of text."""


def stage_step(
    name: str,
    passages: Sequence[Passage],
    *,
    query: str = "",
    seconds: float | None = None,
    usage: Usage | None = None,
) -> Step:
    """A step of this name with these passages as its output."""
    output = [msgspec.to_builtins(passage) for passage in passages]
    return Step(name, input=query or None, output=output, seconds=seconds, usage=usage)


def passages_at(response: Response, stage: str) -> tuple[Passage, ...] | None:
    """The passages of a response at a stage: those of its last step of that name; None if it has no such step."""
    steps = [step for step in response.steps if step.name == stage and isinstance(step.output, list)]
    return _passages(Itself(steps[-1].output)) if steps else None


@lru_cache(maxsize=64)
def _passages(output: Itself) -> tuple[Passage, ...]:
    return msgspec.convert(output.value, tuple[Passage, ...])


def search_response(
    query: Query, passages: Sequence[Passage], *, seconds: float | None = None, steps: Sequence[Step] = ()
) -> Response:
    """The response to a query that asks for passages alone: at most `query.k` of them. `steps`: how they were found,
    if more is known than that they were fetched."""
    found = tuple(passages[: query.k])
    fetched = steps or (stage_step("fetch", found, query=query.question, seconds=seconds),)
    return Response(
        "", found, steps=tuple(fetched), seconds=seconds, finish_reason=NO_ANSWER, empty_retrieval=not found
    )


@dataclass
class StageRecorder:
    """Collects what an adapter sees of one question; `response` adds it to the answer."""

    question: str
    queries: list[str] = field(default_factory=list)
    fetched: list[Passage] = field(default_factory=list)
    reranked: list[Passage] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    usage: Usage | None = None
    fetch_seconds: float | None = None
    rerank_seconds: float | None = None
    searched: bool = False  # a retriever returned, if only nothing

    def fetch(self, passages: Sequence[Passage], seconds: float | None = None) -> None:
        """Adds what a retriever returned. Several retrievers report the same passages more than once."""
        self.searched = True
        self.fetched = list(passages_of([*self.fetched, *self._named(passages)]))
        if seconds is not None:
            self.fetch_seconds = (self.fetch_seconds or 0.0) + seconds

    def rerank(self, passages: Sequence[Passage], seconds: float | None = None) -> None:
        """What was left of the fetched passages, in its order; the last such report counts."""
        self.reranked = self._named(passages)
        if seconds is not None:
            self.rerank_seconds = (self.rerank_seconds or 0.0) + seconds

    def _named(self, passages: Sequence[Passage]) -> list[Passage]:
        """The passages under the ids that they were fetched with: frameworks lose ids, but not texts."""
        ids = {passage.text: passage.id for passage in reversed(self.fetched)}
        return [replace(passage, id=ids.get(passage.text, passage.id)) for passage in passages]

    def count(self, counts: Any) -> None:
        """Adds the tokens of one call of a model, as `outputs.usage_of` reads them."""
        if (usage := usage_of(counts)) is not None:
            self.usage = (self.usage or Usage()) + usage

    def response(self, response: Response, *, given: bool = False) -> Response:
        """The response with these stages. Its passages are those of the last known stage; if it names passages itself
        and no prompt was seen, they are what was given to the model. If it names none although some were fetched
        (`empty_retrieval`), a later stage left all of them out, unless a prompt shows otherwise. `given`: the
        application was given its passages. The stage of the prompt has the parts of passages that stand there; a prompt
        in which none was found is a stage without passages, with the prompt as its input."""
        returned = self._named(response.passages)
        fetched = self.fetched or returned
        steps: list[Step] = []
        rewritten = [query for query in dict.fromkeys(self.queries) if query.strip() not in ("", self.question.strip())]
        if rewritten:
            steps.append(Step("rewrite", input=self.question, output=rewritten))
        if fetched or self.searched:
            query = self.queries[-1] if self.queries else ""
            steps.append(stage_step("fetch", fetched, query=query, seconds=self.fetch_seconds))
        reranked = self.reranked or (returned if _ids(returned) != _ids(fetched) else [])
        dropped = response.empty_retrieval and bool(fetched)
        if reranked or dropped:
            reranked = [] if dropped else reranked
            steps.append(stage_step("rerank", reranked, seconds=self.rerank_seconds))
        candidates = reranked or ([] if dropped else fetched)
        parts = parts_in(reranked or fetched, self.prompts, self.question)
        prompted = [passage for passage, _ in parts]
        if prompted:
            steps.append(stage_step("prompt", [shortened(*part) for part in parts]))
        elif self.prompts and (given or candidates or dropped):
            steps.append(stage_step("prompt", (), query=max(self.prompts, key=len)[:LONGEST_PROMPT]))
        passages = prompted or returned or candidates
        nothing = not passages and (response.empty_retrieval or self.searched)
        return replace(
            response, passages=tuple(passages), steps=(*steps, *response.steps), usage=response.usage or self.usage,
            empty_retrieval=nothing,
        )  # fmt: skip

    def search(self, query: Query, found: Sequence[Passage]) -> Response:
        """The response to a query that asks for passages alone."""
        stages = self.response(Response("", tuple(self._named(found)[: query.k]))).steps
        return search_response(query, self._named(found), steps=stages, seconds=self.fetch_seconds)


def _ids(passages: Sequence[Passage]) -> list[str]:
    return [passage.id for passage in passages]
