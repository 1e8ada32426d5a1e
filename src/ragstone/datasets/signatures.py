"""Files of another format under the name of a text file, recognised by their first bytes."""

from pathlib import Path

from ragstone.errors import DataError

TABLE_MARKS = {"xlsx": b"PK\x03\x04", "parquet": b"PAR1"}
_OTHERS = (  # first bytes, what they are, what to do
    (TABLE_MARKS["xlsx"], "is a workbook (.xlsx) or a zip archive", "Save the sheet as CSV, or unpack the archive."),
    (TABLE_MARKS["parquet"], "is a Parquet file", "Save it as text: JSON lines or CSV."),
    (b"\xd0\xcf\x11\xe0", "is a workbook of the old kind (.xls) or an encrypted one", "Save it as .xlsx."),
    (b"SQLite format 3\x00", "is a run file", "`ragstone report` and `ragstone export` read it."),
    (b"\x1f\x8b", "is compressed (gzip)", "Unpack it first."),
    (b"BZh", "is compressed (bzip2)", "Unpack it first."),
    (b"\xfd7zXZ", "is compressed (xz)", "Unpack it first."),
    (b"(\xb5/\xfd", "is compressed (zstd)", "Unpack it first."),
    (b"version https://git-lfs", "is a pointer of Git LFS and not the file", "Fetch it: git lfs pull."),
    (b"%PDF-", "is a PDF document", "Give the answers as a table or as JSON."),
)


def binary_error(path: Path, head: bytes) -> DataError | None:
    """The error that says what a file is whose first bytes are those of another format; None for text."""
    for mark, what, advice in _OTHERS:
        if head.startswith(mark):
            return DataError(path, f"{what}.", advice=advice)
    return None


def reject_binary(path: Path, head: bytes) -> None:
    """Raises DataError, saying what the file is, if its first bytes are those of another format."""
    if error := binary_error(path, head):
        raise error
