"""Reads traces of running applications: each root span becomes a sample with its recorded answer and its stages."""

from ragstone.datasets.traces.samples import SCHEMAS, is_trace, spans_as_rows

__all__ = ["SCHEMAS", "is_trace", "spans_as_rows"]
