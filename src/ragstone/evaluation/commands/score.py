"""`ragstone score …`."""

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, json_option
from ragstone.commands.output import say, say_json
from ragstone.commands.show import say_run
from ragstone.commands.translation import summary_of, translated
from ragstone.errors import UsageError
from ragstone.evaluation.commands.benchmarks import BenchmarkGroup, option_flags, take_options, with_parameters
from ragstone.messages import LANGUAGES, messages, preferred_language

if TYPE_CHECKING:
    from ragstone.benchmarks.plugin import Plugin

_RUN_OPTIONS = (
    click.Option(["--run", "run_file"], type=PATH,
                 help="Save everything as a run file, for reports and comparisons; it may exist."),
    click.Option(["--report", "report_file"], type=PATH, help="With --run: also write the report to this file."),
    click.Option(["--language"], type=click.Choice(LANGUAGES),
                 help="Language of the output.  [default: that of the run, else the environment's]"),
)  # fmt: skip


def _command(name: str, plugin: "Plugin") -> click.Command:
    """`ragstone score NAME`."""
    rescoring = plugin.rescoring
    assert rescoring is not None

    @click.command(name=plugin.name, help=inspect.getdoc(rescoring))
    @option_flags(rescoring.Options)
    @with_parameters(_RUN_OPTIONS if plugin.import_results else ())
    @json_option
    def score(as_json: bool, **values: Any) -> None:
        language = values.get("language")
        from ragstone.benchmarks.options import options_from  # noqa: PLC0415

        options = take_options(rescoring.Options, values)
        if values.get("run_file") is not None:
            _side_by_side(name, plugin, options["paths"], **values, quiet=as_json)
            if not as_json:
                return
        elif plugin.import_results is not None:
            _check_paths(options["paths"], values["report_file"])
        rescored = rescoring.score(options_from(rescoring.Options, options, of=plugin.name))
        for note in rescored.notes:
            say(messages(__name__, language or preferred_language())["note"].format(text=note), err=True)
        if as_json:
            say_json(rescored.document)
            return
        for line in rescored.lines:
            say(line)

    return translated(score, "score", __name__, type(plugin).__module__)


def _check_paths(paths: tuple[Path, ...], report_file: Path | None) -> None:
    """Raises UsageError for what only a run file offers."""
    from ragstone.runs import is_run_file  # noqa: PLC0415

    if report_file is not None:
        raise UsageError("--report is written from a run file: add --run FILE.")
    if run_files := [path for path in paths if is_run_file(path)]:
        raise UsageError(f"{run_files[0]} is a run file: add --run FILE to combine it, or use `ragstone report`.")


def _side_by_side(
    name: str,
    plugin: "Plugin",
    paths: tuple[Path, ...],
    *,
    run_file: Path,
    report_file: Path | None,
    language: str | None,
    quiet: bool,
) -> None:
    """Writes the run file and the report, and prints the tables unless `quiet`."""
    from ragstone.commands.shell import command_line  # noqa: PLC0415
    from ragstone.engine.execute import Shell  # noqa: PLC0415
    from ragstone.engine.open_run import check_target  # noqa: PLC0415
    from ragstone.evaluation.results import import_results  # noqa: PLC0415

    if report_file is not None:
        check_target(report_file)
    with import_results(name, paths, run_file, shell=Shell(command_line(sys.argv[1:]), language=language)) as run:
        language = run.language
        report = run.write_report(report_file, language=language) if report_file is not None else None
        if not quiet:
            say_run(run, language=language, report=report)


@click.group(
    cls=BenchmarkGroup,
    command=_command,
    summary=lambda plugin: (
        None
        if plugin.rescoring is None
        else summary_of("score summary", plugin.rescoring.summary, __name__, type(plugin).__module__)
    ),
)
def command() -> None:
    """Re-score saved predictions in the official formats, exactly as the official programs do."""
