"""Benchmarks: what to ask, and how the published protocol tabulates it.

`BENCHMARKS` finds them by name; a module or package here offers its own in `PLUGINS`, other people's come by the
entry-point group `ragstone.benchmarks`. A value is the benchmark's class.
"""

from typing import Any

from ragstone.registry import Registry
from ragstone.types import Benchmark

__all__ = ["BENCHMARKS"]

BENCHMARKS: Registry[type[Benchmark] | Any] = Registry("benchmark", "ragstone.benchmarks", "ragstone.benchmarks")
