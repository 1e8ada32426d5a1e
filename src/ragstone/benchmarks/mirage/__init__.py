"""MIRAGE (Park et al. 2025): how well a model adapts to the context that a retriever gives it."""

from ragstone.benchmarks.mirage.plugin import MiragePlugin

__all__ = ["PLUGINS"]

PLUGINS = {"mirage": MiragePlugin()}
