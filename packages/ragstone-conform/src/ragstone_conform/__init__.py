"""Other libraries' metrics, put to cases with recorded verdicts and known right scores.

`conform(target_of("ragas"), load_cases())` is what the command `ragstone-conform` does."""

from ragstone_conform.cases import load_cases
from ragstone_conform.running import conform
from ragstone_conform.targets import target_of

__all__ = ["conform", "load_cases", "target_of"]
