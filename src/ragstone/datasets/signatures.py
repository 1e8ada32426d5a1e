"""Binary files under the name of a text file, told by their first bytes."""

from pathlib import Path

from ragstone.errors import DataError

__all__ = ["TABLE_MARKS", "reject_binary"]

TABLE_MARKS = {"xlsx": b"PK\x03\x04", "parquet": b"PAR1"}
_BINARY = (  # first bytes, what they are, what to do
    (TABLE_MARKS["xlsx"], "is a workbook (.xlsx) or a zip archive", "Save the sheet as CSV, or unpack the archive."),
    (TABLE_MARKS["parquet"], "is a Parquet file", "Save it as text: JSON lines or CSV."),
    (b"\xd0\xcf\x11\xe0", "is a workbook of the old kind (.xls) or an encrypted one", "Save it as .xlsx."),
    (b"SQLite format 3\x00", "is a run file", "`ragstone report` and `ragstone export` read it."),
    (b"\x1f\x8b", "is compressed (gzip)", "Unpack it first."),
    (b"BZh", "is compressed (bzip2)", "Unpack it first."),
    (b"\xfd7zXZ", "is compressed (xz)", "Unpack it first."),
    (b"(\xb5/\xfd", "is compressed (zstd)", "Unpack it first."),
    (b"%PDF-", "is a PDF document", "Give the answers as a table or as JSON."),
)


def reject_binary(path: Path, head: bytes) -> None:
    """Raises DataError, saying what the file is, where its first bytes are those of a known binary format."""
    for mark, what, advice in _BINARY:
        if head.startswith(mark):
            raise DataError(path, f"{what}.", advice=advice)
