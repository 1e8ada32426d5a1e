"""`ragstone cases rgb`."""

import json
from typing import Any

import click

from ragstone.cli.options import rgb_arguments, rgb_options

__all__ = ["command"]


@click.group()
def command() -> None:
    """Print the cases of a benchmark as JSON lines, without asking any model."""


@command.command(name="rgb")
@rgb_options
def rgb(**values: Any) -> None:
    """One line a case: case_id, sample_id, condition, messages, passages."""
    from ragstone.api.bench import make_rgb  # noqa: PLC0415

    made = make_rgb(**rgb_arguments(values))
    for warning in made.warnings:
        click.echo(f"note: {warning}", err=True)
    for case in made.cases():
        line = {
            "case_id": case.id,
            "sample_id": case.sample.id,
            "condition": case.condition,
            "messages": [{"role": turn.role, "content": turn.content} for turn in made.template.messages(case.query)],
            "passages": [
                {"id": passage.id, "text": passage.text, "relevant": passage.relevant}
                | ({"kind": passage.meta["kind"]} if "kind" in passage.meta else {})
                for passage in case.query.passages or ()
            ],
        }
        click.echo(json.dumps(line, ensure_ascii=True))
