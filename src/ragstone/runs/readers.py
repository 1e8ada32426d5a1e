"""What reads the passages of a system, as its specification in a run file tells."""

from collections.abc import Mapping
from typing import Any


def is_extractive(spec: Mapping[str, Any]) -> bool:
    """Whether no language model answers: `local/extractive`, alone or within `rag(…)`, copies a sentence."""
    reader = spec.get("reader")
    return "extractive" in (spec.get("kind"), reader.get("kind") if isinstance(reader, Mapping) else None)
