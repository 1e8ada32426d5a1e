"""RULER's tasks (Hsieh et al. 2024), in English and Chinese, with texts of ragstone's own."""

from ragstone.benchmarks.niah.ruler.tasks import RULER

__all__ = ["RULER"]
