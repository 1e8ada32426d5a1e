"""`ragstone show`: the tables of a run in the terminal, as the command that made it prints them at its end."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, json_option, language_option
from ragstone.commands.output import say, say_json, say_opening, say_tables
from ragstone.messages import messages

if TYPE_CHECKING:
    from ragstone.engine.open_run import OpenRun
    from ragstone.engine.slices import Slices
    from ragstone.runs.outcome import Outcome
    from ragstone.runs.reader import Failure

_FAILURES = 3  # kinds of failure that are shown
_LONGEST = 300  # characters of one


@click.command(name="show")
@click.argument("run_file", metavar="RUN", type=PATH)
@click.option("--all", "every", is_flag=True, help="Print all tables, not only the main ones.")
@click.option(
    "--slices",
    "where_it_fails",
    is_flag=True,
    help="Print the slices that fail more than the rest: topics, columns, question types, pairs of them.",
)
@language_option
@json_option
def command(run_file: Path, language: str | None, *, every: bool, where_it_fails: bool, as_json: bool) -> None:
    """Print the tables of RUN: unfinished work first, then the main tables, as at the end of `ragstone bench`."""
    from ragstone.engine.open_run import read_run  # noqa: PLC0415

    with read_run(run_file) as run:
        language = language or run.language
        if where_it_fails:
            _say_slices(run, language, as_json=as_json)
            return
        if as_json:
            say_json(_document(run, language))
            return
        say_run(run, language=language, every=every, notes=run.warnings)
        for failure in run.run.failures()[:_FAILURES]:
            text = _failure(failure, language)
            say(messages(__name__, language)["failures"].format(count=failure.count, text=text), err=True)


def _say_slices(run: "OpenRun", language: str, *, as_json: bool) -> None:
    from ragstone.engine.slices import slice_tables, slice_verdict, slices  # noqa: PLC0415
    from ragstone.report.metadata import words_of  # noqa: PLC0415

    results, words = slices(run), words_of(run.benchmark, language)
    if as_json:
        say_json({"run": str(run.path), "systems": [_slices_document(result) for result in results]})
    else:
        for result in results:
            say(slice_verdict(result, language=language, words=words))
        say_tables(slice_tables(results, language=language, words=words), language=language)


def _slices_document(result: "Slices") -> dict[str, Any]:
    listed = {
        kind: [
            {
                "where": dict(each.where), "wrong": each.contrast.inside.value, "n": each.contrast.inside.n,
                "wrong_outside": each.contrast.outside.value, "n_outside": each.contrast.outside.n,
                "difference": each.contrast.difference, "low": each.contrast.low, "high": each.contrast.high,
                "p": each.p, "p_holm": each.p_holm, "within": each.within, "also": list(each.also),
                "cases": list(each.wrong),
            }
            for each in some
        ]
        for kind, some in (("found", result.found), ("others", result.others))
    }  # fmt: skip
    return {"system": result.system, "samples": result.samples, "undecided": result.undecided,
            "tested": {"values": result.tested[0], "pairs": result.tested[1]}, **listed}  # fmt: skip


def _document(run: "OpenRun", language: str) -> dict[str, Any]:
    plans = run.run.plans()
    return {
        "run": str(run.path), "benchmark": run.benchmark.name,
        "unfinished": {name: plan for name, plan in plans.items() if plan.unfinished},
        "systems": {
            name: {
                "answered": count.answered, "failed": count.failed,
                "planned": plans[name].total if name in plans else None,
            }
            for name, count in run.run.counts().items()
        },
        "warnings": run.warnings, "tables": run.tables(language=language),
    }  # fmt: skip


def say_run(
    run: "OpenRun", *, language: str, every: bool = False, report: Path | None = None, notes: Sequence[str] = ()
) -> None:
    """Print what is unfinished, the verdict of a diagnosis, the leading tables (with `every`, all), and where the
    rest is. `report`: path of the report, if one was written. `notes` go to standard error."""
    texts = messages(__name__, language)
    for line in run.unfinished(language=language):
        say(line)
    summaries = run.summaries(language=language)  # their pass over the records counts for the tables, too
    tables, leading = run.tables(language=language, short=True), run.leading_tables(language=language)
    own = any(summary.bars or summary.dots for summary in summaries.values())
    say_opening(summaries, () if own else run.leading_charts(language=language), language=language)
    if any(count.answered for count in run.run.counts().values()):
        say_tables(tables if every else leading, language=language)
    for note in notes:
        say(texts["note"].format(text=note), err=True)
    say(texts["run_file"].format(path=run.path))
    more = len(tables) - (len(tables) if every else len(leading))
    rest = texts[("rest.none", "rest.table", "rest.tables")[min(more, 2)]].format(n=more)
    path = report or shlex.join(["ragstone", "report", str(run.path), "-o", "report.html"])
    say(texts["report"].format(path=path) + texts["rest"].format(rest=rest))


def say_reused(outcome: "Outcome", path: Path, language: str) -> None:
    """Print to standard error that a system was not asked because the run has all its answers, if that is so."""
    if outcome.complete and outcome.already and not outcome.asked:
        say(messages(__name__, language)["reused"].format(path=path), err=True)


def failures_of(run: "OpenRun", language: str) -> list[str]:
    """The most frequent failures of a run, as kind and message."""
    return [_failure(failure, language) for failure in run.run.failures()[:_FAILURES]]


def _failure(failure: "Failure", language: str) -> str:
    from ragstone.metrics.catalogue import in_language  # noqa: PLC0415  (a help text does not need it)

    message, metric = " ".join(failure.message.split()), failure.kind.removeprefix("metric ")
    text = in_language(message, language)
    if metric != failure.kind:
        text = messages(__name__, language)["of_metric"].format(name=metric, text=text)
    return text[:_LONGEST]


def exit_code(outcome: "Outcome", run: "OpenRun", gates: int = 0) -> int:
    """The exit code of a command that ran this: that of its `gates` where nothing is left to do, 2 if what was to be
    asked has never answered (a wrong key, model or address), else 1 if a gate failed, else 3: also for an endpoint
    that is there and fails."""
    if outcome.complete:
        return gates
    never = _nobody_there(outcome, run)
    if outcome.refused:
        beside = outcome.done and len(run.run.systems) > 1  # another system has
        never = not beside and all(error.exit_code == 2 for error in outcome.refused)
    return 2 if never else 1 if gates == 1 else 3


def _nobody_there(outcome: "Outcome", run: "OpenRun") -> bool:
    """Whether each failure is that nobody listens at the address, and nothing came from there: too few cases for the
    endpoint to be given up."""
    failures = run.run.failures()
    if not failures or not all(failure.message.startswith("unreachable:") for failure in failures):
        return False
    metrics = {failure.kind.removeprefix("metric ") for failure in failures if failure.kind.startswith("metric ")}
    if len(metrics) < len(failures):
        return not outcome.done
    return not any(
        score.value is not None
        for record in run.run.records(texts=False)
        for name, score in record.scores.items()
        if name in metrics
    )


def say_unfinished(outcome: "Outcome", failures: Sequence[str], language: str) -> None:
    """Print to standard error what to do about an unfinished run, and messages of its failures, one line each, that do
    not stand there already."""
    say(f"ragstone: {(advice := outcome.advice_in(language))}", err=True)
    for message in failures:
        _, *rest = re.split(": |：", message, maxsplit=1)
        if not any(text.rstrip(".。") in advice for text in rest):
            say(messages(__name__, language)["failed"].format(text=message), err=True)
