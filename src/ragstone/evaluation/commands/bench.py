"""`ragstone bench …`."""

import inspect
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.translation import summary_of, translated
from ragstone.evaluation.commands.bench_command import model_options, run_named, run_options
from ragstone.evaluation.commands.benchmarks import BenchmarkGroup, check_flags, option_flags, take_options

if TYPE_CHECKING:
    from ragstone.benchmarks.plugin import Plugin


def _command(name: str, plugin: "Plugin") -> click.Command:
    """`ragstone bench NAME`."""
    options = plugin.Options
    assert options is not None

    @click.command(name=plugin.name, help=inspect.getdoc(plugin))
    @model_options
    @option_flags(options)
    @run_options
    def bench(**values: Any) -> int:
        return run_named(name, take_options(options, values), values)

    return translated(check_flags(bench, plugin), "bench", __name__, type(plugin).__module__)


@click.group(
    cls=BenchmarkGroup,
    command=_command,
    summary=lambda plugin: (
        None if plugin.Options is None else summary_of("summary", plugin.summary, __name__, type(plugin).__module__)
    ),
)
def command() -> None:
    """Run a benchmark. The run file keeps everything; run the same command again to resume."""
