"""The command `ragstone-conform`."""

import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from ragstone.cli import Program, run
from ragstone.commands.options import FOLDER, PATH, POSITIVE, json_option, language_option, quiet_option
from ragstone.commands.output import say, say_json, say_tables
from ragstone.errors import UsageError, check_name
from ragstone.messages import messages, preferred_language
from ragstone_conform.cases import Case, load_cases
from ragstone_conform.reproduction import write_reproductions
from ragstone_conform.running import conform
from ragstone_conform.tables import document, tables
from ragstone_conform.targets import target_of


@click.command(name="ragstone-conform")
@click.option("--library", "libraries", multiple=True, required=True, metavar="NAME|FILE|MODULE:FUNCTION",
              help="Library to check: ragas, deepeval, trulens, ragchecker, ragstone, your own (repeatable).",
              )  # fmt: skip
@click.option("--version", default="", help="Version of the library.  [default: the one these cases were written for]")
@click.option("--python", type=PATH,
              help="Python that has the library.  [default: an environment in the user's cache folder]")  # fmt: skip
@click.option("--case", "names", multiple=True, help="Run only this case (repeatable).")
@click.option("--metric", "metrics", multiple=True, help="Run only this metric (repeatable).")
@click.option("--timeout", type=POSITIVE, default=60.0, show_default=True, help="Time limit of a case, in seconds.")
@click.option("--reproduce", type=FOLDER, metavar="DIR",
              help="Write a script for each failure, which needs the library only.")  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Print all cases, not only those that fail.")
@quiet_option
@language_option
@json_option
def command(
    libraries: tuple[str, ...],
    version: str,
    python: Path | None,
    names: tuple[str, ...],
    metrics: tuple[str, ...],
    timeout: float,
    reproduce: Path | None,
    language: str | None,
    *,
    every: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check another library's metrics on cases whose right scores are known.

    Each case is a sample with what a judge says of it: refusals, empty texts, missing verdicts, failing endpoints, in
    English and Chinese. The library is real and runs in an environment of its own; a local endpoint plays the judge.
    The exit code is 1 if a result is not right."""

    if len(libraries) > 1 and (version or python):
        raise UsageError("--version and --python are for one --library; give one.")
    language = language or preferred_language()
    texts = messages(__name__, language)
    cases = _chosen(load_cases(), names, metrics)

    def making(what: str, where: Path) -> None:
        say(texts["making"].format(library=what, folder=where), err=True)

    targets = [target_of(name, version=version, python=python, making=making) for name in libraries]
    found = []
    for target in targets:
        progress = None if quiet else _lines(texts["progress"], target.name)
        try:
            found.append(asyncio.run(conform(target, cases, metrics=metrics, timeout=timeout, progress=progress)))
        except KeyboardInterrupt as error:
            error.add_note(texts["stopped"])
            raise
    by_id, scripts = {case.id: case for case in cases}, {}
    for result in found:
        if reproduce is not None:
            scripts[result.target.name] = [str(path) for path in write_reproductions(result, by_id, reproduce)]
    if as_json:
        say_json(document(found, by_id, scripts))
    else:
        say_tables(tables(found, cases, language, every=every), language=language)
        for paths in scripts.values():
            say(texts["written"].format(n=len(paths), folder=reproduce))
    return 0 if all(result.right for result in found) else 1


def _chosen(cases: Iterable[Case], names: tuple[str, ...], metrics: tuple[str, ...]) -> list[Case]:
    """The cases with these names, in one language (`refusal/zh`) or both (`refusal`). Raises UnknownName."""
    cases = list(cases)
    ids = {case.id for case in cases} | {case.id.rpartition("/")[0] for case in cases}
    for name in names:
        check_name("case", name, ids)
    known = {metric for case in cases for metric in case.expect}
    for metric in metrics:
        check_name("metric", metric, known)
    return [case for case in cases if not names or {case.id, case.id.rpartition("/")[0]} & set(names)]


def _lines(text: str, library: str) -> Callable[[int, int], None]:
    """A line on standard error at every fifth of the cases."""

    def say_progress(done: int, total: int) -> None:
        if done * 5 // total > (done - 1) * 5 // total:
            say(text.format(library=library, done=done, total=total), err=True)

    return say_progress


PROGRAM = Program(command, "ragstone-conform", (__name__,))


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:], PROGRAM))


if __name__ == "__main__":
    main()
