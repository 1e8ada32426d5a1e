"""Benchmarks: what to ask, and how the published protocol tabulates it.

`BENCHMARKS` finds plugins by name. A module or package here lists its plugins in `PLUGINS`, and so does the module
`benchmarks` of a capability; external ones use the entry-point group `ragstone.benchmarks`.

`plugin.Plugin` is the interface of a plugin, and `base.BaseBenchmark` has the
defaults of a benchmark.
"""

from ragstone.benchmarks.plugin import Plugin
from ragstone.registry import Registry

__all__ = ["BENCHMARKS"]

_PARTS = sorted(
    f"{name}:call" if callable(vars(Plugin).get(name)) else name
    for name in {*Plugin.__annotations__, *vars(Plugin)}
    if not name.startswith("_")
)

BENCHMARKS: Registry[Plugin] = Registry(
    "benchmark", "ragstone.benchmarks", "ragstone.benchmarks", needs=["from_meta:call", *_PARTS], part="benchmarks"
)
