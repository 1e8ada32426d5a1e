"""What a system answers and accepts, found out with two questions and at most five more under interventions.
`ragstone system check` prints it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.execute import asking
from ragstone.errors import Dropped, EndpointRefused, ModelError, RagstoneError, SystemFailed, Unreachable
from ragstone.systems import ACCEPTED, accepts_of, open_system
from ragstone.systems.accepted import printed_by
from ragstone.systems.probes import Probe, probe_interventions
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Query, Response, System

GENERAL = (
    Query("What can you help me with?", language="en"),
    Query("你能帮我解决什么问题？", language="zh"),
)
"""What is asked if the user names no questions."""


@dataclass(frozen=True)
class Checked:
    """One question, and the response or the error. `seconds`: until it arrived. `refused`: its address answers nobody,
    or no one with this key."""

    question: str
    response: Response | None
    error: str
    seconds: float
    refused: bool = False


@dataclass(frozen=True)
class SystemCheck:
    """What was found out. `accepts`: those of `systems.ACCEPTED` that it declares. `interventions`: what came of trying
    each (`systems.probes`). `printed`: the last line that its code printed."""

    id: str
    spec: Mapping[str, Any]
    accepts: tuple[str, ...]
    checked: tuple[Checked, ...]
    interventions: Mapping[str, Probe]
    printed: str

    @property
    def answered(self) -> bool:
        """Whether it answered every question."""
        return all(item.response is not None for item in self.checked)

    @property
    def refused(self) -> bool:
        """Whether its address answers nobody, or no one with this key."""
        return all(item.refused for item in self.checked)


async def check_system(
    target: Any, questions: str | Path | None = None, *, timeout: float = 120.0, limit: int = 2
) -> SystemCheck:
    """Asks a system the first `limit` questions of a file, or a general one in English and one in Chinese, and tries
    the interventions that it declares with one of them.

    `target`: as in `run`. `timeout`: seconds for one answer. A question that fails is part of the result. Raises
    UsageError and DataError if there is no such system or file."""
    queries: Sequence[Query] = GENERAL
    if questions is not None:
        items = read_data(questions, limit=limit).items
        queries = [Query(item.sample.question, None, item.history, item.sample.language) for item in items]
    options = asking(timeout, limit)
    async with open_system(target, template=RAG_TEMPLATE, options=options) as system:
        checked = [await _checked(system, query) for query in queries]
        answered = [(query, item.response) for query, item in zip(queries, checked, strict=True) if item.response]
        interventions = await probe_interventions(system, *[*answered, (GENERAL[0], None)][0])
        accepts = accepts_of(system)
        known = tuple(name for name in ACCEPTED if name in accepts)
        return SystemCheck(system.id, system.spec, known, tuple(checked), interventions, printed_by(system))


async def _checked(system: System, query: Query) -> Checked:
    started = time.perf_counter()
    response, error, refused = None, "", False
    try:
        response = await system.answer(query)
    except (SystemFailed, ModelError) as failure:
        error = f"{failure.kind}: {failure}" if isinstance(failure, SystemFailed) else str(failure)
        nobody = isinstance(failure, Unreachable) and not isinstance(failure, Dropped)
        refused = nobody or (isinstance(failure, ModelError) and failure.refuses_all)
    except RagstoneError as failure:
        error, refused = str(failure), isinstance(failure, EndpointRefused)
    return Checked(query.question, response, error, time.perf_counter() - started, refused)
