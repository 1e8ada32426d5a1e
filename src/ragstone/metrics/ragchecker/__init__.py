"""RAGChecker's measures under its name, by claims: overall (precision, recall, F1), of the retriever (claim recall,
context precision) and of the generator (the rest). One a module.

Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation". Where its
program gives 0 because there is nothing to divide by, ours does not apply and says why.

For each answer: faithfulness + hallucination + self-knowledge = 1, and precision + both noise sensitivities +
hallucination = 1.
"""

import importlib
import pkgutil
from typing import Any

__all__ = ["PLUGINS"]

PLUGINS: dict[str, Any] = {
    name: plugin
    for module in pkgutil.iter_modules(__path__)
    for name, plugin in importlib.import_module(f"{__name__}.{module.name}").PLUGINS.items()
}
