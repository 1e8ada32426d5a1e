"""`ragstone cases …`."""

import click

from ragstone.cli.lazy import Lazy

__all__ = ["command"]

BENCHMARKS = {
    "mirage": ("ragstone.cli.mirage:cases", "One line a case, once every retriever has searched."),
    "niah": ("ragstone.cli.niah:cases", "One line a cell, with its whole prompt."),
    "rgb": ("ragstone.cli.rgb:cases", "One line a case: case_id, sample_id, condition, messages, passages."),
}


@click.group(cls=Lazy, table=BENCHMARKS, kind="benchmark")
def command() -> None:
    """Print the cases of a benchmark as JSON lines, without asking any model."""
