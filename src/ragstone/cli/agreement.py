"""`ragstone agreement`."""

import asyncio
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.options import Address, both, json_option, language_option
from ragstone.cli.output import say_json, say_tables
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.api.agreement import Ways
    from ragstone.types import Table

__all__ = ["command"]

_MOST = 1_000  # passages a sample; beyond it a typing error is likelier than a wish

judge_options = both(
    click.option("--judge", required=True, metavar="PROVIDER/MODEL", help="Chat model used as the judge."),
    click.option("--judge-base-url", type=Address(), help="Endpoint of the judge, overriding its provider's."),
    click.option("--embedder", metavar="PROVIDER/MODEL", help="Embedder for similarities.  [default: local/e5-small]"),
    click.option("--embedder-base-url", type=Address(), help="Endpoint of the embedder, overriding its provider's."),
    click.option("--prompts", type=click.Path(path_type=Path), help="Folder of your own prompts."),
)


@click.group()
def command() -> None:
    """Measure how far different ways of judging agree."""


@command.command(name="protocols")
@click.argument("data", type=click.Path(path_type=Path))
@judge_options
@click.option("--sample", type=click.IntRange(1), help="Number of rows, drawn with a fixed seed.")
@click.option(
    "--passages", metavar="N,…", help="Repeat with this many passages per sample, filled up from other samples."
)
@click.option(
    "--tokens",
    type=click.IntRange(50, 100_000),
    default=500,
    show_default=True,
    help="Length of each filled-up passage.",
)
@click.option("--no-ragas", is_flag=True, help="Skip the ragas protocol, which takes the most requests.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write cached replies.")
@language_option
@json_option
def protocols(**values: Any) -> int:
    """Judge the answers of DATA jointly, one passage at a time, and as ragas does, and compare the verdicts.

    The result shows how much accuracy the cheaper joint verification costs with this judge on these data: κ for each
    kind of verdict and the difference in each metric. --passages 5,10 repeats it with many long passages. Exit 3 if a
    sample could not be judged."""
    from ragstone.api.agreement import agreement_of_protocols_async  # noqa: PLC0415
    from ragstone.api.evaluate import read_data  # noqa: PLC0415
    from ragstone.api.execute import cache_folder  # noqa: PLC0415
    from ragstone.api.judging import Judging  # noqa: PLC0415
    from ragstone.errors import UsageError  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    try:
        counts = [int(part) for part in (values["passages"] or "").split(",") if part.strip()]
        if any(not 1 <= count <= _MOST for count in counts):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--passages {values['passages'][:80]}: expected numbers from 1 to {_MOST}, such as 5,10."
        ) from None
    judging = Judging(
        model=values["judge"], base_url=values["judge_base_url"], embedder=values["embedder"],
        embedder_base_url=values["embedder_base_url"], prompts=values["prompts"],
    )  # fmt: skip
    found = asyncio.run(
        agreement_of_protocols_async(
            read_data(values["data"], sample=values["sample"]), judging, passages=counts, tokens=values["tokens"],
            ragas=not values["no_ragas"],
            model_options=ModelOptions(cache=None if values["no_cache"] else cache_folder()),
        )
    )  # fmt: skip
    code = 3 if any(one.failed for one in found) else 0
    if values["as_json"]:
        say_json([dataclasses.asdict(one) for one in found])
        return code
    language = values["language"] or preferred_language()
    for one in found:
        say_tables(_tables(one, language), language=language)
    return code


def _tables(one: "Ways", language: str) -> "list[Table]":
    from ragstone.types import Cell, Row, Table  # noqa: PLC0415

    told = messages(__name__, language)
    named = {
        "first": one.first, "second": one.second,
        "passages": "" if one.passages is None else told["passages"].format(n=one.passages),
    }  # fmt: skip
    why = one.why.rstrip(".。")
    missing = told["failed"].format(n=one.failed, total=one.samples, why=told["why"] + why if why else "")
    notes = (told["note"], *((missing,) if one.failed else ()))
    verdicts = [
        Row((
            Cell(told[f"kinds.{each.kind}"]), Cell(value=each.kappa, low=each.low, high=each.high),
            Cell(value=each.agree, unit="%"), Cell(f"{each.n}"),
        ))
        for each in one.agreements
    ]  # fmt: skip
    gaps = [
        Row((
            Cell(each.metric), Cell(value=each.first), Cell(value=each.second),
            Cell(value=each.difference, low=each.low, high=each.high), Cell(f"{each.n}"),
        ))
        for each in one.gaps
    ]  # fmt: skip
    columns = tuple(told[name] for name in ("verdict", "kappa", "agree", "n"))
    made = (
        Table("agreement", told["title"].format(**named), columns, tuple(verdicts), notes),
        Table(
            "agreement-metrics", told["gap"].format(**named),
            (told["metric"], one.first, one.second, told["difference"], told["samples"]), tuple(gaps),
        ),
    )  # fmt: skip
    # A table without a row stays where something failed: its note says so.
    return [table for table in made if table.rows or (one.failed and table.notes)]
