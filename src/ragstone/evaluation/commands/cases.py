"""`ragstone cases …`."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.output import say, stream_json
from ragstone.commands.progress import log_retrieval
from ragstone.commands.translation import summary_of, translated
from ragstone.evaluation.commands.benchmarks import BenchmarkGroup, option_flags, take_options
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.benchmarks.plugin import Plugin
    from ragstone.types import Benchmark, Case


def _command(name: str, plugin: "Plugin") -> click.Command:
    """`ragstone cases NAME`."""
    options = plugin.Options
    assert options is not None

    @click.command(name=plugin.name)
    @option_flags(options)
    def cases(**values: Any) -> None:
        """One line per case: case_id, sample_id, condition, messages, passages, answers. Retrieval is performed; chat
        models are called only if a retriever uses one."""
        asyncio.run(_print(name, take_options(options, values)))

    return translated(cases, "cases NAME", __name__, type(plugin).__module__)


async def _print(name: str, options: dict[str, Any]) -> None:
    from ragstone.engine.execute import cache_folder  # noqa: PLC0415
    from ragstone.evaluation.bench import make_benchmark  # noqa: PLC0415
    from ragstone.types import Resources  # noqa: PLC0415

    benchmark = await make_benchmark(name, options)
    for warning in benchmark.warnings:
        say(messages(__name__, preferred_language())["note"].format(text=warning), err=True)
    if benchmark.prepares:
        log_retrieval()
    await benchmark.prepare(Resources(cache=str(cache_folder().parent)))
    for case in benchmark.cases():
        stream_json(await _line(benchmark, case))


async def _line(benchmark: "Benchmark", case: "Case") -> dict[str, Any]:
    """A case as JSON. Long prompts are built here, one at a time."""
    query = case.query if benchmark.expand is None else await benchmark.expand(case.query)
    return {
        "case_id": case.id,
        "sample_id": case.sample.id,
        "condition": case.condition,
        "messages": [{"role": turn.role, "content": turn.content} for turn in benchmark.template.messages(query)],
        "passages": [
            {"id": passage.id, "text": passage.text, "relevant": passage.relevant}
            | ({"kind": passage.meta["kind"]} if "kind" in passage.meta else {})
            for passage in case.query.passages or ()
        ],
        "answers": case.sample.references,
    }


@click.group(
    cls=BenchmarkGroup,
    command=_command,
    summary=lambda plugin: (
        None if plugin.Options is None else summary_of("summary", plugin.summary, __name__, type(plugin).__module__)
    ),
)
def command() -> None:
    """Print the cases of a benchmark as JSON lines, without asking any model."""
