"""Runs for other programs: records as CSV, Excel, JSON lines, Parquet or JUnit; tables as Markdown or LaTeX.

Records are streamed, so a run of any size needs little memory. What models wrote stays text: cells that a spreadsheet
would run as a formula get a leading apostrophe, and characters that a format forbids are replaced by their pictures.
"""

import codecs
import contextlib
import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from ragstone.errors import UnknownName, UsageError
from ragstone.report.optional import load
from ragstone.report.records_table import columns_of, guarded, rows_of
from ragstone.report.sanitize import readable
from ragstone.storage import replacing
from ragstone.types import Benchmark, Run, to_json

__all__ = ["FORMATS", "Format", "Target", "export"]

Target: TypeAlias = Path | str | IO[str] | IO[bytes]
Writer: TypeAlias = Callable[[Run, Benchmark, Any, str], None]


@dataclass(frozen=True)
class Format:
    """One format: the usual suffix of its files, whether it is binary, and what gives the function that writes it to
    an open stream (`MissingExtra` where that needs what is not installed)."""

    suffix: str
    binary: bool
    writer: Callable[[], Writer]


def export(run: Run, benchmark: Benchmark, format: str, target: Target, *, language: str = "en") -> None:  # noqa: A002
    """Write the run to `target`, a path or an open stream, in a format of `FORMATS`.

    csv, xlsx, jsonl, parquet and junit hold one entry a record, with how many were planned where the file says it
    (junit: what was not asked is skipped); markdown and latex hold the benchmark's tables. csv begins with a
    byte-order mark, so that Excel reads Chinese, and quotes every text. xlsx and parquet need the extra `files`
    (`MissingExtra` says so) and a binary stream. `language` is that of tables and reasons. Raises `UnknownName` for
    another format, `UsageError` where the file cannot be written: an earlier one is then as it was.
    """
    if format not in FORMATS:
        raise UnknownName("export format", format, FORMATS)
    kind = FORMATS[format]
    write = kind.writer()  # before a file is opened, so that a missing library leaves an old one as it is
    with _opened(target, binary=kind.binary) as stream:
        write(run, benchmark, stream, language)


@contextlib.contextmanager
def _opened(target: Target, *, binary: bool) -> Iterator[IO[Any]]:
    if isinstance(target, str | Path):
        with replacing(target) as raw:
            yield raw if binary else _as_text(raw)
    elif isinstance(target, io.TextIOBase):
        if binary:
            raise UsageError("This format is binary: export it to a file.")
        yield cast("IO[str]", target)
    else:
        yield target if binary else _as_text(target)


def _as_text(raw: Any) -> IO[str]:
    """A stream of text that holds nothing back: where writing fails there is nothing left to be flushed."""
    return cast("IO[str]", codecs.getwriter("utf-8")(raw, "backslashreplace"))


def _csv(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    flat = columns_of(run)
    stream.write("\ufeff")
    writer = csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([guarded(readable(name)) for name in flat.names])
    for row in rows_of(run, benchmark, flat, language):
        writer.writerow([guarded(value) for value in row.values()])


def _jsonl(run: Run, benchmark: Benchmark, stream: IO[str], language: str) -> None:
    planned = {system: f',"planned":{plan.total}' for system, plan in run.plans().items()}
    for record in run.records():
        finding, more = benchmark.explain(record, language=language), planned.get(record.system_id, "")
        stream.write(f'{{"record":{to_json(record)},"finding":{to_json(finding)}{more}}}\n')


def _in(module: str, function: str, purpose: str) -> Callable[[], Writer]:
    """A writer in a module of its own, imported when it is asked for."""
    return lambda: cast("Writer", getattr(load(f"ragstone.report.{module}", extra="files", purpose=purpose), function))


FORMATS: Mapping[str, Format] = {
    "csv": Format(".csv", binary=False, writer=lambda: _csv),
    "xlsx": Format(".xlsx", binary=True, writer=_in("xlsx", "write_xlsx", "Excel export")),
    "jsonl": Format(".jsonl", binary=False, writer=lambda: _jsonl),
    "parquet": Format(".parquet", binary=True, writer=_in("parquet", "write_parquet", "Parquet export")),
    "junit": Format(".xml", binary=False, writer=_in("junit", "write_junit", "JUnit export")),
    "markdown": Format(".md", binary=False, writer=_in("markup", "write_markdown", "Markdown export")),
    "latex": Format(".tex", binary=False, writer=_in("markup", "write_latex", "LaTeX export")),
}
