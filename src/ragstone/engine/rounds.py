"""Runs in rounds: what waits for a provider's batch is done in the next one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ragstone.models.batches import Batches
from ragstone.models.options import ModelOptions
from ragstone.runs import Outcome


async def in_rounds(
    options: ModelOptions, run: Callable[[bool], Awaitable[Outcome]], stop: asyncio.Event | None
) -> Outcome:
    """The outcome of `run`, which is called again after every wait for batches until no request is left. Its argument:
    whether to retry what failed before, which the first round does. Without `--batch` there is one round.

    Raises `Unfinished` if batches remain, and what submitting them raises."""
    batches = options.batch
    if not isinstance(batches, Batches):
        return await run(True)
    with batches.rounds():
        outcome = await run(True)
        while not (outcome.interrupted or outcome.refused) and await batches.work(stop):
            batches.begin_round()
            outcome = _joined(outcome, await run(False))
        if batches.spent is not None and outcome.remaining:
            outcome = replace(outcome, refused=(*outcome.refused, batches.spent))
    return outcome


def _joined(before: Outcome, after: Outcome) -> Outcome:
    """The outcome of two rounds of one command."""
    return replace(
        after, asked=before.asked + after.asked, already=before.already, usage=before.usage + after.usage,
        permanent=before.permanent + after.permanent, recorded=before.recorded + after.recorded,
    )  # fmt: skip
