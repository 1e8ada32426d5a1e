"""`ragstone report`."""

from pathlib import Path

import click

from ragstone.commands.options import PATH, Scale, language_option
from ragstone.commands.output import say
from ragstone.messages import messages


@click.command()
@click.argument("run_file", metavar="RUN", type=PATH)
@click.option("-o", "--output", default="report.html", show_default=True, type=PATH, help="Output file.")
@click.option(
    "--cases", "cases_shown", type=click.IntRange(0), default=200, show_default=True, help="Number of answers shown."
)
@click.option("--labels", type=PATH,
              help="Labels of experts (a file of annotate, or a table): the report says how far the judge agrees with "
                   "them, and gives calibrated means.")  # fmt: skip
@click.option("--scale", type=Scale(), default="0..1", show_default=True, help="Lowest and highest label.")
@click.option("--system", metavar="NAME", help="System that the labels are about, if there are several.")
@language_option
def command(
    run_file: Path, output: Path, cases_shown: int, labels: Path | None, scale: tuple[float, float], system: str | None,
    language: str | None,
) -> None:  # fmt: skip
    """Write RUN as one self-contained HTML file that opens offline."""
    from ragstone.engine.open_run import read_run  # noqa: PLC0415

    experts = None
    if labels is not None:
        from ragstone.experts.experts import agreement_of_experts  # noqa: PLC0415

        experts = agreement_of_experts(labels, run_file, system=system, scale=scale)
    with read_run(run_file) as run:
        path = run.write_report(output, language=language, cases_shown=cases_shown, experts=experts)
        say(messages(__name__, language or run.language)["report_only"].format(path=path))
