"""Output to the terminal, in which untrusted text (names in a run file, ids, paths, replies) has no effect.

No other module of the command line prints; ruff checks that. Control characters, escape sequences and marks that
reorder text are replaced by pictures. A closed pipe or a full disk never hides the exit code of a command.
"""

import codecs
import contextlib
import errno
import json
import logging
import os
import shutil
import stat
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

from ragstone.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ragstone.display import Chart, Summary, Table


def obeys(stream: TextIO) -> bool:
    """Whether the stream is a terminal that knows escape sequences (not `TERM=dumb`)."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _styled() -> bool:
    """Whether standard output gets bold and coloured text."""
    return obeys(sys.stdout) and not os.environ.get("NO_COLOR")


def say(line: object, *, err: bool = False) -> None:
    """Print one line, with the secrets of addresses in it hidden. Line breaks in it become spaces, so that untrusted
    text cannot imitate a line of output."""
    from ragstone.text.redaction import redact  # noqa: PLC0415  (a help text does not need it)

    _put(" ".join(_readable(redact(str(line))).split("\n")) + "\n", err=err)


def say_text(text: str, *, err: bool = False) -> None:
    """Print text of several lines: a prompt, a formula, a traceback."""
    _put(_readable(text) + ("" if text.endswith("\n") else "\n"), err=err)


def say_json(document: Any) -> None:
    """Print one JSON document; the structs in it are written as objects."""
    _put(_json(document, indent=2) + "\n", err=False)


def stream_json(document: Any) -> None:
    """Print one of many JSON lines. Raises BrokenPipeError if the reader of the pipe is gone."""
    with to_stdout():
        click.echo(_json(document))


def _json(document: Any, *, indent: int | None = None) -> str:
    """JSON for standard output: in ASCII where its encoding is not UTF-8."""
    if codecs.lookup(sys.stdout.encoding).name != "utf-8":
        from ragstone.structs import plain_data  # noqa: PLC0415  (a help text does not need it)

        return json.dumps(document, ensure_ascii=True, indent=indent, default=plain_data)
    from ragstone.report.sanitize import printable_json  # noqa: PLC0415  (likewise)

    return printable_json(document, indent=indent)


def say_tables(tables: "Iterable[Table]", *, language: str, widest: int = 120) -> None:
    """Print tables as wide as the terminal; coloured on one."""
    from ragstone.report.text import table_text  # noqa: PLC0415  (makes all text of the tables readable)

    width = min(shutil.get_terminal_size((100, 24)).columns, widest)
    for table in tables:
        _put(table_text(table, width=width, color=_styled(), language=language) + "\n", err=False)


def say_opening(
    summaries: "Mapping[str, Summary]", charts: "Sequence[Chart]", *, language: str, widest: int = 120
) -> None:
    """Print what a run opens with, as wide as the terminal; coloured on one."""
    from ragstone.report.opening_text import opening_text  # noqa: PLC0415  (makes all text readable)

    width = min(shutil.get_terminal_size((100, 24)).columns, widest)
    if text := opening_text(summaries, charts, width=width, color=_styled(), language=language):
        _put(text + "\n", err=False)


class StderrHandler(logging.Handler):
    """Log records as lines on standard error. `texts` has translations by the record's format; a warning without one is
    told as errors are."""

    def __init__(self, texts: "Mapping[str, str]", language: str) -> None:
        super().__init__()
        self._texts, self._language = texts, language

    def emit(self, record: logging.LogRecord) -> None:
        from ragstone.error_text import failure_in  # noqa: PLC0415  (a help text does not need it)

        translated = record.msg in self._texts
        record.msg = self._texts.get(record.msg, record.msg)
        say(record.getMessage() if translated else failure_in(record.getMessage(), self._language), err=True)


def _readable(text: str) -> str:
    from ragstone.report.sanitize import readable  # noqa: PLC0415  (a help text does not need it)

    return readable(text)


def _put(text: str, *, err: bool) -> None:
    """Print to standard output or standard error. If the reader of standard output is gone (`ragstone gate … | head
    -1`), or standard error is closed or full, the output is discarded and the command keeps its own exit code."""
    if err:
        from ragstone.text.redaction import redact  # noqa: PLC0415  (a help text does not need it)

        with contextlib.suppress(OSError, ValueError):
            click.echo(redact(text), err=True, nl=False)
        return
    try:
        with to_stdout():
            click.echo(text, nl=False)
    except BrokenPipeError:
        forget(sys.stdout)


@contextlib.contextmanager
def to_stdout() -> "Iterator[None]":
    """Raises UsageError if standard output cannot be written (a full disk). BrokenPipeError passes through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno == errno.EIO and stat.S_ISCHR(os.fstat(sys.stdout.fileno()).st_mode):  # a closed terminal
            raise BrokenPipeError from error
        raise UsageError(
            f"Standard output cannot be written ({error.strerror or error}). Free some space, send it elsewhere, or "
            "use -o FILE where there is one."
        ) from error


def forget(stream: TextIO) -> None:
    """Discards what the stream still has to flush, as its reader is gone or its disk is full. Otherwise Python would
    try again at exit and return its own exit code (120)."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
