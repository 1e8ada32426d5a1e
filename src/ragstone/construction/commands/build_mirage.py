"""`ragstone build mirage`."""

import asyncio
from typing import Any

import click

from ragstone.commands.options import MOST_QUESTIONS, PATH
from ragstone.construction.commands.build_options import building_options, dry_run, models_of, run_build


@click.command(name="mirage")
@click.argument("questions", nargs=-1, required=True, type=PATH)
@click.option("--dump", required=True, type=PATH, metavar="FILE", help="Wikipedia dump: pages-articles.xml.bz2.")
@click.option("--size", type=click.IntRange(1, MOST_QUESTIONS), default=7_560, show_default=True,
              help="Maximum number of questions.")  # fmt: skip
@click.option("--changed-after", default="", metavar="DATE",
              help="Use only articles whose revision is later, such as 2024-09-01.")  # fmt: skip
@click.option("--retriever", default="bm25", show_default=True, help="Retriever that finds the chunks of a question.")
@building_options
def command(**values: Any) -> int:
    """Construct MIRAGE's data set from QUESTIONS (files of PopQA, NQ, TriviaQA, IfQA, DROP) and a Wikipedia dump.

    Questions are mapped to articles; five chunks each are labelled by the checker and by the answer; a reader must be
    right with the oracle chunk and among near misses, and wrong without documents. The files are in the official
    format; `ragstone bench mirage --data DIR` asks them."""
    from ragstone.construction.build_mirage import plan_mirage_build, run_mirage_build  # noqa: PLC0415
    from ragstone.construction.construction_estimate import expected  # noqa: PLC0415

    models = models_of(values)
    plan = plan_mirage_build(
        values["questions"], values["dump"], values["output"], models, size=values["size"],
        changed_after=values["changed_after"],
    )  # fmt: skip
    if values["dry_run"]:
        return asyncio.run(dry_run(lambda run: expected(plan.pipeline, models, run), values))
    return asyncio.run(
        run_build(
            values,
            lambda how: run_mirage_build(plan, how, retriever=values["retriever"]),
            lambda built: {"questions": built.questions},
            lambda built: built.questions is not None,
        )
    )  # fmt: skip
