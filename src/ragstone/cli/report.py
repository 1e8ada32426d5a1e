"""`ragstone report`."""

from pathlib import Path

import click

from ragstone.cli.options import language_option
from ragstone.cli.output import say
from ragstone.messages import messages

__all__ = ["command"]


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@click.option("-o", "--output", default="report.html", show_default=True, type=click.Path(path_type=Path),
              help="Output file.")  # fmt: skip
@click.option(
    "--cases", "cases_shown", type=click.IntRange(0), default=200, show_default=True, help="Number of answers shown."
)
@language_option
def command(run_file: Path, output: Path, cases_shown: int, language: str | None) -> None:
    """Write RUN as one self-contained HTML file that opens offline."""
    from ragstone.api.open_run import read_run  # noqa: PLC0415

    with read_run(run_file) as run:
        path = run.write_report(output, language=language, cases_shown=cases_shown)
        say(messages(__name__, language or run.language)["report_only"].format(path=path))
