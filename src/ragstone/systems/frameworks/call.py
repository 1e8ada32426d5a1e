"""What every adapter of a framework returns."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ragstone.types import Query


@dataclass(frozen=True)
class FrameworkCall:
    """`function` asks the object; `accepts` names what it takes besides the question (`python.PARAMETERS`)."""

    framework: str
    function: Callable[[Query], Awaitable[Any]]
    accepts: frozenset[str] = frozenset()
