"""Reads traces of running applications: each root span becomes a sample with its recorded answer and its stages."""

from ragstone.datasets import tabular as _  # noqa: F401  (it imports this package, and has to be first)
