"""`ragstone bench …`."""

import click

from ragstone.cli.lazy import Lazy

__all__ = ["command"]

BENCHMARKS = {
    "mirage": ("ragstone.cli.mirage:bench", "Retrievers, models, and what fits together (Park et al. 2025)."),
    "niah": ("ragstone.cli.niah:bench", "Needle in a haystack: length by depth."),
    "rgb": ("ragstone.cli.rgb:bench", "Noise, rejection, integration, counterfactual (Chen et al. 2024)."),
}


@click.group(cls=Lazy, table=BENCHMARKS, kind="benchmark")
def command() -> None:
    """Run a benchmark. The run file keeps everything; the same command goes on where it stopped."""
