"""The user's own data as a benchmark: each row a case, whose answer was recorded before."""

from ragstone.benchmarks.own.benchmark import OwnData, Recording

__all__ = ["PLUGINS", "OwnData", "Recording"]

PLUGINS = {"eval": OwnData}
