"""`ragstone metrics`."""

import inspect
import json

import click

from ragstone.cli.options import json_option

__all__ = ["command"]


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the metrics, with the first line of what each says of itself."""
    from ragstone.metrics import METRICS  # noqa: PLC0415

    listed = {}
    for name, metric in METRICS:
        kind = metric if isinstance(metric, type) else type(metric)
        told = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
        listed[name] = told
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    for name, told in listed.items():
        click.echo(f"{name}\n    {told}")
