"""The user's own data: questions with the answers that a system gave, in whatever file or columns they are."""

from ragstone.datasets.own.items import NO_ANSWER, EvalData, Item
from ragstone.datasets.own.problems import BadData
from ragstone.datasets.own.reading import read_eval_data

__all__ = ["NO_ANSWER", "BadData", "EvalData", "Item", "read_eval_data"]
