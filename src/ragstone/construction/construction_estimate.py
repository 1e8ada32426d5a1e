"""What a construction is expected to cost, before anything is asked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragstone.construction.benchmarks import Construction
from ragstone.construction.builders.model_system import BuildingModel
from ragstone.construction.builders.pipeline import Pass, Pipeline, State, advance
from ragstone.construction.builders.steps import Reply, Role, reply_of
from ragstone.construction.builders.template_model import TemplateModel
from ragstone.construction.construction import CorpusSearch, replies_of
from ragstone.models import ModelOptions
from ragstone.retrieval.cost_estimate import TextCount
from ragstone.text import estimate_tokens
from ragstone.types import Case, Model, System, Usage


@dataclass(frozen=True)
class Amounts:
    """What is asked, without what the run file has. `likely`: with the yields and replies of `local/template`; `least`
    and `most`: if no item is kept that is not known to be, and if all are. `role`: who is asked."""

    role: Role
    least: Usage
    likely: Usage
    most: Usage


@dataclass(frozen=True)
class Expected:
    """An estimate by pass, in their order. A searcher takes requests, but no tokens. `corpus`: what the passes search
    in."""

    passes: Mapping[str, Amounts]
    corpus: TextCount

    def total(self, bound: str) -> Usage:
        """The sum of "least", "likely" or "most" over the models."""
        return sum((getattr(one, bound) for one in self.passes.values() if one.role != "searcher"), Usage())


async def expected(
    pipeline: Pipeline, models: Mapping[Role, str | Model], run: str | Path | None = None, *,
    searcher: System | None = None,
) -> Expected:  # fmt: skip
    """What the passes of a construction and of those that follow it would ask. A reply that the run file does not have
    is one of `local/template`, a search result one of `searcher`."""
    answering = BuildingModel(TemplateModel(), pipeline.steps)
    walk = _Walk(models, None if run is None else Path(run), answering, searcher)
    start = _Reached(State(tuple(pipeline.start)), len(pipeline.start), known=True)
    async with AsyncExitStack() as stack:
        await walk.through(pipeline, start, stack)
    corpus = TextCount(len(pipeline.corpus), sum(estimate_tokens(passage.text) for passage in pipeline.corpus))
    return Expected(walk.passes, corpus)


@dataclass(frozen=True)
class _Reached:
    """The state before a pass. `most`: the most items that can be left, those of later rounds among them; `known`:
    these are the items of the run, in this round."""

    state: State
    most: int
    known: bool


@dataclass
class _Walk:
    models: Mapping[Role, str | Model]
    run: Path | None
    answering: System
    searcher: System | None
    passes: dict[str, Amounts] = field(default_factory=dict)

    async def through(self, pipeline: Pipeline, reached: _Reached, stack: AsyncExitStack) -> None:
        search = CorpusSearch(pipeline.corpus, "bm25", ModelOptions(), stack)
        trail: list[_Reached] = [reached]
        least: dict[str, Usage] | None = None
        while True:
            for one in pipeline.passes[len(trail) - 1 :]:
                trail.append(await self._after(one, trail[-1], search))
            if least is not None:  # the replies of `local/template` led to this round
                self.passes |= {name: replace(self.passes[name], least=usage) for name, usage in least.items()}
            elif not trail[-1].known:
                least = {one.name: self.passes[one.name].least for one in pipeline.passes if one.step is not None}
            larger = pipeline.more(trail[-1].state)
            if larger is None:
                break
            trail, pipeline = trail[: pipeline.shared(larger) + 1], larger
        if trail[-1].known:  # nothing is missing
            asked = [one.name for one in pipeline.passes if one.step is not None]
            self.passes |= {name: replace(self.passes[name], most=self.passes[name].likely) for name in asked}
        for later in pipeline.then(trail[-1].state.items):
            start = _Reached(State(tuple(later.start)), trail[-1].most, trail[-1].known)
            await self.through(later, start, stack)

    async def _after(self, one: Pass, reached: _Reached, search: CorpusSearch) -> _Reached:
        """The state after a pass, whose amounts are noted."""
        replies: dict[tuple[str, int], Reply] = {}
        missing = 0
        if one.step is not None:
            replies, missing = await self._asked(one, reached)
        state = await advance(reached.state, one, replies, search)
        known = reached.known and not missing
        exact = known and not one.grows and reached.most == len(reached.state.items)
        most = len(state.items) if exact else max(one.most(reached.most), len(state.items))
        return _Reached(state, most, known)

    async def _asked(self, one: Pass, reached: _Reached) -> tuple[dict[tuple[str, int], Reply], int]:
        """The replies to a pass, and how many of them the run file does not have, whose amounts are noted."""
        assert one.step is not None
        system = self.searcher if one.role == "searcher" else self.answering
        assert system is not None, one.name
        stored = self._stored(one)
        replies: dict[tuple[str, int], Reply] = {}
        likely = Usage()
        for key, case in _cases(one, reached.state.items):
            if case.id in stored:
                replies[key] = stored[case.id]
                continue
            response = await system.answer(case.query)
            replies[key] = reply_of(response, one.step.kind)
            likely += _usage(case, response.answer) if one.role != "searcher" else Usage(requests=1)
        least = likely if reached.known else Usage()
        most = likely
        if not reached.known or reached.most > len(reached.state.items):
            most = self._most(one, likely, reached.most, len(replies))
        self.passes[one.name] = Amounts(one.role, least, likely, most)
        return replies, likely.requests

    def _most(self, one: Pass, likely: Usage, items: int, known: int) -> Usage:
        """What so many items take, at the mean of the likely requests; where there are none, at the mean of the pass
        with the largest. `known`: replies that are there, or counted as likely."""
        requests = max(items * one.each - (known - likely.requests), likely.requests)  # an item may take several
        others = [other.likely for other in self.passes.values() if other.role == one.role and other.likely.requests]
        usage = likely if likely.requests else max(others, key=_mean_prompt, default=Usage(requests=1))
        return Usage(*(-(-getattr(usage, name) * requests // usage.requests) for name in usage.__struct_fields__))

    def _stored(self, one: Pass) -> Mapping[str, Reply]:
        if self.run is None or not self.run.exists() or not self.run.stat().st_size:
            return {}
        if one.role == "searcher":
            assert self.searcher is not None
            return replies_of(self.run, self.searcher.id, one)
        model = self.models[one.role]
        return replies_of(self.run, model if isinstance(model, str) else model.id, one)


def _cases(one: Pass, items: Sequence[Any]) -> Iterator[tuple[tuple[str, int], Case]]:
    assert one.step is not None
    for task in one.tasks(items):
        yield (task.key, task.repeat), task.case(one.name, one.step.name)


def _usage(case: Case, reply: str) -> Usage:
    return Usage(Construction().prompt_tokens(case), estimate_tokens(reply), requests=1)


def _mean_prompt(usage: Usage) -> float:
    return usage.prompt_tokens / usage.requests
