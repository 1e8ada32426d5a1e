"""A retriever of the user's at its place: `package.module:name`, `file.py:name`.

What is there is a retriever (an object with `retrieve`), or a function of the pool that returns one.
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
    """The retriever at a place. Raises UsageError where there is none."""
    retriever: Any = load_place("retriever", spec.arguments[0])
    if isinstance(retriever, type) or not hasattr(retriever, "retrieve"):
        if not callable(retriever):
            raise UsageError(f"{spec.arguments[0]} is no retriever: it has no `retrieve`.")
        retriever = retriever(building.pool)
    if not hasattr(retriever, "retrieve"):
        raise UsageError(f"{spec.arguments[0]} makes no retriever: what it returns has no `retrieve`.")
    yield retriever


PLUGINS: dict[str, Opener] = {PLACE: open_place}
