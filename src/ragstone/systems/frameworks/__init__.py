"""Objects of LangChain, LlamaIndex, Haystack and DSPy, asked by the interface that each framework has for it.

Nothing is imported before such an object arrives: the modules of its classes tell the framework.
"""

import importlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ragstone.types import Query

__all__ = ["FrameworkCall", "framework_call"]
# Class of a framework (the first part of its module, and its name) → the adapter's module.
_CLASSES = {
    ("langchain_core", "Runnable"): "langchain",
    ("llama_index", "BaseQueryEngine"): "llamaindex",
    ("llama_index", "BaseChatEngine"): "llamaindex",
    ("haystack", "PipelineBase"): "haystack",
    ("dspy", "Module"): "dspy",
}


@dataclass(frozen=True)
class FrameworkCall:
    """`function` asks the object; `accepts` names what it takes besides the question (`python.PARAMETERS`)."""

    framework: str
    function: Callable[[Query], Awaitable[Any]]
    accepts: frozenset[str] = frozenset()


def framework_call(target: Any) -> FrameworkCall | None:
    """How to ask an object of a framework; None if it belongs to none of them."""
    for base in type(target).__mro__:
        adapter = _CLASSES.get((base.__module__.partition(".")[0], base.__name__))
        if adapter is not None:
            module = importlib.import_module(f"ragstone.systems.frameworks.{adapter}")
            return FrameworkCall(adapter, *module.call_of(target))
    return None
