"""Gates of a project: thresholds from the command line or from `[tool.ragstone.gates]` in `pyproject.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.analysis.gates import Gate, GateResult, check_gates, gates_of
from ragstone.errors import DataError

__all__ = ["Gate", "GateResult", "check_gates", "gates_of", "project_gates"]


def project_gates(start: Path | None = None) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """(thresholds not to fall under, not to exceed, settings `gate` and `min_coverage`) from the nearest
    `pyproject.toml` upward that has `[tool.ragstone.gates]`; all empty where none has.

        [tool.ragstone.gates]
        faithfulness = 0.8                              # the same as fail-under
        "ragchecker.hallucination" = { max = 0.1 }
        settings = { gate = "point", min_coverage = 0.9 }
    """
    folder = (start or Path.cwd()).resolve()
    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if not path.is_file():
            continue
        try:
            held = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("ragstone", {}).get("gates")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise DataError(path, f"cannot be read ({error}).") from None
        if held is not None:
            return _read(path, held)
    return {}, {}, {}


def _read(path: Path, held: Any) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    under: dict[str, float] = {}
    over: dict[str, float] = {}
    settings: dict[str, Any] = {}
    if not isinstance(held, Mapping):
        raise DataError(path, "[tool.ragstone.gates] is no table.")
    for name, told in held.items():
        if name == "settings":
            settings = _settings(path, told)
            continue
        limits = told if isinstance(told, Mapping) else {"min": told}
        if unknown := sorted(set(limits) - {"min", "max"}):
            raise DataError(path, f"found {unknown[0]!r}; expected min or max.", field=f"tool.ragstone.gates.{name}")
        for key, into in (("min", under), ("max", over)):
            if key in limits:
                if isinstance(limits[key], bool) or not isinstance(limits[key], int | float):
                    raise DataError(path, f"{limits[key]!r} is no number.", field=f"tool.ragstone.gates.{name}")
                into[name] = float(limits[key])
    return under, over, settings


def _settings(path: Path, told: Any) -> dict[str, Any]:
    allowed: Sequence[str] = ("gate", "min_coverage")
    if not isinstance(told, Mapping) or set(told) - set(allowed):
        raise DataError(path, f"expected {' and '.join(allowed)}.", field="tool.ragstone.gates.settings")
    if told.get("gate", "interval") not in ("interval", "point"):
        raise DataError(path, "gate is interval or point.", field="tool.ragstone.gates.settings")
    coverage = told.get("min_coverage", 0.95)
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 <= coverage <= 1:
        raise DataError(path, "min_coverage is a number from 0 to 1.", field="tool.ragstone.gates.settings")
    return dict(told)
