"""Reads rows from memory: lists of objects, frames of pandas and polars, data sets of Hugging Face. None of these
libraries is imported; their objects are recognized by their methods."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.tabular.rows import DataRow, Raw
from ragstone.errors import UsageError

_EXPECTED = "a path, a list of dicts, a pandas or polars frame, or a datasets.Dataset"


def memory_rows(source: Any) -> Raw:
    """The rows of a value. Raises UsageError if it has none."""
    kind = type(source).__name__
    if _is_frame_of_splits(source):
        names = ", ".join(map(repr, source))
        raise UsageError(f"{kind}: holds the splits {names}; give one of them: data[{next(iter(source))!r}].")
    name = "data" if kind in ("list", "tuple", "dict", "generator") else kind
    return Raw(name, _numbered(_records(source)))


def _records(source: Any) -> Iterable[Any]:
    if callable(method := getattr(source, "iter_rows", None)):  # polars
        return method(named=True)  # type: ignore[no-any-return]
    if hasattr(source, "iloc") and callable(method := getattr(source, "to_dict", None)):  # pandas
        return method(orient="records")  # type: ignore[no-any-return]
    if callable(collect := getattr(source, "collect", None)) and not isinstance(source, Mapping):  # a lazy polars frame
        return _records(collect())
    if isinstance(source, Mapping):
        return _columns(source)
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise UsageError(f"The data are {kind_of(source)}; expected {_EXPECTED}.")
    return source


def _columns(source: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a mapping of columns."""
    lengths = {name: len(column) for name, column in source.items() if hasattr(column, "__len__")}
    if not source or len(lengths) < len(source) or any(isinstance(column, str) for column in source.values()):
        raise UsageError(f"The data are one object that is not columns of equal length; expected {_EXPECTED}.")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
        raise UsageError(f"The data are columns of different lengths ({shown}); expected {_EXPECTED}.")
    columns = [list(column) for column in source.values()]
    return (dict(zip(source, row, strict=True)) for row in zip(*columns, strict=True))


def _numbered(records: Iterable[Any]) -> Iterator[DataRow]:
    for number, record in enumerate(records, 1):
        cells = _cells(record)
        where = f"row {number}"
        if cells is None:
            yield DataRow(where, {}, f"found {kind_of(record)}; expected an object with named columns.")
        else:
            yield DataRow(where, cells)


def _cells(record: Any) -> dict[str, Any] | None:
    if isinstance(record, Mapping):
        return {str(name): value for name, value in record.items()}
    if callable(dump := getattr(record, "model_dump", None)):  # pydantic: the samples of ragas and deepeval
        return dict(dump())
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    return None


def _is_frame_of_splits(source: Any) -> bool:
    """Whether this is a datasets.DatasetDict."""
    return isinstance(source, Mapping) and bool(source) and all(
        hasattr(part, "column_names") and not isinstance(part, Mapping) for part in source.values()
    )  # fmt: skip
