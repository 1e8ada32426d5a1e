"""Reads traces of running applications: each root span becomes a sample with its recorded answer and its stages."""

import ragstone.datasets.tabular  # noqa: F401  (it imports this package, and has to be first)
