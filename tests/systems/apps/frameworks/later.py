"""Asks the applications of a module as they are, with given passages, and with none: `later.py MODULE` prints one
document. 24 questions at once, each with two passages of its own."""

import asyncio
import contextlib
import importlib
import json
import sys
from typing import Any

from intervene import ask, passages

from ragstone.models import ModelOptions
from ragstone.systems import accepts_of, open_system
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Query

GIVEN = 24


async def intervene(application: Any) -> dict[str, Any]:
    question = "How much is item 3?"
    async with open_system(application, template=RAG_TEMPLATE, options=ModelOptions(deadline=60)) as system:
        queries = [Query(f"How much is item {item}?", passages(item)) for item in range(GIVEN)]
        return {
            "accepts": sorted(accepts_of(system)),
            "as_is": await ask(system, Query(question)),
            "given": await asyncio.gather(*(ask(system, query) for query in queries)),
            "closed": await ask(system, Query(question, ())),
            "k": {k: await ask(system, Query(question, k=k)) for k in (1, 5)},
            "search": await ask(system, Query(question, k=6, retrieve_only=True)),
        }


async def main() -> None:
    with contextlib.redirect_stdout(sys.stderr):  # what the applications print
        module = importlib.import_module(sys.argv[1])
        wanted = sys.argv[2:] or list(module.APPS)
        replies = {name: await intervene(module.APPS[name]) for name in wanted}
    print(json.dumps(replies))


if __name__ == "__main__":
    asyncio.run(main())
