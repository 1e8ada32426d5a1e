"""`ragstone score mirage`."""

from pathlib import Path
from typing import Any

import click

from ragstone.cli.options import json_option
from ragstone.cli.saying import say, say_json
from ragstone.errors import UsageError

__all__ = ["score"]

_FILE = click.Path(path_type=Path)


@click.command(name="mirage")
@click.option("--dataset", type=_FILE, help="dataset.json: the questions and their answers.")
@click.option("--base", type=_FILE, help="Predictions without context.")
@click.option("--oracle", type=_FILE, help="Predictions with the one right chunk.")
@click.option("--mixed", type=_FILE, help="Predictions with the five chunks mapped to the query.")
@click.option("--pool", type=_FILE, help="doc_pool.json: the chunks and their labels.")
@click.option("--retrieval", type=_FILE, help="What a retriever found, as the official program saves it.")
@json_option
def score(as_json: bool, **files: Path | None) -> None:
    """Scores saved predictions (--dataset with --base, --oracle, --mixed) or retrieval (--pool with --retrieval)."""
    from ragstone.benchmarks.mirage.rescore import SETTINGS, rescore_answers, rescore_retrieval  # noqa: PLC0415

    predictions = {setting: path for setting in SETTINGS if (path := files[setting]) is not None}
    dataset, pool, retrieval = files["dataset"], files["pool"], files["retrieval"]
    answers, lists = bool(predictions or dataset), bool(pool or retrieval)
    if answers and lists:
        raise UsageError("Score one thing at a time: --dataset with predictions, or --pool with --retrieval.")
    found: dict[str, Any]
    if lists:
        if pool is None or retrieval is None:
            raise UsageError("Retrieval needs both --pool doc_pool.json and --retrieval FILE.")
        found = rescore_retrieval(pool, retrieval, tell=lambda line: say(f"note: {line}", err=True))
    else:
        if dataset is None:
            raise UsageError("Name --dataset dataset.json with --base, --oracle, --mixed; or --pool with --retrieval.")
        found = rescore_answers(dataset, predictions)
    if as_json:
        say_json(found)
        return
    for line in _lines(found):
        say(line)


def _lines(found: dict[str, Any]) -> list[str]:
    if "llm" not in found:
        return [f"k={k}  " + "  ".join(f"{name} {value:.4f}" for name, value in held.items())
                for k, held in found.items()]  # fmt: skip
    lines = [f"{setting:<7}" + "  ".join(f"{name} {value:.4f}" for name, value in held.items())
             for setting, held in found["llm"].items()]  # fmt: skip
    for part in ("adaptability", "groups"):
        if found[part] is not None:
            lines += [f"  {name}: {value:.4f}" if isinstance(value, float) else f"  {name}: {value}"
                      for name, value in found[part].items()]  # fmt: skip
    return [*lines, f"n: {found['n']}"]
