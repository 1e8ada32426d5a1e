"""`ragstone merge`."""

from pathlib import Path

import click

from ragstone.commands.options import PATH, json_option, language_option
from ragstone.commands.output import say, say_json
from ragstone.messages import messages


@click.command(name="merge")
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN…")
@click.option("-o", "--output", required=True, type=PATH, help="The new run file.")
@click.option("--keep-first", is_flag=True,
              help="Where files have different answers to a case, keep that of the file named first.")  # fmt: skip
@click.option("--recover", is_flag=True, help="Of damaged files, take what can be read.")
@language_option
@json_option
def command(
    runs: tuple[Path, ...], output: Path, language: str | None, *, keep_first: bool, recover: bool, as_json: bool
) -> None:
    """Join run files of the same settings into one, as if a single machine had asked all of their cases.

    The files may have other cases, systems or metrics. What several files have is kept once; runs with other settings
    are refused."""
    from ragstone.cluster.merge import merge  # noqa: PLC0415
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415

    merged = merge(runs, output, keep_first=keep_first, recover=recover)
    with merged.open() as run:
        language = language or run.language
        counts = run.run.counts()
        records = sum(count.records for count in counts.values())
        if as_json:
            document = {
                "run": str(merged.path), "records": records, "repeated": merged.repeated,
                "differing": merged.differing, "unfinished": unfinished_systems(run.run),
            }  # fmt: skip
            say_json(document)
            return
        texts = messages(__name__, language)
        say(texts["merged"].format(path=merged.path, records=records, systems=len(counts), files=len(runs)))
        if repeated := merged.repeated_in(language):
            say(repeated)
        for line in run.unfinished(language=language):
            say(line)
        if recover:
            say(texts["recovered"].format(path=merged.path))
