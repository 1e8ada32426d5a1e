"""The user's own data as a benchmark: each row a case, whose answer was recorded before."""

from ragstone.benchmarks.recorded.plugin import OwnDataPlugin

__all__ = ["PLUGINS"]

PLUGINS = {"eval": OwnDataPlugin()}
