"""Printing by commands whose exit code is a verdict: it goes on when nobody reads any more."""

import contextlib
import os
import sys
from typing import TextIO

import click

__all__ = ["forget", "say"]


def say(text: str) -> None:
    """Print to standard output. Where its reader is gone (`ragstone gate … | head -1`), what follows goes nowhere, and
    the command still ends with its own exit code: a failed gate stays failed."""
    try:
        click.echo(text)
    except BrokenPipeError:
        forget(sys.stdout)


def forget(stream: TextIO) -> None:
    """What the stream still has to flush goes nowhere: its reader is gone, or its disk is full. Otherwise Python would
    try again when it ends, and end with its own exit code (120)."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
