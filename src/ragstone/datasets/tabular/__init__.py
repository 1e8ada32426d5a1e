"""The user's own data: questions with the answers that a system gave, in whatever file or columns they are."""

from ragstone.datasets.tabular.items import EvalData, Item
from ragstone.datasets.tabular.problems import BadData
from ragstone.datasets.tabular.reading import read_eval_data

__all__ = ["BadData", "EvalData", "Item", "read_eval_data"]
