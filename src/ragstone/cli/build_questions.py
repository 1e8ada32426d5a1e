"""`ragstone build questions`."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.bench_command import read_price
from ragstone.cli.evaluate import model_options_of
from ragstone.cli.options import (
    MOST_QUESTIONS,
    NameList,
    Number,
    json_option,
    language_option,
    max_requests_option,
    seed_option,
)
from ragstone.cli.output import say, say_json
from ragstone.cli.shell import opened_shell
from ragstone.cli.show import failures_of, say_failures, say_run
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.api.build_questions import BuiltQuestions, QuestionBuild

__all__ = ["command"]


@click.command(name="questions")
@click.argument("documents", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Output folder.")
@click.option("--model", required=True, help="Model that writes facts and questions; local/template works by rules.")
@click.option("--checker", help="Model that reads and judges the questions.  [default: --model]")
@click.option("--size", type=click.IntRange(1, MOST_QUESTIONS), default=200, show_default=True,
              help="Number of questions.")  # fmt: skip
@click.option("--type", "types", multiple=True, metavar="TYPE=SHARE",
              help="Share of a type of questions, such as single=0.5 (repeatable).  [default: all types]")  # fmt: skip
@click.option("--styles", type=NameList(), default="plain", show_default=True, metavar="plain,search,long,typos",
              help="How the questions are phrased.")  # fmt: skip
@click.option("--persona", "personas", multiple=True, metavar="TEXT",
              help="Who asks, in a few words (repeatable).")  # fmt: skip
@click.option("--contaminated", type=click.Choice(["drop", "mark"]), default="drop", show_default=True,
              help="Questions that the checker answers without documents.")  # fmt: skip
@click.option("--chunk", type=click.IntRange(20, 100_000), default=330, show_default=True,
              help="Tokens of a passage.")  # fmt: skip
@click.option("--retriever", default="bm25", show_default=True,
              help="Retriever that looks for other passages with the answer.")  # fmt: skip
@click.option("--extend", type=click.Path(path_type=Path), metavar="DIR", help="Test set to add questions to.")
@seed_option
@click.option("--run", "run_file", type=click.Path(path_type=Path), help="The run file.  [default: DIR/build.run]")
@click.option("--base-url", metavar="URL", help="Address of the endpoint of both models.")
@click.option("--dry-run", is_flag=True, help="Print the number of requests and tokens and the cost, then stop.")
@click.option("--price", metavar="IN/OUT", default="", help="Price per million prompt and answer tokens.")
@click.option("--max-cost", type=Number(0, min_open=True),
              help="Stop when --price times the tokens reaches this; a larger limit resumes.")  # fmt: skip
@max_requests_option
@click.option("--timeout", "deadline", type=Number(0, min_open=True), default=120.0, show_default=True,
              help="Time limit of a request, in seconds.")  # fmt: skip
@click.option("--concurrency", type=click.IntRange(1, 4096), help="Concurrent requests.  [default: 64; 4 if local]")
@click.option("--rpm", type=Number(0, min_open=True), help="Maximum requests per minute.")
@click.option("--tpm", type=Number(0, min_open=True), help="Maximum tokens per minute.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write cached replies.")
@language_option
@click.option("--quiet", is_flag=True, help="Do not show progress.")
@json_option
def command(**values: Any) -> int:
    """Make test questions from DOCUMENTS: folders or files of text, Markdown, HTML, PDF, Word, JSONL or CSV.

    A model lists facts with their evidence and asks questions about them; a second one checks each question: answerable
    from its passages, not without them, not from others, and with one reading. Every rejected item is kept with its
    reason. The same command resumes, and a larger --size goes on."""
    from ragstone.api.build_questions import plan_question_build  # noqa: PLC0415
    from ragstone.builders.questions.items import parse_shares  # noqa: PLC0415
    from ragstone.builders.questions.pipeline import QuestionSettings  # noqa: PLC0415

    if values["price"]:
        read_price(values["price"])
    settings = QuestionSettings(
        values["size"], parse_shares(values["types"]), values["styles"], values["personas"] or ("",),
        values["seed"] or 0, values["contaminated"],
    )  # fmt: skip
    models: Any = {"writer": values["model"], "checker": values["checker"] or values["model"]}
    plan = plan_question_build(
        values["documents"], values["output"], models, settings, chunk=values["chunk"], extend=values["extend"]
    )
    return asyncio.run(_dry_run(plan, values) if values["dry_run"] else _run(plan, values))


async def _dry_run(plan: "QuestionBuild", values: dict[str, Any]) -> int:
    """Prints what each pass would ask, with the yields of `local/template` in place of those that nobody knows."""
    from ragstone.api.construction import expected  # noqa: PLC0415

    found = await expected(plan.pipeline, plan.models, values["run_file"] or plan.output / "build.run")
    requests, tokens = sum(found.requests.values()), sum(found.prompt_tokens.values())
    price = read_price(values["price"]) if values["price"] else None
    if values["as_json"]:
        say_json({"requests": dict(found.requests), "prompt_tokens": dict(found.prompt_tokens)})
        return 0
    texts = messages(__name__, values["language"] or preferred_language())
    for name, count in found.requests.items():
        say(texts["pass"].format(name=name, requests=f"{count:,}", tokens=f"{found.prompt_tokens[name]:,}"))
    cost = "" if price is None else texts["cost"].format(cost=f"{price[0] * tokens / 1e6:.2f}")
    say(texts["total"].format(requests=f"{requests:,}", tokens=f"{tokens:,}", cost=cost))
    return 0


async def _run(plan: "QuestionBuild", values: dict[str, Any]) -> int:
    from ragstone.api.build_questions import run_question_build  # noqa: PLC0415

    options = replace(model_options_of(values), base_url=values["base_url"] or "")
    async with opened_shell(quiet=values["quiet"], language=values["language"]) as shell:
        result = await run_question_build(
            plan, run=values["run_file"], retriever=values["retriever"], model_options=options,
            concurrency=values["concurrency"], shell=shell,
        )  # fmt: skip
    return _print(result, values)


def _print(result: "BuiltQuestions", values: dict[str, Any]) -> int:
    complete = result.questions is not None
    with result.open() as run:
        language, failures = run.language, failures_of(run)
        if values["as_json"]:
            say_json({
                "run": str(result.run), "questions": None if result.questions is None else str(result.questions),
                "complete": complete, "accepted": result.accepted, "rejected": dict(result.rejected or {}),
            })  # fmt: skip
        else:
            say_run(run, language=language, notes=result.warnings)
    if complete:
        return 0
    say(f"ragstone: {result.outcome.advice_in(language)}", err=True)
    say_failures(failures, language)
    return 3
