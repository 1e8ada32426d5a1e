"""`ragstone view`."""

from pathlib import Path
from typing import Any

import click

from ragstone.commands.options import PATH, PRICE, language_option
from ragstone.messages import messages, preferred_language
from ragstone.web.serving import serve, server_options


@click.command(name="view")
@click.argument("places", nargs=-1, type=PATH, metavar="[RUN|FOLDER]…")
@server_options
@click.option("--price", type=PRICE, default="",
              help="The system's price per million tokens: prompts, answers, cached prompts.")  # fmt: skip
@click.option("--labels", type=PATH, metavar="FILE", help="File of labels, for the pages where experts label answers.")
@language_option
def command(places: tuple[Path, ...], labels: Path | None, language: str | None, **values: Any) -> int:
    """Show runs in a browser: those of a folder (by default this one), every case, comparisons and trends.

    Ctrl-C ends it. Only this machine can reach the pages unless --host says otherwise."""
    serving = messages(__name__, language or preferred_language())["serving"]
    return serve(places or (Path(),), labels, language=language or "", serving=serving, **values)
