"""`ragstone batch`: list and cancel batches."""

import asyncio
from datetime import UTC, datetime

import click

from ragstone.commands.batches import line_of
from ragstone.commands.options import json_option
from ragstone.commands.output import say, say_json
from ragstone.messages import messages, preferred_language


@click.group(name="batch")
def command() -> None:
    """Batches at providers, of commands with --batch."""


@command.command(name="list")
@json_option
def list_(as_json: bool) -> int:
    """List the batches of the last 30 days, and ask how the unfinished ones stand."""
    from ragstone.engine.batches import batches  # noqa: PLC0415

    found = asyncio.run(batches())
    if as_json:
        names = ("model", "state", "status", "total", "done", "failed")
        say_json(
            [
                {"id": batch.remote, **{name: getattr(batch, name) for name in names}, "since": _time(batch.since)}
                for batch in found
            ]
        )
        return 0
    texts = messages("ragstone.commands.batches", preferred_language())
    for batch in found:
        say(f"{_time(batch.since)[:16].replace('T', ' ')}  {line_of(batch, texts)}")
    if not found:
        say(texts["none"])
    return 0


@command.command()
@click.argument("name", metavar="ID")
def cancel(name: str) -> int:
    """Cancel the batch of this ID. Replies that it has by then are kept."""
    from ragstone.engine.batches import cancel as cancel_batch  # noqa: PLC0415

    batch = asyncio.run(cancel_batch(name))
    say(line_of(batch, messages("ragstone.commands.batches", preferred_language())))
    return 0


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
