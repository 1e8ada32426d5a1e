"""Which reader a source needs."""

from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import json_lines
from ragstone.datasets.own.memory import memory_rows
from ragstone.datasets.own.rows import Raw, Row

__all__ = ["open_source"]


def open_source(source: Any, *, sheet: str | None = None, split: str | None = None) -> Raw:
    """The rows of a path or of a value in memory."""
    if not isinstance(source, (str, Path)):
        return memory_rows(source)
    path = Path(source)
    return Raw(path.name, (Row(f"line {line.number}", line.row or {}, line.problem) for line in json_lines(path)))
