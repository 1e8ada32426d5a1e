"""`ragstone build questions`."""

import asyncio
from typing import Any

import click

from ragstone.commands.options import MOST_QUESTIONS, PATH, NameList, seed_option
from ragstone.construction.commands.build_options import building_options, dry_run, models_of, run_build


@click.command(name="questions")
@click.argument("documents", nargs=-1, required=True, type=PATH)
@click.option("--size", type=click.IntRange(1, MOST_QUESTIONS), default=200, show_default=True,
              help="Number of questions.")  # fmt: skip
@click.option("--type", "types", multiple=True, metavar="TYPE=SHARE",
              help="Share of a type of questions, such as single=0.5 (repeatable).  [default: all types]")  # fmt: skip
@click.option("--styles", type=NameList(), default="plain", show_default=True, metavar="plain,search,long,typos",
              help="How the questions are phrased.")  # fmt: skip
@click.option("--persona", "personas", multiple=True, metavar="TEXT", help="Who asks, in a few words (repeatable).")
@click.option("--contaminated", type=click.Choice(["drop", "mark"]), default="drop", show_default=True,
              help="Questions that the checker answers without documents.")  # fmt: skip
@click.option("--chunk", type=click.IntRange(20, 100_000), default=330, show_default=True, help="Tokens of a passage.")
@click.option("--retriever", default="bm25", show_default=True,
              help="Retriever that looks for other passages with the answer.")  # fmt: skip
@click.option("--extend", type=PATH, metavar="DIR", help="Test set to add questions to.")
@seed_option
@building_options
def command(**values: Any) -> int:
    """Make test questions from DOCUMENTS: folders or files of text, Markdown, HTML, PDF, Word, PowerPoint, JSONL, CSV.

    A model lists facts with their evidence and asks questions about them; a second one checks each question: answerable
    from its passages, not without them, not from others, and with one reading. Every rejected item is kept with its
    reason. The same command resumes, and a larger --size goes on."""
    from ragstone.construction.build_questions import plan_question_build, run_question_build  # noqa: PLC0415
    from ragstone.construction.builders.questions.items import parse_shares  # noqa: PLC0415
    from ragstone.construction.builders.questions.pipeline import QuestionSettings  # noqa: PLC0415
    from ragstone.construction.construction_estimate import expected  # noqa: PLC0415

    models = models_of(values)
    settings = QuestionSettings(
        values["size"], parse_shares(values["types"]), values["styles"], values["personas"] or ("",),
        values["seed"] or 0, values["contaminated"],
    )  # fmt: skip
    plan = plan_question_build(
        values["documents"], values["output"], models, settings, chunk=values["chunk"], extend=values["extend"]
    )
    if values["dry_run"]:
        return asyncio.run(dry_run(lambda run: expected(plan.pipeline, models, run), values))
    return asyncio.run(
        run_build(
            values,
            lambda how: run_question_build(plan, how, retriever=values["retriever"]),
            lambda built: {
                "questions": None if built.questions is None else str(built.questions), "accepted": built.accepted,
                "rejected": dict(built.rejected or {}),
            },
            lambda built: built.questions is not None,
        )
    )  # fmt: skip
