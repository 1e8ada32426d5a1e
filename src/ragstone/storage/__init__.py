"""Files on disk. For the run file, the reply cache and the vectors: one way to open SQLite (`database`) and one thread
that groups commits (`group_writer`). For any other file: one way to write it completely or not at all (`files`).
For data in the order of a file: a list on disk (`spool`). For formats that a library reads: limits (`budget`)."""

from ragstone.storage.budget import ReaderFailed, gunzip, read_bounded
from ragstone.storage.database import BUSY_SECONDS, Layout, connect, insert, journal_mode, storage_errors, transaction
from ragstone.storage.files import check_regular, leads_out, reading, replacing, text_of, write_file
from ragstone.storage.group_writer import GroupWriter, Written
from ragstone.storage.spool import Spool

__all__ = [
    "BUSY_SECONDS", "GroupWriter", "Layout", "ReaderFailed", "Spool", "Written", "check_regular", "connect", "gunzip",
    "insert", "journal_mode", "leads_out", "read_bounded", "reading", "replacing", "storage_errors", "text_of",
    "transaction", "write_file",
]  # fmt: skip
