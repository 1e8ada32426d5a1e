"""Files on disk. For the run file, the reply cache and the vectors: one way to open SQLite (`database`) and one thread
that groups commits (`group_writer`). For any other file: one way to write it completely or not at all (`files`). For
JSON and TOML of others: one way to read them (`formats`). For data in the order of a file: a list on disk (`spool`).
For formats that a library reads: limits (`budget`)."""

import importlib
from typing import TYPE_CHECKING, Any

from ragstone.storage.budget import ReaderFailed, gunzip, read_bounded
from ragstone.storage.files import check_regular, leads_out, reading, replacing, text_of, write_file
from ragstone.storage.formats import FormatError, parse_json, parse_toml
from ragstone.storage.spool import Spool

if TYPE_CHECKING:
    from ragstone.storage.database import (
        BUSY_SECONDS,
        Layout,
        connect,
        insert,
        journal_mode,
        storage_errors,
        transaction,
    )
    from ragstone.storage.group_writer import GroupWriter, Written

__all__ = [
    "BUSY_SECONDS", "FormatError", "GroupWriter", "Layout", "ReaderFailed", "Spool", "Written", "check_regular",
    "connect", "gunzip", "insert", "journal_mode", "leads_out", "parse_json", "parse_toml", "read_bounded", "reading",
    "replacing", "storage_errors", "text_of", "transaction", "write_file",
]  # fmt: skip

_WRITERS = ("GroupWriter", "Written")


def __getattr__(name: str) -> Any:
    """What needs SQLite is loaded when it is used: documents are read without it."""
    if name in __all__:
        module = "group_writer" if name in _WRITERS else "database"
        return getattr(importlib.import_module(f"ragstone.storage.{module}"), name)
    raise AttributeError(f"module 'ragstone.storage' has no attribute {name!r}")
