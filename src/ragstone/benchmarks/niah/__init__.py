"""Needle in a haystack: does a model find a sentence in a long text, at which length and which depth?"""

from ragstone.benchmarks.niah.benchmark import NIAH

__all__ = ["NIAH", "PLUGINS"]

PLUGINS = {"niah": NIAH}
