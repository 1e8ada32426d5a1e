"""`ragstone score …`."""

import click

from ragstone.cli.lazy import Lazy

__all__ = ["command"]

BENCHMARKS = {
    "mirage": ("ragstone.cli.mirage_score:score", "Predictions and retrieval results of the official programs."),
    "niah": ("ragstone.cli.niah_score:score", "Results of other needle tests: a file a cell, or lists of cells."),
    "rgb": ("ragstone.cli.rgb:score", "Predictions as the official program writes them, JSON lines."),
}


@click.group(cls=Lazy, table=BENCHMARKS, kind="benchmark")
def command() -> None:
    """Re-score saved predictions in the official formats, to the count."""
