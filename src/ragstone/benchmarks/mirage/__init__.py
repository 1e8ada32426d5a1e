"""MIRAGE (Park et al. 2025): how well a model adapts to the context that a retriever gives it."""

from ragstone.benchmarks.mirage.benchmark import MIRAGE

__all__ = ["MIRAGE", "PLUGINS"]

PLUGINS = {"mirage": MIRAGE}
