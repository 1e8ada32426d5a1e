"""Asks applications under interventions, in a Python with the frameworks: `intervene.py PLACE…` prints one document.

`given`: 64 questions at once, each with two passages of its own.
"""

import asyncio
import json
import sys
from typing import Any

import msgspec

from ragstone.errors import SystemFailed
from ragstone.models import ModelOptions
from ragstone.systems import accepts_of, open_system
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Passage, Query, System

GIVEN = 64


def passages(item: int) -> tuple[Passage, ...]:
    texts = (f"Item {item} costs {item}000 crowns.", f"第{item}号商品没有第二个价格 (crowns)。")
    return tuple(Passage(f"given-{item}-{number}", text, relevant=True) for number, text in enumerate(texts))


async def ask(system: System, query: Query) -> Any:
    try:
        return msgspec.to_builtins(await system.answer(query))
    except SystemFailed as error:
        return {"kind": error.kind, "error": str(error)}


async def intervene(place: str) -> dict[str, Any]:
    options = ModelOptions(in_flight=GIVEN, deadline=60)
    question = "How much is item 3?"
    async with open_system(place, template=RAG_TEMPLATE, options=options) as system:
        queries = [Query(f"How much is item {item}?", passages(item)) for item in range(GIVEN)]
        return {
            "accepts": sorted(accepts_of(system)),
            "given": await asyncio.gather(*(ask(system, query) for query in queries)),
            "closed": await ask(system, Query(question, ())),
            "as_is": await ask(system, Query(question)),
            "k": {k: await ask(system, Query(question, k=k)) for k in (1, 5)},
            "search": await ask(system, Query(question, retrieve_only=True)),
            "search_k": await ask(system, Query(question, k=6, retrieve_only=True)),
        }


async def main() -> None:
    print(json.dumps({place: await intervene(place) for place in sys.argv[1:]}))


if __name__ == "__main__":
    asyncio.run(main())
