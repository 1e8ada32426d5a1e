"""The user's own retriever by its location: `package.module:name` or `file.py:name`.

The location holds a retriever (an object with `retrieve`), or a function that takes the pool and returns one.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ragstone.errors import UsageError
from ragstone.registry import load_place
from ragstone.retrieval.names import PLACE, Spec
from ragstone.retrieval.open import Building, Opener
from ragstone.types import Retriever

__all__ = ["PLUGINS", "open_place"]


@contextlib.asynccontextmanager
async def open_place(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever at a location. Raises UsageError if there is none."""
    retriever: Any = load_place("retriever", spec.arguments[0])
    if isinstance(retriever, type) or not hasattr(retriever, "retrieve"):
        if not callable(retriever):
            raise UsageError(f"{spec.arguments[0]} is not a retriever: add a method `retrieve`.")
        retriever = retriever(building.pool)
    if not hasattr(retriever, "retrieve"):
        raise UsageError(f"{spec.arguments[0]} must return an object with a method `retrieve`.")
    yield retriever


PLUGINS: dict[str, Opener] = {PLACE: open_place}
