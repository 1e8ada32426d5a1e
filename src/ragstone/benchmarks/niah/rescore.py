"""Results of other needle programs: a folder with one JSON file per cell (Kamradt), or a JSON list of cells (as
OpenAI's runs were published).

Repeats of a cell are averaged first and cells afterwards, so that cells that were repeated do not count more than the
rest. `share_at_10` is the share of cells whose mean is the highest score. (For the published files of Claude 2.1 these
are 6.016 and 54.9%; the 27% in its first report is another statistic.)
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import DataError, UsageError
from ragstone.storage import FormatError, parse_json, text_of
from ragstone.structs import Frozen

TOP = 10  # the judge's scale is 1 to 10
_LENGTHS, _DEPTHS = ("context_length", "token_limit"), ("depth_percent",)


class CellResult(Frozen, frozen=True):
    """One row of a file. `version` and `model` are None if the file does not name them; `source` is the file."""

    context_length: int
    depth_percent: float
    score: float
    model: str | None = None
    version: int | str | None = None
    answer: str = ""
    needle: str = ""
    source: str = ""


class Results(Frozen, frozen=True):
    """The rows of one model and version. Rows without a model are grouped by file (`source`)."""

    model: str | None
    version: int | str | None
    rows: tuple[CellResult, ...]
    source: str = ""

    def cells(self) -> list[dict[str, Any]]:
        """One dict per cell, by length and depth: `context_length`, `depth_percent`, `score` (mean), `n` rows."""
        scores_by_cell: dict[tuple[int, float], list[float]] = {}
        for row in self.rows:
            scores_by_cell.setdefault((row.context_length, row.depth_percent), []).append(row.score)
        return [
            {
                "context_length": length, "depth_percent": _as_number(depth),
                "score": _as_number(math.fsum(scores) / len(scores)), "n": len(scores),
            }
            for (length, depth), scores in sorted(scores_by_cell.items())
        ]  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """The output of `ragstone score niah --json`."""
        cells = self.cells()
        return {
            "cells": cells,
            "mean_of_cells": math.fsum(cell["score"] for cell in cells) / len(cells),
            "share_at_10": sum(cell["score"] == TOP for cell in cells) / len(cells),
            "n": len(self.rows),
            "model": self.model,
            "version": self.version,
        }


def read_results(paths: Sequence[Path]) -> list[Results]:
    """Every row under these files and folders, by model and version."""
    rows_by_model: dict[tuple[str, str, str], list[CellResult]] = {}
    for path in paths:
        for file in _files(path):
            for row in _rows(file):
                source = row.source if row.model is None else ""
                key = (row.model or "", f"{row.version!s:>8}" if row.version is not None else "", source)
                rows_by_model.setdefault(key, []).append(row)
    if not rows_by_model:
        raise UsageError(f"{', '.join(map(str, paths))}: contains no results; expected JSON files.")
    return [Results(rows[0].model, rows[0].version, tuple(rows), key[2]) for key, rows in sorted(rows_by_model.items())]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.json") if file.is_file())
        if not files:
            raise UsageError(f"{path}: this folder contains no JSON file.")
        yield from files
    elif path.is_file():
        yield path
    else:
        raise UsageError(f"{path}: no such file or folder.")


def _rows(file: Path) -> Iterator[CellResult]:
    try:
        content = parse_json(text_of(file))
    except UnicodeDecodeError as error:
        raise DataError(file, f"byte {error.start + 1} is not UTF-8.") from None
    except FormatError as error:
        raise DataError(file, f"{error}.", line=error.line) from None
    rows: Iterable[Any] = content if isinstance(content, list) else [content]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(file, "expected an object, or a list of objects.", line=0, field=f"item {number}")
        yield _row(file, row)


def _row(file: Path, row: dict[str, Any]) -> CellResult:
    length = _number(file, row, _LENGTHS)
    if length != int(length) or length < 1:
        raise DataError(file, f"{length} is not a number of tokens.", field=_LENGTHS[0])
    depth = _number(file, row, _DEPTHS)
    if not 0 <= depth <= 100:
        raise DataError(file, f"{depth} is not a percentage; expected 0 to 100.", field=_DEPTHS[0])
    model, version = row.get("model"), row.get("version")
    return CellResult(
        int(length),
        depth,
        _number(file, row, ("score",)),
        model if isinstance(model, str) else None,
        version if isinstance(version, int | str) else None,
        str(row.get("model_response") or ""),
        str(row.get("needle") or "").strip(),
        str(file),
    )


def _number(file: Path, row: dict[str, Any], names: Sequence[str]) -> float:
    name = next((name for name in names if name in row), None)
    if name is None:
        raise DataError(file, f"has no {' or '.join(names)}; expected a cell of a needle test.")
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(file, f"{value!r} is not a number.", field=name)
    return float(value)


def _as_number(value: float) -> float | int:
    """25 rather than 25.0, as in the files."""
    return int(value) if value == int(value) else value
