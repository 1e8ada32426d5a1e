"""Records as a Parquet file, written in batches. Needs pyarrow (extra `files`)."""

from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragstone.report.export import MARK
from ragstone.report.records_table import RecordColumns, columns_of, rows_of
from ragstone.report.sanitize import readable
from ragstone.types import Benchmark, Run

if TYPE_CHECKING:
    from ragstone.structs import Scalar

_BATCH = 1_000  # rows that are in memory as Python objects
_GROUP = 16 * 2**20  # bytes of a row group: a million rows would have a thousand groups, each with its own statistics
_INTEGERS = ("planned", "prompt_tokens", "completion_tokens", "cached_tokens")


def write_parquet(run: Run, benchmark: Benchmark, stream: IO[bytes], language: str) -> None:
    """Write one row per record: scores and numeric conditions as numbers, `right` as a boolean, the rest as text."""
    columns = columns_of(run)
    casts = _casts(columns)
    schema = pa.schema([(readable(name), _ARROW[casts[name]]()) for name in columns.names], {MARK: ""})
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        batch: list[Mapping[str, Scalar | None]] = []
        group: list[pa.Table] = []
        for row in rows_of(run, benchmark, columns, language):
            batch.append({readable(name): None if value is None else casts[name](value) for name, value in row.items()})
            if len(batch) == _BATCH:
                group.append(pa.Table.from_pylist(batch, schema=schema))
                batch = []
                if sum(table.nbytes for table in group) >= _GROUP:
                    writer.write_table(pa.concat_tables(group))
                    group = []
        if batch or group:
            writer.write_table(pa.concat_tables([*group, pa.Table.from_pylist(batch, schema=schema)]))


_ARROW: Mapping[type, Callable[[], Any]] = {str: pa.string, float: pa.float64, int: pa.int64, bool: pa.bool_}


def _casts(columns: RecordColumns) -> dict[str, type]:
    """The type of each column. A condition with both numbers and texts is text."""
    casts: dict[str, type] = dict.fromkeys(columns.names, str)
    casts |= dict.fromkeys(columns.metrics, float)
    casts |= dict.fromkeys(_INTEGERS, int)
    casts["right"] = bool
    for key, kinds in columns.condition.items():
        numeric = kinds <= {int, float}
        casts[f"condition.{key}"] = next(iter(kinds)) if len(kinds) == 1 else float if numeric else str
    return casts
