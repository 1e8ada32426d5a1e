"""`ragstone build`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from ragstone.commands.options import MOST_QUESTIONS, PATH, NameList, Number, seed_option
from ragstone.commands.output import say
from ragstone.construction.commands.build_options import building_options, dry_run, models_of, run_build
from ragstone.errors import UnknownName, UsageError, check_name
from ragstone.messages import messages, preferred_language


@click.group()
def command() -> None:
    """Construct data sets."""


@command.command(name="questions")
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
def questions(**values: Any) -> int:
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


@command.command(name="rgb")
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
def rgb(**values: Any) -> int:
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


@command.command(name="mirage")
@click.argument("questions", nargs=-1, required=True, type=PATH)
@click.option("--dump", required=True, type=PATH, metavar="FILE", help="Wikipedia dump: pages-articles.xml.bz2.")
@click.option("--size", type=click.IntRange(1, MOST_QUESTIONS), default=7_560, show_default=True,
              help="Maximum number of questions.")  # fmt: skip
@click.option("--changed-after", default="", metavar="DATE",
              help="Use only articles whose revision is later, such as 2024-09-01.")  # fmt: skip
@click.option("--retriever", default="bm25", show_default=True, help="Retriever that finds the chunks of a question.")
@building_options
def mirage(**values: Any) -> int:
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


@command.command(name="fictional")
@click.option("--format", "kind", default="rgb", show_default=True, metavar="rgb|mirage", help="Format of the files.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Output folder.")
@click.option("--data-language", "languages", type=NameList(), default="en,zh", show_default=True,
              help="Languages of the data.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--size",
    type=click.IntRange(1, MOST_QUESTIONS),
    help="Questions per data set.  [default: 300; 100 for _int and _fact; 200 for mirage]",
)
@click.option("--dataset", metavar="NAME", help="rgb: only this data set (zh_refine…).")
@click.option("--difficulty", metavar="easy|news|adversarial", help="rgb: as in `bench rgb`.  [default: news]")
@click.option("--multi-hop", type=Number(0, 1), help="mirage: share of questions that need two passages.")
@click.option("--chunks", type=click.IntRange(2), help="mirage: passages per question.  [default: 5]")
def fictional(
    kind: str, output: str, languages: tuple[str, ...], seed: int, size: int | None, dataset: str | None,
    difficulty: str | None, multi_hop: float | None, chunks: int | None,
) -> None:  # fmt: skip
    """Generate fictional news with questions in the official format; none of it was ever published.

    The counterfactual sets of rgb use well-known real facts, which a model should know, so their size is fixed. mirage:
    questions, a pool of labelled passages and the oracle passages, one folder per language.
    """
    from ragstone.datasets.fictional import fictional_rgb  # noqa: PLC0415
    from ragstone.datasets.rgb import NAMES  # noqa: PLC0415
    from ragstone.storage import replacing  # noqa: PLC0415

    if not output.strip():
        raise UsageError("-o is empty: pass the folder to write to.")
    folder = Path(output)
    check_name("format", kind, ("rgb", "mirage"))
    for language in languages:
        check_name("language", language, ("en", "zh"))
    languages = tuple(dict.fromkeys(languages))
    others: dict[str, dict[str, object]] = {
        "rgb": {"--multi-hop": multi_hop, "--chunks": chunks},
        "mirage": {"--dataset": dataset, "--difficulty": difficulty},
    }
    for option, value in others[kind].items():
        if value is not None:
            raise UsageError(f"{option} is for --format {'mirage' if kind == 'rgb' else 'rgb'}. Leave it out.")
    if kind == "mirage":
        _mirage(folder, languages, seed, size or 200, multi_hop or 0.0, chunks or 5)
        return
    if dataset is not None and dataset not in NAMES:
        raise UnknownName("data set", dataset, NAMES)
    every = [f"{language}{part}" for language in languages for part in ("_refine", "_int", "_fact")]
    written, texts = [], messages(__name__, preferred_language())
    for name in [dataset] if dataset else every:
        path, count = folder / f"{name}.json", 0
        with replacing(path, parents=True) as stream:
            for row in fictional_rgb(name, seed=seed, size=size, difficulty=difficulty or "news"):
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                count += 1
        written.append(texts["questions"].format(path=path, count=count))
    for line in written:
        say(line)


def _mirage(output: Path, languages: tuple[str, ...], seed: int, size: int, share: float, chunks: int) -> None:
    from ragstone.datasets.fictional.pools import make_pool  # noqa: PLC0415
    from ragstone.datasets.mirage import write_mirage  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    for language in languages:
        data = make_pool(size, seed=seed, language=language, chunks_per_query=chunks, multi_hop=share)
        folder = output / language if len(languages) > 1 else output
        write_mirage(folder, data.questions, data.pool, data.oracle)
        say(texts["pool"].format(path=folder, questions=len(data.questions), chunks=len(data.pool)))
