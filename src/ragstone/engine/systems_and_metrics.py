"""What asks and scores the cases of a benchmark: opened in this process, and once more in each worker of a cluster."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from ragstone.engine.judge_tools import Judging, Opened, open_tools
from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.systems import open_system
from ragstone.systems.accepted import accepts_of
from ragstone.systems.wrapper import Wrapper
from ragstone.types import Metric, Passage, Query, Response, Sampling, System, Template


class OpensItself(ABC):
    """A system before it is opened, which takes the options of the run, such as the model of a construction. It is what
    a worker of a cluster is sent."""

    @abstractmethod
    def open(self, options: ModelOptions) -> contextlib.AbstractAsyncContextManager[System]:
        """The system, open."""


@dataclass(frozen=True)
class OpenWorkload:
    """Systems and metrics, ready; `opened` has the judge and its settings."""

    systems: Sequence[System]
    metrics: tuple[Metric, ...]
    opened: Opened


@dataclass(frozen=True)
class Workload:
    """The systems by name or as objects, and the metrics: `own` of the benchmark, and those that `metrics` names.

    `template`, `plan`, `expand` and `gives_passages` are the benchmark's (`types.Benchmark`), `name` is its name."""

    name: str
    systems: Sequence[Any]
    own: Sequence[Metric]
    metrics: Sequence[str | Metric]
    judging: Judging
    options: ModelOptions
    template: Template
    sampling: Mapping[str, Any]
    plan: Any = None
    expand: Callable[[Query], Awaitable[Query]] | None = None
    gives_passages: bool = False

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[OpenWorkload]:
        """Opens judge and systems. Raises their errors."""
        async with contextlib.AsyncExitStack() as stack:
            opened = await stack.enter_async_context(open_tools(self.judging, self.metrics, self.options))
            systems = [await stack.enter_async_context(self._system(system)) for system in self.systems]
            if self.gives_passages:
                systems = [GivenPassages(system, self.name) for system in systems]
            if self.expand is not None:  # its cases are recipes, made into texts when they are asked
                systems = [Expanding(system, self.expand) for system in systems]
            metrics = tuple({metric.name: metric for metric in (*self.own, *opened.metrics)}.values())
            yield OpenWorkload(systems, metrics, opened)

    @contextlib.asynccontextmanager
    async def _system(self, system: Any) -> AsyncIterator[System]:
        """The system of this name or object, opened."""
        if isinstance(system, OpensItself):
            async with system.open(self.options) as opened:
                yield opened
            return
        calling, plan = self.options, self.plan
        if plan is not None:  # long prompts in an order that shares their beginnings
            lanes = plan.lanes if all_local(self.systems) else 1
            calling = replace(calling, context=max(calling.context, plan.window), slots=lanes, prefix_cache=True)
        sampling = _sampling(self.template, self.sampling)
        async with open_system(system, template=self.template, sampling=sampling, options=calling) as opened:
            yield opened


def all_local(models: Sequence[object]) -> bool:
    """Whether all these models run on this machine."""
    return all(isinstance(name, str) and name.startswith("local/") for name in models)


def check_addressed(models: Sequence[object], options: ModelOptions) -> None:
    """UsageError for an endpoint that none of these models would be asked at: another model was meant."""
    if options.base_urls and models and all_local(models):
        names = " and ".join(map(str, models))
        raise UsageError(
            f"--base-url has no effect: {names} runs on this machine. Name a model of that endpoint, such as "
            "compat/NAME, or leave --base-url out."
        )


def _sampling(template: Template, changes: Mapping[str, Any]) -> Sampling:
    """The template's sampling with the user's overrides."""
    return Sampling(
        **{
            name: changes[name] if changes.get(name) is not None else getattr(template.sampling, name)
            for name in Sampling.__struct_fields__
        }
    )


@dataclass(frozen=True)
class Expanding(Wrapper):
    """Passes each query through `expand` to `inner`. A case can thus store a recipe, and its text exists only during
    the call.

    Passages that `expand` retrieved (those with a score) are added to a response without passages. Their texts are
    always dropped: a run file keeps only their ids."""

    inner: System
    expand: Callable[[Query], Awaitable[Query]]

    async def answer(self, query: Query, /) -> Response:
        expanded = await self.expand(query)
        response = await self.inner.answer(expanded)
        retrieved = {
            passage.id: structs.replace(passage, text="", title="")
            for passage in expanded.passages or ()
            if passage.score is not None
        }
        if not retrieved:
            return response
        passages = response.passages or tuple(retrieved.values())
        return structs.replace(response, passages=tuple(retrieved.get(passage.id, passage) for passage in passages))


class GivenPassages(Wrapper):
    """Passes queries to `inner`. Raises UsageError if that retrieves for itself: it declares so (`accepts`
    without "passages"), or it returns passages of which none was given. After the first such answer it is not called
    again."""

    def __init__(self, inner: System, benchmark: str) -> None:
        self.inner, self._refused = inner, ""
        self._reason = (
            f"The system {inner.id} retrieves for itself, but {benchmark} must hand it the passages: what it measures "
            "is how these passages are used. Evaluate the part that answers from given passages (a function with a "
            "parameter `passages`, an address with {passages} in its body), or the whole system with `ragstone run`"
        )
        if "passages" not in accepts_of(inner):
            raise UsageError(f"{self._reason}.")

    async def answer(self, query: Query, /) -> Response:
        if not self._refused:
            response = _with_given_ids(await self.inner.answer(query), query.passages or ())
            given = {passage.id for passage in query.passages or ()}
            if not response.passages or any(passage.id in given for passage in response.passages):
                return response
            self._refused = (
                f"{self._reason} (it returned the passage {response.passages[0].id!r}, which it was not given)."
            )
        raise UsageError(self._refused)


def _with_given_ids(response: Response, given: Sequence[Passage]) -> Response:
    """The response with the ids of the given passages: systems that are given texts return texts."""
    ids = {passage.text: passage.id for passage in reversed(given)}
    passages = [structs.replace(passage, id=ids.get(passage.text, passage.id)) for passage in response.passages]
    return structs.replace(response, passages=tuple(passages))
