"""`ragstone score rgb`."""

import json
from pathlib import Path

import click

from ragstone.cli.options import json_option

__all__ = ["command"]


@click.group()
def command() -> None:
    """Re-score saved predictions in the official formats, to the count."""


@command.command(name="rgb")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--dataset", required=True, metavar="NAME", help="en, zh, en_refine, zh_refine, en_int, …, zh_fact.")
@click.option("--judge-replies", type=click.Path(path_type=Path), help="JSON lines with id and evaluation.")
@click.option("--data", metavar="DIR", help="The data, for files whose rows have no `ans`.")
@json_option
def rgb(files: tuple[Path, ...], dataset: str, judge_replies: Path | None, data: str | None, as_json: bool) -> None:
    """FILES: predictions as the official program writes them, JSON lines."""
    from ragstone.api.data import load_rgb  # noqa: PLC0415
    from ragstone.benchmarks.rgb.rescore import rescore  # noqa: PLC0415

    known = None if data is None else load_rgb(data, dataset=dataset)[1][dataset]
    results = rescore(files, dataset=dataset, judge_replies=judge_replies, data=known)
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=True, indent=2))
        return
    for result in results:
        click.echo(f"{result['file']} ({result['dataset']})")
        for key, value in result.items():
            if key in ("file", "dataset", "warnings"):
                continue
            shown = value if not isinstance(value, dict) else json.dumps(value, ensure_ascii=True)
            click.echo(f"  {key}: {shown}")
        for warning in result.get("warnings", ()):
            click.echo(f"  note: {warning}", err=True)
