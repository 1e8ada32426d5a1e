"""`ragstone export`."""

import shutil
import sys
import tempfile
from pathlib import Path

import click

from ragstone.commands.options import PATH, language_option
from ragstone.commands.output import to_stdout
from ragstone.errors import UsageError, check_name


@click.command()
@click.argument("run_file", metavar="RUN", type=PATH)
@click.option("--format", "kind", required=True, metavar="csv|jsonl|xlsx|parquet|junit|markdown|latex|trec",
              help="Output format.")  # fmt: skip
@click.option("-o", "--output", type=PATH, help="Output file.  [default: standard output]")
@click.option("--force", is_flag=True, help="Replace a file that was not written by `ragstone export`.")
@language_option
def command(run_file: Path, kind: str, output: Path | None, language: str | None, *, force: bool) -> None:
    """Export RUN for other programs: records (csv, jsonl, xlsx, parquet, junit), tables (markdown, latex),
    or rankings (trec)."""
    from ragstone.engine.open_run import read_run  # noqa: PLC0415
    from ragstone.report import FORMATS  # noqa: PLC0415

    check_name("export format", kind, FORMATS)
    if output is None and FORMATS[kind].binary and sys.stdout.isatty():
        raise UsageError(f"{kind} is no text: name a file with -o FILE.")
    with read_run(run_file) as run:
        if output is not None:
            run.export(output, kind, language=language, force=force)
            return
        with to_stdout():
            if FORMATS[kind].binary:  # these go back and forth in their file, which a pipe cannot
                with tempfile.TemporaryFile() as whole:
                    run.export(whole, kind, language=language)
                    whole.seek(0)
                    shutil.copyfileobj(whole, sys.stdout.buffer)
            else:  # as UTF-8, whatever the terminal's encoding
                run.export(sys.stdout.buffer, kind, language=language)
