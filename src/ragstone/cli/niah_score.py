"""`ragstone score niah`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragstone.cli.options import json_option
from ragstone.cli.saying import say, say_json
from ragstone.cli.show import say_run
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.benchmarks.niah.rescore import Results

__all__ = ["score"]

_FILE = click.Path(path_type=Path)


@click.command(name="niah")
@click.argument("paths", nargs=-1, required=True, type=_FILE)
@click.option("--run", "run_file", type=_FILE, help="Keep all as a run file, to report and compare; it may exist.")
@click.option("--report", "report_file", type=_FILE, help="With --run: write the report here, too.")
@click.option("--tables", "words", type=click.Choice(["en", "zh"]), default="en", help="Words of the tables.")
@json_option
def score(paths: tuple[Path, ...], run_file: Path | None, report_file: Path | None, words: str, as_json: bool) -> None:
    """PATHS: folders of one JSON file a cell, files with a list of cells, and with --run run files of niah.

    Cells are averaged first, then over cells, one result for each model and version. With --run all of them stand side
    by side in one run: tables, heat maps, effective lengths."""
    from ragstone.api.rescore_niah import is_run  # noqa: PLC0415
    from ragstone.benchmarks.niah.rescore import read_results  # noqa: PLC0415

    if report_file is not None and run_file is None:
        raise UsageError("--report is written from a run file: say --run FILE, too.")
    own = [path for path in paths if is_run(path)]
    if own and run_file is None:
        raise UsageError(f"{own[0]} is a run file: say --run FILE to put it beside others, or see `ragstone report`.")
    if run_file is not None:
        _side_by_side(paths, run_file, report_file, words, quiet=as_json)
    others = [path for path in paths if path not in own]
    results = read_results(others) if others else []
    if as_json:
        say_json([one.summary() for one in results])
    elif run_file is None:
        _tell(results)


def _tell(results: "list[Results]") -> None:
    for one in results:
        found = one.summary()
        name = one.model or one.source or "(no model named)"
        version = "" if one.version is None else f", version {one.version}"
        say(f"{name}{version}")
        say(f"  cells: {len(found['cells'])} ({found['n']} rows)")
        say(f"  mean of cells: {found['mean_of_cells']:.3f}")
        say(f"  share of cells at 10: {found['share_at_10']:.1%}")


def _side_by_side(
    paths: tuple[Path, ...], run_file: Path, report_file: Path | None, language: str, *, quiet: bool
) -> None:
    """Writes the run file and the report, and prints the tables unless `quiet`."""
    from ragstone.api.reading import check_target  # noqa: PLC0415
    from ragstone.api.rescore_niah import keep_niah  # noqa: PLC0415
    from ragstone.cli.benching import command_line  # noqa: PLC0415

    if report_file is not None:
        check_target(report_file)
    with keep_niah(paths, run_file, command=command_line(sys.argv[1:])) as run:
        told = run.write_report(report_file, language=language) if report_file is not None else None
        if not quiet:
            say_run(run, language=language, report=told)
