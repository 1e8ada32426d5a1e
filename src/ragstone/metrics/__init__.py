"""Metrics: one a file. Each is an immutable value that scores one case; aggregates over cases are made elsewhere.

`METRICS` finds them by name; a module of this package offers its own in `PLUGINS`, other people's come by the
entry-point group `ragstone.metrics`. A value is a metric that is ready; a callable makes one (a judged metric needs
its judge).
"""

from collections.abc import Callable
from typing import TypeAlias

from ragstone.registry import Registry
from ragstone.types import Metric

__all__ = ["METRICS", "MetricPlugin"]

MetricPlugin: TypeAlias = Metric | Callable[..., Metric]

METRICS: Registry[MetricPlugin] = Registry("metric", "ragstone.metrics", "ragstone.metrics")
