"""A benchmark by its name, from the options that a user gives it."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from ragstone.benchmarks import BENCHMARKS

__all__ = ["make_benchmark"]

# What turns a user's options (names of data, of retrievers…) into the benchmark; one that somebody registered is called
# with the options as they are.
BUILDERS: Mapping[str, str] = {
    "mirage": "ragstone.api.make_mirage:make_mirage",
    "niah": "ragstone.api.make_niah:make_niah_async",
    "rgb": "ragstone.api.make_rgb:make_rgb",
}


def make_benchmark(name: str, **options: Any) -> Any:
    """The benchmark of this name over what `options` say, or a coroutine that makes it. Raises UsageError."""
    kind: Any = BENCHMARKS.get(name)  # says which there are where this one is not
    if name not in BUILDERS:
        return kind(**options)
    module, _, function = BUILDERS[name].partition(":")
    make: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return make(**options)
