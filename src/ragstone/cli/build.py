"""`ragstone build`."""

import json
from pathlib import Path

import click

from ragstone.cli.options import Names

__all__ = ["command"]


@click.group()
def command() -> None:
    """Construct data sets."""


@command.command(name="fictional")
@click.option("--format", "kind", default="rgb", show_default=True, metavar="rgb", help="Format of the files.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--language", "languages", type=Names(), default="en,zh", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--size", type=click.IntRange(1), help="Questions a set.  [default: 300, and 100 of _int and _fact]")
@click.option("--dataset", metavar="NAME", help="This set alone (zh_refine…).")
def fictional(
    kind: str, output: Path, languages: tuple[str, ...], seed: int, size: int | None, dataset: str | None
) -> None:
    """Invented news with questions, in the official format: nothing in it was ever published.

    The counterfactual sets are of well-known real facts, which a model must know; they have as many as there are.
    """
    from ragstone.datasets.fictional import fictional_rgb  # noqa: PLC0415
    from ragstone.datasets.rgb import NAMES  # noqa: PLC0415
    from ragstone.errors import UnknownName, UsageError  # noqa: PLC0415

    if kind != "rgb":
        raise UnknownName("format", kind, ["rgb"])
    for language in languages:
        if language not in ("en", "zh"):
            raise UnknownName("language", language, ("en", "zh"))
    if dataset is not None and dataset not in NAMES:
        raise UnknownName("data set", dataset, NAMES)
    every = [f"{language}{part}" for language in languages for part in ("_refine", "_int", "_fact")]
    written = []
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name in [dataset] if dataset else every:
            path, part = output / f"{name}.json", output / f"{name}.json.part"
            count = 0
            with part.open("w", encoding="utf-8", newline="\n") as stream:
                for row in fictional_rgb(name, seed=seed, size=size):
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                    count += 1
            part.replace(path)
            written.append(f"{path}: {count:,} questions")
    except OSError as error:
        raise UsageError(f"{output}: cannot be written ({error.strerror or error}). Name another -o DIR.") from None
    click.echo("\n".join(written))
