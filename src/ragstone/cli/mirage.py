"""`ragstone bench mirage`, `ragstone cases mirage`."""

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.benching import model_options, read_asked, run_benchmark, run_options
from ragstone.cli.options import MOST_QUESTIONS, Names, Number, both
from ragstone.cli.saying import SayingHandler, say, stream_json

if TYPE_CHECKING:
    from ragstone.benchmarks.mirage import MIRAGE
    from ragstone.models import ModelOptions

__all__ = ["bench", "cases"]


mirage_options = both(
    click.option("--data", default="fictional", show_default=True, metavar="fictional|official|DIR|FILE",
                 help="Generated, pulled (`ragstone data pull mirage`), or MIRAGE's, the hub's or BEIR's form."),
    click.option("--retriever", "retrievers", multiple=True, metavar="NAME",
                 help="bm25, local/e5-small, hybrid(bm25,local/e5-small)…; may repeat. docs/retrievers.md has all."),
    click.option("--top-k", "ks", default="1,3,5", show_default=True, help="How many chunks, by commas."),
    click.option("--chunk", "chunks", default="0", show_default=True,
                 help="Sizes in tokens to cut the pool's chunks to, by commas; 0: as they are."),
    click.option("--chunk-method", type=click.Choice(["sentence", "recursive", "token"]), default="sentence",
                 show_default=True, help="What a chunk keeps whole where it can."),
    click.option("--chunk-overlap", type=click.IntRange(0), default=0, show_default=True,
                 help="Tokens of a chunk that the next begins with."),
    click.option("--chunk-tokenizer", metavar="NAME", default="ragstone/estimate", show_default=True,
                 help="Who counts: also local/e5-small, openai/o200k_base, openai/cl100k_base."),
    click.option("--setting", "settings", type=Names(), default="base,oracle,mixed,retrieved", show_default=True,
                 help="Which settings; base, oracle and mixed are asked once of each model."),
    click.option("--retriever-base-url", metavar="URL", help="Endpoint of the models that retrievers name."),
    click.option("--negatives", multiple=True, metavar="RETRIEVER",
                 help="Mixed again, with what this retriever takes for right in place of its noise; may repeat."),
    click.option("--probe", is_flag=True, help="Ask invented questions without context too: what is known beforehand."),
    click.option("--scoring", type=click.Choice(["default", "official"]), default="default", show_default=True,
                 help="Which scoring leads the tables; both are computed."),
    click.option("--protocol", type=click.Choice(["default", "official"]), help="official: --scoring official."),
    click.option("--template", default="official", show_default=True, help="The published prompt."),
    click.option("--language", type=click.Choice(["en", "zh"]), default="en", show_default=True,
                 help="Of the fictional data."),
    click.option("--limit", type=click.IntRange(1), help="The first so many questions; the pool stays whole."),
    click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Answers to each case."),
    click.option("--fictional-seed", type=int, default=0, show_default=True, help="Seed of the fictional data."),
    click.option("--fictional-size", type=click.IntRange(1, MOST_QUESTIONS), help="Questions.  [default: 200]"),
    click.option("--multi-hop", type=Number(0, 1), default=0.0, show_default=True,
                 help="Share of fictional questions that need two chunks."),
)  # fmt: skip


def _made(values: dict[str, Any], *, calling: "ModelOptions | None" = None, alone: bool = False) -> "MIRAGE":
    from ragstone.api.make_mirage import make_mirage  # noqa: PLC0415
    from ragstone.errors import UsageError  # noqa: PLC0415
    from ragstone.retrieval.chunking import Chunking, parse_sizes  # noqa: PLC0415

    names = ("data", "retrievers", "settings", "negatives", "probe", "scoring", "template", "language", "limit",
             "repeat", "fictional_seed", "fictional_size", "multi_hop")  # fmt: skip
    taken = {name: values.pop(name) for name in names}
    if values.pop("protocol") == "official":
        taken["scoring"] = "official"
    parts = [part.strip() for part in values.pop("ks").split(",")]
    if not all(part.isascii() and part.removeprefix("-").isdigit() and len(part) < 20 for part in parts):
        raise UsageError("--top-k takes whole numbers by commas, such as 1,3,5.")
    taken["ks"] = tuple(map(int, parts))
    url = values.pop("retriever_base_url")
    taken["chunks"] = parse_sizes(values.pop("chunks"))
    taken["chunking"] = Chunking(
        values.pop("chunk_method"), values.pop("chunk_overlap"), values.pop("chunk_tokenizer")
    )  # fmt: skip
    return make_mirage(**taken, model_options=calling and replace(calling, base_url=url), alone=alone)


@click.command(name="mirage")
@model_options
@mirage_options
@run_options
def bench(**values: Any) -> int:
    """MIRAGE: which retriever and model fit together, and why (Park et al. 2025).

    Without --model, the retrievers are scored alone."""
    from ragstone.errors import UsageError  # noqa: PLC0415

    alone = not values["models"]
    if alone and not values["retrievers"]:
        raise UsageError("Nothing to measure: name a --model, a --retriever, or both.")
    if alone:
        values["models"] = ("local/retrieval",)
    asked = read_asked(values)
    if not asked.quiet:
        _tell_retrieval()
    made = _made(values, calling=asked.calling, alone=alone or asked.models == ("local/retrieval",))
    return run_benchmark(made, asked)


def _tell_retrieval() -> None:
    """Retrieval comes before the first case, and embedding a pool takes minutes: on standard error, how far it is."""
    for name in ("ragstone.retrieval", "ragstone.benchmarks.mirage"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers = [SayingHandler()]


@click.command(name="mirage")
@mirage_options
def cases(**values: Any) -> None:
    """One line a case: case_id, sample_id, condition, messages, passages. Retrieval is done; no chat model is asked,
    unless a retriever names one."""
    from ragstone.api.bench import cache_folder  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.types import Resources  # noqa: PLC0415

    _tell_retrieval()
    made = _made(values, calling=ModelOptions(cache=cache_folder()))
    for warning in made.warnings:
        say(f"note: {warning}", err=True)
    asyncio.run(made.prepare(Resources(cache=str(cache_folder().parent))))
    for case in made.cases():
        line = {
            "case_id": case.id, "sample_id": case.sample.id, "condition": case.condition,
            "messages": [{"role": turn.role, "content": turn.content} for turn in made.template.messages(case.query)],
            "passages": [{"id": one.id, "relevant": one.relevant} for one in case.query.passages or ()],
            "answers": case.sample.references,
        }  # fmt: skip
        stream_json(line)
