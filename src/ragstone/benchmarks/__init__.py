"""Benchmarks: what to ask, and how the published protocol tabulates it.

`BENCHMARKS` finds their plugins by name; a module or package here offers its own in `PLUGINS`, other people's come by
the entry-point group `ragstone.benchmarks`. `plugin.Plugin` says what one is, `base.BaseBenchmark` has the defaults of
a benchmark.
"""

from ragstone.benchmarks.plugin import Plugin
from ragstone.registry import Registry

__all__ = ["BENCHMARKS"]

BENCHMARKS: Registry[Plugin] = Registry("benchmark", "ragstone.benchmarks", "ragstone.benchmarks")
