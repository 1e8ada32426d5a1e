"""Needle in a haystack: does a model find a sentence in a long text, at which length and which depth?"""

from ragstone.benchmarks.niah.plugin import NeedlePlugin

__all__ = ["PLUGINS"]

PLUGINS = {"niah": NeedlePlugin()}
