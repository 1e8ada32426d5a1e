"""The user's own data as a benchmark: each row a case, whose answer was recorded before."""

from ragstone.benchmarks.own.plugin import OwnDataPlugin

__all__ = ["PLUGINS"]

PLUGINS = {"eval": OwnDataPlugin()}
