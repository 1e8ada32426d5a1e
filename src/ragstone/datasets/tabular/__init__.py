"""Reads the user's own data: questions with a system's answers, from many file formats and column layouts."""

from ragstone.datasets.tabular.build import retrieval_only, retrieval_only_note
from ragstone.datasets.tabular.eval_data import read_eval_data
from ragstone.datasets.tabular.items import EvalData, Item
from ragstone.datasets.tabular.problems import BadData

__all__ = ["BadData", "EvalData", "Item", "read_eval_data", "retrieval_only", "retrieval_only_note"]
