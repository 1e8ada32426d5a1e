"""Detects files in RGB's format, for `ragstone data check`."""

from itertools import islice
from pathlib import Path

from ragstone.datasets.jsonlines import json_lines
from ragstone.datasets.rgb import NAMES, name_of
from ragstone.datasets.tabular.words import is_question
from ragstone.errors import DataError

__all__ = ["is_rgb"]

_FIELDS = frozenset({"positive", "negative", "positive_wrong", "fakeanswer"})
_MARKS = ("queries.jsonl", "dataset_info.json", "dataset_dict.json")


def is_rgb(path: Path) -> bool:
    """Whether to check this path as RGB data: a folder that is no other known kind of data set, a file with RGB's
    fields, or a file with one of RGB's names whose rows do not look like another format."""
    if path.is_dir():
        return not any(path.glob("*.parquet")) and not any(
            (folder / mark).is_file() for folder in (path, *_folders(path)) for mark in _MARKS
        ) and not any(path.glob("*/*.parquet"))  # fmt: skip
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return False
    try:
        rows = [line.row for line in islice(json_lines(path), 20) if line.row is not None]
    except DataError:
        return name_of(path) in NAMES
    if any(not _FIELDS.isdisjoint(row) for row in rows):
        return True
    has_other_fields = any(
        (is_question(key) and key != "query") or key in ("response", "retrieved_context") for row in rows for key in row
    )
    return name_of(path) in NAMES and not has_other_fields


def _folders(path: Path) -> list[Path]:
    try:
        return [inner for inner in path.iterdir() if inner.is_dir()]
    except OSError:
        return []
