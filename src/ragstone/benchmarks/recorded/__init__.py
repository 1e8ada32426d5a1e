"""The user's own data as a benchmark: each row is a case with a recorded answer."""

from ragstone.benchmarks.recorded.plugin import RecordedAnswersPlugin

__all__ = ["PLUGINS"]

PLUGINS = {"eval": RecordedAnswersPlugin()}
