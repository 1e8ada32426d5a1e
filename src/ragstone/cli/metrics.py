"""`ragstone metrics`."""

import inspect

import click

__all__ = ["command"]


@click.command()
def command() -> None:
    """List the metrics, with the first line of what each says of itself."""
    from ragstone.metrics import METRICS  # noqa: PLC0415

    for name, metric in METRICS:
        kind = metric if isinstance(metric, type) else type(metric)
        told = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
        click.echo(f"{name}\n    {told}")
