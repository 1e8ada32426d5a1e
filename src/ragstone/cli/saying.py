"""Printing by commands whose exit code is a verdict: it goes on when nobody reads any more."""

import contextlib
import os
import sys

import click

__all__ = ["forget_stdout", "say"]


def say(text: str) -> None:
    """Print to standard output. Where its reader is gone (`ragstone gate … | head -1`), what follows goes nowhere, and
    the command still ends with its own exit code: a failed gate stays failed."""
    try:
        click.echo(text)
    except BrokenPipeError:
        forget_stdout()


def forget_stdout() -> None:
    """What is still to be flushed goes nowhere: its reader is gone."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
