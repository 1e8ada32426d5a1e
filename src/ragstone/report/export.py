"""Export runs: records as CSV, Excel, JSON lines, Parquet or JUnit; tables as Markdown or LaTeX; rankings as TREC runs.

Records are streamed, so a run of any size needs little memory. Texts of models stay text: cells that a spreadsheet
would run as a formula get a leading apostrophe, and characters that a format forbids are replaced by symbols.
"""

import codecs
import contextlib
import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import msgspec

from ragstone.errors import UnknownName, UsageError
from ragstone.optional import load
from ragstone.report.records_table import columns_of, guarded, rows_of
from ragstone.report.sanitize import printable_json, readable
from ragstone.storage import replacing
from ragstone.types import Benchmark, Run

MARK = "ragstone export"  # in files of formats that have nothing of their own to be known by

Target: TypeAlias = Path | str | IO[str] | IO[bytes]
Writer: TypeAlias = Callable[[Run, Benchmark, Any, str], None]


@dataclass(frozen=True)
class Format:
    """An export format: its usual file suffix, whether it is binary, a function that returns its writer (raises
    `MissingExtra` where a package is missing), and what is near the beginning or the end of each of its files
    (b"" if nothing is there that other programs do not write)."""

    suffix: str
    binary: bool
    writer: Callable[[], Writer]
    mark: bytes


def export(run: Run, benchmark: Benchmark, format: str, target: Target, *, language: str = "en") -> None:  # noqa: A002
    """Write the run to `target`, a path or an open stream, in a format of `FORMATS`.

    csv, xlsx, jsonl, parquet and junit have one entry per record and the number of planned records where the run file
    has it (junit: cases not yet asked are skipped); markdown and latex have the benchmark's tables; trec
    has the ranking of each question. csv begins with a
    byte-order mark, so that Excel reads Chinese, and quotes every text. xlsx and parquet need the extra `files` and a
    binary stream. `language` is that of tables and reasons. Raises `UnknownName` for an unknown format, `MissingExtra`
    where a package is missing, and `UsageError` where the file cannot be written; an existing file is then unchanged.
    """
    if format not in FORMATS:
        raise UnknownName("export format", format, FORMATS)
    kind = FORMATS[format]
    write = kind.writer()  # before the file is opened, so that a missing package leaves an existing file unchanged
    with _opened(target, binary=kind.binary) as stream:
        write(run, benchmark, stream, language)


@contextlib.contextmanager
def _opened(target: Target, *, binary: bool) -> Iterator[IO[Any]]:
    if isinstance(target, str | Path):
        with replacing(target) as raw:
            yield raw if binary else _as_text(raw)
    elif isinstance(target, io.TextIOBase):
        if binary:
            raise UsageError("This format is binary: export it to a file or a binary stream.")
        yield cast("IO[str]", target)
    else:
        yield target if binary else _as_text(target)


def _as_text(raw: Any) -> IO[str]:
    """An unbuffered text stream: after a failed write there is nothing left to flush."""
    return cast("IO[str]", codecs.getwriter("utf-8")(raw, "backslashreplace"))


def _csv(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    columns = columns_of(run)
    stream.write("\ufeff")
    writer = csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([guarded(readable(name)) for name in columns.names])
    for row in rows_of(run, benchmark, columns, language):
        writer.writerow([guarded(value) for value in row.values()])


def _jsonl(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    planned = {system: f',"planned":{plan.total}' for system, plan in run.plans().items()}
    for record in run.records():
        diagnosis = _json(benchmark.explain(record, language=language))
        stream.write(f'{{"record":{_json(record)},"finding":{diagnosis}{planned.get(record.system_id, "")}}}\n')


def _json(value: Any) -> str:
    return printable_json(msgspec.to_builtins(value))


def _lazy(module: str, function: str, purpose: str) -> Callable[[], Writer]:
    """The writer of a module that is imported only when needed."""
    return lambda: cast("Writer", getattr(load(f"ragstone.report.{module}", extra="files", purpose=purpose), function))


FORMATS: Mapping[str, Format] = {
    "csv": Format(".csv", False, lambda: _csv, b'"system","case"'),
    "xlsx": Format(".xlsx", True, _lazy("xlsx", "write_xlsx", "Excel export"), MARK.encode()),
    "jsonl": Format(".jsonl", False, lambda: _jsonl, b'{"record":'),
    "parquet": Format(".parquet", True, _lazy("parquet", "write_parquet", "Parquet export"), MARK.encode()),
    "junit": Format(".xml", False, _lazy("junit", "write_junit", "JUnit export"), b'<testsuites name="ragstone '),
    "trec": Format(".trec", False, _lazy("trec", "write_trec", "TREC export"), b""),
    "markdown": Format(".md", False, _lazy("markup", "write_markdown", "Markdown export"), MARK.encode()),
    "latex": Format(".tex", False, _lazy("markup", "write_latex", "LaTeX export"), b"% Needs \\usepackage{booktabs"),
}


def is_export(path: Path) -> bool:
    """Whether the file is empty or was written by `export`, in any format."""
    with path.open("rb") as file:
        found = file.read(1_000)
        file.seek(max(0, path.stat().st_size - 100_000))
        found += file.read()
    return not found.strip() or any(kind.mark and kind.mark in found for kind in FORMATS.values())
