"""RGB: the four abilities that a model needs to answer from retrieved documents (Chen et al. 2024)."""

from ragstone.benchmarks.rgb.plugin import RgbPlugin

__all__ = ["PLUGINS"]

PLUGINS = {"rgb": RgbPlugin()}
