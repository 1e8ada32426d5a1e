"""`ragstone score niah`."""

import json
from pathlib import Path

import click

from ragstone.cli.options import json_option

__all__ = ["score"]


@click.command(name="niah")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def score(paths: tuple[Path, ...], as_json: bool) -> None:
    """PATHS: folders of one JSON file a cell, or files with a list of cells.

    Cells are averaged first, then over cells, one result for each model and version."""
    from ragstone.benchmarks.niah.rescore import read_results  # noqa: PLC0415

    results = read_results(paths)
    if as_json:
        click.echo(json.dumps([one.summary() for one in results], ensure_ascii=True, indent=2))
        return
    for one in results:
        found = one.summary()
        name = one.model or one.source or "(no model named)"
        version = "" if one.version is None else f", version {one.version}"
        click.echo(f"{name}{version}")
        click.echo(f"  cells: {len(found['cells'])} ({found['n']} rows)")
        click.echo(f"  mean of cells: {found['mean_of_cells']:.3f}")
        click.echo(f"  share of cells at 10: {found['share_at_10']:.1%}")
