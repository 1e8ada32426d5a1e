"""The tables of an agreement of experts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragstone.analysis.calibration import Calibrated
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages

if TYPE_CHECKING:
    from ragstone.api.experts import ExpertAgreement

__all__ = ["expert_tables"]

_STATISTICS = (
    "kappa", "weighted_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval", "pearson", "spearman",
)  # fmt: skip
_SHOWN = 8  # ids that a cell names


def expert_tables(found: "ExpertAgreement", *, language: str = "en") -> list[Table]:
    """Agreement between experts; the judge against them; calibrated means."""
    words = messages(__name__, language)
    tables = [_agreed(found, words), _judged(found, words), _calibrated(found, words)]
    return [table for table in tables if table.rows]


def _table(words: Mapping[str, str], name: str, columns: Sequence[str], rows: Sequence[Row], keys: int = 1) -> Table:
    titles = tuple(words[column] for column in columns)
    return Table(f"experts-{name}", words[f"title_{name}"], titles, tuple(rows), (words[f"note_{name}"],), keys=keys)


def _value(value: tuple[float, float | None, float | None] | None) -> Cell:
    return Cell("–") if value is None else Cell("", *value)


def _ids(ids: Sequence[str]) -> Cell:
    return Cell(", ".join(ids[:_SHOWN]) + (f" +{len(ids) - _SHOWN}" if len(ids) > _SHOWN else ""))


def _agreed(found: "ExpertAgreement", words: Mapping[str, str]) -> Table:
    shown = [name for name in _STATISTICS if any(one.statistics[name] for one in found.agreed)]
    rows = [
        Row((Cell(one.task), Cell(str(one.items)), Cell(str(len(one.experts))),
             Cell("–") if one.items == 0 else Cell("", one.equal, unit="%"),
             *(_value(one.statistics[name]) for name in shown), _ids(one.disputed)))
        for one in found.agreed
    ]  # fmt: skip
    return _table(words, "agreed", ("task", "items", "experts", "equal", *shown, "disputed"), rows)


def _judged(found: "ExpertAgreement", words: Mapping[str, str]) -> Table:
    rows = [
        Row((Cell(one.task), Cell(one.metric), Cell(words[f"part_{one.part or 'all'}"]), Cell(str(one.n)),
             _value(one.kappa), one.bias.cell(), one.precision.cell("%"), one.recall.cell("%"),
             Cell("–") if one.correlation is None else Cell("", one.correlation), _ids(one.differ)))
        for one in found.judged
    ]  # fmt: skip
    columns = ("task", "metric", "part", "items", "kappa", "bias", "precision", "recall", "pearson", "differ")
    return _table(words, "judged", columns, rows, keys=3)


def _calibrated(found: "ExpertAgreement", words: Mapping[str, str]) -> Table:
    rows = []
    for (task, metric), one in found.calibrated.items():
        if not isinstance(one, Calibrated):
            rows.append(Row((Cell(task), Cell(metric), Cell(words["refused"].format(reason=one)))))
            continue
        rows.append(
            Row((Cell(task), Cell(metric), Cell("", one.mean, one.low, one.high), Cell("", one.naive),
                 Cell("", *one.labels_only), Cell(f"{one.weight:.2f}"), Cell(str(one.n)), Cell(str(one.judged)),
                 Cell(str(one.saved))))
        )  # fmt: skip
    columns = ("task", "metric", "calibrated", "naive", "labels_only", "weight", "labels", "scores", "saved")
    padded = [Row((*row.cells, *[Cell("")] * (len(columns) - len(row.cells)))) for row in rows]
    return _table(words, "calibrated", columns, padded, keys=2)
