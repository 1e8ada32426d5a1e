"""Gates on the metrics of a run: thresholds from Python, from `[gates]` in `ragstone.toml` or from
`[tool.ragstone.gates]` in `pyproject.toml`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ragstone.analysis import gates as analysis
from ragstone.analysis.gates import Gate, GateResult, check_thresholds, gates_of
from ragstone.engine.config_values import NUMBER, TABLE, check_value
from ragstone.engine.open_run import open_checked, viewed
from ragstone.engine.project_config import CONFIG, nearest_table
from ragstone.engine.public_functions import public
from ragstone.errors import DataError, UsageError
from ragstone.messages import preferred_language
from ragstone.metrics import better
from ragstone.report.notebook import result_snippet
from ragstone.types import Run

__all__ = ["Gate", "GateResult", "check_gates", "gates_of", "project_gates"]


class GateResults(list[GateResult]):
    """The results of gates, which show themselves: a line each."""

    def __repr__(self) -> str:
        language = preferred_language()
        return "\n".join(result.line_in(language) for result in self)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return result_snippet("", (), repr(self).splitlines())


@public
def check_gates(
    run: str | Path | Run,
    gates: Mapping[str, float] | Sequence[Gate],
    *,
    mode: Literal["interval", "point"] = "interval",
    min_coverage: float = 0.95,
    system: str | None = None,
    where: Mapping[str, str] | None = None,
) -> GateResults:
    """Checks each gate for each system of the run (a path or an open run), or only for `system`.

    `gates`: {"faithfulness": 0.8}, where a threshold is a minimum, or a maximum for metrics where lower is better; or
    `Gate`s. `mode` "interval": "failed" if the whole 95% interval of the mean is on the wrong side, "warned" if it
    contains the threshold; "point": the mean decides. If less than `min_coverage` was scored, the verdict is "unknown".
    `where`: only cases with these values of the condition or of a column of the data ({"ability": "noise"}), for
    thresholds by metric; a `Gate` has its own.
    Raises UsageError for metrics, systems or values that the run does not have.
    """
    if isinstance(run, str | Path):
        with open_checked(run) as opened:
            return check_gates(viewed(opened), gates, mode=mode, min_coverage=min_coverage, system=system, where=where)
    if isinstance(gates, Mapping):
        over = {name: limit for name, limit in gates.items() if better(name, run.meta) == "lower"}
        under = {name: limit for name, limit in gates.items() if name not in over}
        gates = gates_of(under, over, run.meta, where={name: str(value) for name, value in (where or {}).items()})
    elif where:
        raise UsageError("where= is for thresholds by metric: each Gate has its own `where`.")
    return GateResults(analysis.check_gates(run, gates, mode=mode, min_coverage=min_coverage, system=system))


def project_gates(
    start: Path | None = None, meta: Mapping[str, Any] | None = None
) -> tuple[list[Gate], dict[str, Any]]:
    """The gates and the settings `gate` and `min_coverage` from the nearest folder upward whose `ragstone.toml` has
    `[gates]`, or whose `pyproject.toml` has `[tool.ragstone.gates]`; both empty where none has. A number alone is the
    least value, or the largest of a metric of which lower values are better; `meta`, of a run, says that of the user's
    own.

        [gates]
        faithfulness = 0.8
        "ragchecker.hallucination" = { max = 0.1 }
        refusal = { min = 0.4, where = { ability = "rejection" } }
        answer_match = [
            { min = 0.8, where = { ability = "noise", noise_ratio = 0.4 } },
            { min = 0.6, where = { ability = "integration" } },
        ]
        settings = { gate = "point", min_coverage = 0.9 }
    """
    found = nearest_table(_PLACES, start)
    return ([], {}) if found is None else _read(*found, meta)


_PLACES = {CONFIG.name: ("gates",), "pyproject.toml": ("tool", "ragstone", "gates")}


def _field(path: Path) -> str:
    return ".".join(_PLACES[path.name])


def _read(path: Path, table: Any, meta: Mapping[str, Any] | None) -> tuple[list[Gate], dict[str, Any]]:
    if table != {}:
        check_value(path, _field(path), table, TABLE)
    gates: dict[tuple[Any, ...], Gate] = {}
    for name, value in table.items():
        if name == "settings":
            continue
        for limits in (value or [{}]) if isinstance(value, list) else [value]:
            for gate in _gates_of_metric(path, name, limits, meta):
                first = gates.setdefault((name, gate.side, *sorted(gate.where.items())), gate).threshold
                if first != gate.threshold:
                    limit = "min" if gate.side == "under" else "max"
                    raise DataError(
                        path,
                        f"sets {limit} twice for the same cases: {first} and {gate.threshold}. Keep one of them.",
                        field=f"{_field(path)}.{name}",
                    )
    return [*gates.values()], _settings(path, table["settings"]) if "settings" in table else {}


def _gates_of_metric(path: Path, name: str, limits: Any, meta: Mapping[str, Any] | None) -> Iterator[Gate]:
    field = f"{_field(path)}.{name}"
    if not isinstance(limits, Mapping):
        limits = {"max" if better(name, meta) == "lower" else "min": limits}
    if unknown := sorted(set(limits) - {"min", "max", "where"}):
        raise DataError(path, f"found {unknown[0]!r}; expected min, max or where.", field=field)
    where = limits.get("where", {})
    if not isinstance(where, Mapping) or not all(isinstance(value, str | int | float) for value in where.values()):
        raise DataError(path, 'where is a table of values, such as { ability = "noise" }.', field=field)
    if not limits.keys() & {"min", "max"}:
        raise DataError(path, "has no threshold: add min or max.", field=field)
    sides: tuple[tuple[str, Literal["under", "over"]], ...] = (("min", "under"), ("max", "over"))
    for key, side in sides:
        if key not in limits:
            continue
        check_value(path, field, limits[key], NUMBER)
        try:
            check_thresholds({name: limits[key]})
        except UsageError as error:
            raise DataError(path, str(error), field=field) from None
        yield Gate(name, float(limits[key]), side, {key: str(value) for key, value in where.items()})


def _settings(path: Path, table: Any) -> dict[str, Any]:
    allowed: Sequence[str] = ("gate", "min_coverage")
    if not isinstance(table, Mapping) or set(table) - set(allowed):
        raise DataError(path, f"expected {' and '.join(allowed)}.", field=f"{_field(path)}.settings")
    if table.get("gate", "interval") not in ("interval", "point"):
        raise DataError(path, "gate is interval or point.", field=f"{_field(path)}.settings")
    coverage = table.get("min_coverage", 0.95)
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 <= coverage <= 1:
        raise DataError(path, "min_coverage is a number from 0 to 1.", field=f"{_field(path)}.settings")
    return dict(table)
