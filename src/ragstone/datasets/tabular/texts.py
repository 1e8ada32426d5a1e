"""Detects the encoding of text files: UTF-8 with or without a byte order mark, UTF-16 or UTF-32 with one, or GB18030,
which Chinese editions of Windows and Excel still write."""

import codecs
from pathlib import Path
from typing import BinaryIO

from ragstone.datasets.signatures import reject_binary
from ragstone.datasets.tabular.problems import warning
from ragstone.errors import DataError
from ragstone.storage import reading

_BLOCK = 1 << 20
_JUDGED = 1 << 22  # bytes used to tell GB18030 from a damaged file
_MARKS = (  # UTF-32 before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ADVICE = 'Save it as UTF-8 (in Excel: "CSV UTF-8").'


def encoding_of(path: Path) -> tuple[str, str]:
    """The encoding of a text file, and a warning if it had to be guessed ("" otherwise). Reads the file in blocks.

    Raises DataError, with the line of the first invalid byte, if no known encoding fits.
    """
    with reading(path), path.open("rb") as file:
        head = file.read(_BLOCK)
        reject_binary(path, head)
        for mark, name in _MARKS:
            if head.startswith(mark):
                return _checked(path, file, name), ""
        if head[:4096].count(0) > len(head[:4096]) // 4:
            raise DataError(path, "has a NUL in every few bytes, as UTF-16 without its mark has.", advice=_ADVICE)
        wrong = _first_wrong(file, "utf-8")
        if wrong is None:
            return "utf-8", ""
        if _is_gb18030(path, file):
            return "gb18030", warning("gb18030")
        raise _not_readable(path, file, wrong)


def _checked(path: Path, file: BinaryIO, encoding: str) -> str:
    """The encoding of the byte order mark, if the whole file is valid in it."""
    wrong = _first_wrong(file, encoding)
    if wrong is not None:
        raise _not_readable(path, file, wrong, encoding.removesuffix("-sig").upper())
    return encoding


def _first_wrong(file: BinaryIO, encoding: str) -> int | None:
    """The offset of the first byte that is invalid in this encoding; None if all are valid."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    begins = 0
    while True:
        block = file.read(_BLOCK)
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            return max(0, begins - pending + error.start)
        if not block:
            return None
        begins += len(block)


def _is_gb18030(path: Path, file: BinaryIO) -> bool:
    """Whether the file is Chinese in GB18030 rather than damaged UTF-8 or a Western encoding.

    Nearly any bytes can be decoded as GB18030. But hardly any bytes of Chinese text are also valid UTF-8, and most of
    its characters are common ones in GB2312, which accented letters next to plain ones do not produce.
    """
    file.seek(0)
    data = file.read(_JUDGED)
    high = len(data.translate(None, bytes(range(128))))
    valid = data.decode("utf-8", "ignore").encode("utf-8")
    if not high or len(valid.translate(None, bytes(range(128)))) > high // 2:
        return False
    decoded = data.decode("gb18030", "ignore")
    plain = len(decoded.encode("ascii", "ignore"))
    common = (len(decoded.encode("gb2312", "ignore")) - plain) // 2
    return common >= 0.7 * (len(decoded) - plain) and _first_wrong(file, "gb18030") is None


def _not_readable(path: Path, file: BinaryIO, wrong: int, name: str = "") -> DataError:
    file.seek(0)
    line = file.read(wrong).count(b"\n") + 1
    file.seek(wrong)
    byte = file.read(1)
    expected = name or "UTF-8 and not GB18030"
    shown = f"the byte 0x{byte.hex().upper()}" if byte else "its end"
    return DataError(path, f"{shown} is not {expected}.", line=line, advice=_ADVICE)
