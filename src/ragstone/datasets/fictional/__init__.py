"""Invented news in English and Chinese, made from a seed: events, people, places and works that never existed."""

from ragstone.datasets.fictional.engine import fictional_rgb
from ragstone.datasets.fictional.pages import DIFFICULTIES, VERSIONS, Difficulty

__all__ = ["DIFFICULTIES", "VERSIONS", "Difficulty", "fictional_rgb"]
