"""Binary files under the name of text: every text reader says what the file is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.jsonlines import json_lines
from ragstone.datasets.signatures import reject_binary
from ragstone.datasets.tabular.labels import read_qrels
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.errors import DataError

READERS: list[Callable[[Path], Any]] = [lambda path: list(json_lines(path)), encoding_of, read_qrels]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("head", "kind"),
    [(b"PK\x03\x04\xff\xfe", "workbook .* or a zip archive"), (b"PAR1\xff", "Parquet"), (b"\x1f\x8b\x08", "gzip"),
     (b"%PDF-1.4", "PDF"), (b"\xd0\xcf\x11\xe0", r"\.xls\b")],
)  # fmt: skip
def test_a_binary_file_is_called_what_it_is(
    reader: Callable[[Path], Any], head: bytes, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(head + b"\n\0\1\2")
    with pytest.raises(DataError, match=kind) as caught:
        reader(path)
    assert "UTF-8" not in str(caught.value)


def test_text_passes(tmp_path: Path) -> None:
    reject_binary(tmp_path, b"PKW, a question\n")
    reject_binary(tmp_path, b"")
