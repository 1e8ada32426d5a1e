"""`ragstone build rgb`."""

import asyncio
from typing import Any

import click

from ragstone.commands.options import MOST_QUESTIONS, PATH
from ragstone.construction.commands.build_options import building_options, dry_run, models_of, run_build


@click.command(name="rgb")
@click.argument("articles", type=PATH)
@click.option("--size", type=click.IntRange(1, MOST_QUESTIONS), default=300, show_default=True,
              help="Number of questions of each language.")  # fmt: skip
@click.option("--search", default="", metavar="ENGINE",
              help="Search engine: searxng(URL), brave, bing, tavily, serper.  [default: the corpus]")  # fmt: skip
@click.option("--corpus", type=PATH, metavar="PATH",
              help="Documents to search instead of the web.  [default: the articles]")  # fmt: skip
@click.option("--retriever", default="local/e5-small", show_default=True,
              help="Retriever that ranks the chunks for a question.")  # fmt: skip
@building_options
def command(**values: Any) -> int:
    """Construct RGB's data sets from news ARTICLES: a folder or file of text, HTML, JSONL, RSS or WARC.

    A model writes a question about each event; pages that a search finds are cut into chunks, of which the nearest 30
    are labelled by the answer and by the checker. Joined questions and replaced answers give the integration and
    counterfactual sets. The files are in the official format; `ragstone bench rgb --data DIR` asks them."""
    from ragstone.construction.build_rgb import plan_rgb_build, run_rgb_build  # noqa: PLC0415

    models = models_of(values)
    plan = plan_rgb_build(
        values["articles"], values["output"], models, size=values["size"], search=values["search"],
        corpus=values["corpus"], retriever=values["retriever"],
    )  # fmt: skip
    if values["dry_run"]:
        return asyncio.run(dry_run(plan.expected, values))
    return asyncio.run(
        run_build(
            values,
            lambda how: run_rgb_build(plan, how),
            lambda built: {"files": built.files},
            lambda built: built.files is not None,
        )
    )
