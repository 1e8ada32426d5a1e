"""Invented news in English and Chinese, made from a seed: events, people, places and works that never existed."""

from ragstone.datasets.fictional.engine import fictional_rgb

__all__ = ["fictional_rgb"]
