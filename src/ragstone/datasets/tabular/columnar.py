"""Reads Parquet, Arrow, and folders saved by Hugging Face's `datasets`, with pyarrow."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular.rows import DataRow, Raw
from ragstone.errors import DataError, UsageError, check_name
from ragstone.optional import load
from ragstone.storage import ReaderFailed, read_bounded

_BATCH = 128  # rows: a small file may hold large ones
_SHARD = re.compile(r"(?P<split>.+?)-\d{5}-of-\d{5}(-[0-9a-f]+)?$")
_INDEX = re.compile(r"__index_level_\d+__$")


def parquet_rows(path: Path) -> Raw:
    """The rows of a Parquet file, read in batches. Raises DataError or MissingExtra."""
    return Raw(path.name, _numbered(parquet_records(path)))


def arrow_rows(path: Path) -> Raw:
    """The rows of an Arrow (Feather) file or stream. Raises DataError or MissingExtra."""
    return Raw(path.name, _numbered(_records(path, _arrow, "Arrow")))


def dataset_folder(folder: Path, *, split: str | None = None) -> Raw | None:
    """The rows of a folder written by `save_to_disk` or with Parquet files laid out as on the Hugging Face hub; None
    for other folders. `split` selects a split. Raises UsageError if there are several and `split` is None."""
    splits = _saved_splits(folder)
    if splits:
        chosen = _chosen(folder, splits, split)
        raw = _saved(chosen)
        raw.name = folder.name if len(splits) == 1 else f"{folder.name}/{chosen.name}"
        return raw
    shards = _parquet_splits(folder)
    if not shards:
        return None
    files = _chosen(folder, shards, split)
    return Raw(folder.name, _numbered(record for path in files for record in parquet_records(path)))


def _chosen(folder: Path, splits: Mapping[str, Any], split: str | None) -> Any:
    if split is not None:
        check_name("split", split, splits)
        return splits[split]
    if len(splits) > 1:
        raise UsageError(f"{folder} holds the splits {', '.join(map(repr, splits))}; choose one with --split NAME.")
    return next(iter(splits.values()))


def _saved_splits(folder: Path) -> dict[str, Path]:
    """Split → folder written by `save_to_disk`; for a data set without splits, the folder itself."""
    if _is_saved(folder):
        return {_name_of_split(folder): folder}
    listed = _json(folder / "dataset_dict.json").get("splits")
    names = listed if isinstance(listed, list) else sorted(inner.name for inner in folder.iterdir() if inner.is_dir())
    return {str(name): folder / str(name) for name in names if _is_saved(folder / str(name))}


def _is_saved(folder: Path) -> bool:
    return folder.is_dir() and (folder / "dataset_info.json").is_file() and any(folder.glob("*.arrow"))


def _name_of_split(folder: Path) -> str:
    return str(_json(folder / "state.json").get("_split") or "data")


def _saved(folder: Path) -> Raw:
    state = _json(folder / "state.json")
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise DataError(folder, "holds a selection of rows as indices.", advice="Save it after flatten_indices().")
    listed = state.get("_data_files")
    names = [file.get("filename") for file in listed if isinstance(file, dict)] if isinstance(listed, list) else []
    files = [folder / str(name) for name in names] or sorted(folder.glob("*.arrow"))
    for file in files:
        if file.parent != folder or not file.is_file():
            raise DataError(folder, f"{file.name} is missing.", advice="Copy the folder again, whole.")
    labels = _labels(_json(folder / "dataset_info.json"))
    return Raw(
        folder.name,
        _numbered(record for file in files for record in _labelled(_records(file, _arrow, "Arrow"), labels)),
    )


def _labels(info: Mapping[str, Any]) -> dict[str, list[str]]:
    """The class names of columns with class numbers."""
    features = info.get("features")
    return {
        name: feature["names"]
        for name, feature in (features.items() if isinstance(features, dict) else ())
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list)
    }


def _labelled(records: Iterator[dict[str, Any]], labels: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    for record in records:
        for name, names in labels.items():
            number = record.get(name)
            if isinstance(number, int) and 0 <= number < len(names):
                record[name] = names[number]
        yield record


def _parquet_splits(folder: Path) -> dict[str, list[Path]]:
    """Parquet files by split: the part of their names before "-00000-of-00002", or their folder."""
    splits: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        inner = path.relative_to(folder).parent
        if len(inner.parts) > 2 or any(part.startswith(".") for part in inner.parts):
            continue
        shard = _SHARD.match(path.stem)
        below = "/".join(part for part in inner.parts if part != "data")
        split = shard["split"] if shard else "" if below and path.stem.isdigit() else path.stem
        splits.setdefault("/".join(part for part in (below, split) if part), []).append(path)
    return splits


def parquet_records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file. Raises DataError or MissingExtra."""
    return _records(path, _parquet, "Parquet")


def _records(path: Path, read: Callable[[Path], Iterator[Any]], kind: str) -> Iterator[dict[str, Any]]:
    """What `read` yields, within the budget of the file."""
    try:
        yield from read_bounded(read, path)
    except (ReaderFailed, OSError) as error:
        raise DataError(path, f"cannot be read as {kind} ({' '.join(str(error).split())[:200]}).") from None


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    parquet = load("pyarrow.parquet", extra="files", purpose="Reading Parquet")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH):
            yield from _rows(batch)


def _arrow(path: Path) -> Iterator[dict[str, Any]]:
    pyarrow = load("pyarrow", extra="files", purpose="Reading Arrow files")
    ipc = load("pyarrow.ipc", extra="files", purpose="Reading Arrow files")
    with path.open("rb") as probe:
        is_file = probe.read(6) == b"ARROW1"
    with pyarrow.memory_map(str(path)) as source:
        if is_file:
            reader = ipc.open_file(source)
            for place in range(reader.num_record_batches):
                yield from _sliced(reader.get_batch(place))
        else:
            for batch in ipc.open_stream(source):
                yield from _sliced(batch)


def _sliced(batch: Any) -> Iterator[dict[str, Any]]:
    for start in range(0, batch.num_rows, _BATCH):
        yield from _rows(batch.slice(start, _BATCH))


def _rows(batch: Any) -> Iterator[dict[str, Any]]:
    batch.validate(full=True)  # a damaged Arrow file would otherwise be read beyond its end
    for record in batch.to_pylist():
        yield {name: value for name, value in record.items() if not _INDEX.match(name)}


def _numbered(records: Iterator[dict[str, Any]]) -> Iterator[DataRow]:
    for number, record in enumerate(records, 1):
        yield DataRow(f"row {number}", record)


def _json(path: Path) -> dict[str, Any]:
    """The JSON object in a small file; {} if there is none."""
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
