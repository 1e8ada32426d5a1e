"""RGB: the four abilities that a model needs to answer from retrieved documents (Chen et al. 2024)."""

from ragstone.benchmarks.rgb.benchmark import RGB

__all__ = ["PLUGINS", "RGB"]

PLUGINS = {"rgb": RGB}
