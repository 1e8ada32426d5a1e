"""`ragstone trend`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import (
    PATH,
    PRICE,
    check_report,
    json_option,
    language_option,
    metrics_option,
    where_option,
)
from ragstone.commands.output import say, say_json, say_tables
from ragstone.messages import messages

if TYPE_CHECKING:
    from ragstone.comparison.trend import TrendResult


@click.command(name="trend")
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN…")
@metrics_option("Follow only these metrics, or cause.NAME of diagnoses (repeatable).", "--metric", "--metrics")
@click.option("--by", type=click.Choice(["day", "week"]), help="Split one run by the time of its records.")
@click.option("--time-column", default="", metavar="NAME",
              help="With --by: the column with the time.  [default: time, timestamp, start_time…]")  # fmt: skip
@click.option("--system", metavar="NAME", help="System to follow, if the runs have several.")
@where_option
@click.option("--price", type=PRICE, default="",
              help="The system's price per million tokens: prompts, answers, cached prompts.")  # fmt: skip
@click.option("--all", "with_tables", is_flag=True, help="Also print the tables.")
@click.option("--report", "report_file", type=PATH, help="Also write the trend to this HTML file.")
@click.option("--fail-on-change", is_flag=True,
              help="Exit 1 if the last change of a quantity is not for the better; 3 if none is tested.")  # fmt: skip
@language_option
@json_option
def command(runs: tuple[Path, ...], **values: Any) -> int:
    """Runs over time: what changed, and when.

    Means with unpaired intervals, errors, latency, tokens and cost of each run, in the order in which they were
    started, and the runs from which one of them has changed. Without a change, the probability of a false alarm is at
    most 5% over all of them. Of a diagnosis, the answers as is are followed. Changed questions and changed judges are
    marked, and not reported as changes of quality."""
    from ragstone.comparison.trend import trend  # noqa: PLC0415

    check_report(values)
    result = trend(
        runs, metrics=values["metrics"], by=values["by"] or "", time_column=values["time_column"],
        system=values["system"], where=values["where"], price=values["price"],
    )  # fmt: skip
    language = values["language"] or result.language
    code = 0
    if values["fail_on_change"]:
        code = 1 if result.trend.worse else 0 if result.trend.tested else 3
    if values["report_file"] is not None:
        result.write_report(values["report_file"], language=language)
    if values["as_json"]:
        say_json(_as_json(result, language) | {"report": _text(values["report_file"]), "exit": code})
        return code
    _say_trend(result, language)
    if values["with_tables"]:
        say_tables(result.tables(language=language), language=language, widest=140)
    if values["report_file"] is not None:
        say(messages(__name__, language)["report_only"].format(path=values["report_file"]))
    if code == 3:
        say(messages(__name__, language)["nothing"], err=True)
    return code


def _say_trend(result: "TrendResult", language: str) -> None:
    """The verdict, a curve in characters for each quantity, and what to look at."""
    from ragstone.comparison.trend_verdict import curve_lines, trend_actions, trend_notes  # noqa: PLC0415

    first, *others = result.verdict(language=language)
    say(first)
    for line in curve_lines(result.trend, language):
        say(f"  {line}")
    for line in (*others, *trend_notes(result.trend, language)[:-1], *trend_actions(result.trend, language)):
        say(line)


def _as_json(result: "TrendResult", language: str) -> dict[str, Any]:
    from ragstone.comparison.trend_verdict import trend_actions, trend_notes, verdict_kind  # noqa: PLC0415

    trend, lines = result.trend, result.verdict(language=language)
    document = dataclasses.asdict(trend)
    for run in document["runs"]:
        run["when"] = run["when"].isoformat()
    for curve, told in zip(trend.curves, document["curves"], strict=True):
        told["changes"] = [
            entry | {"kind": change.kind, "run": trend.runs[change.at].name}
            for entry, change in zip(told["changes"], curve.changes, strict=True)
        ]
    return {
        "verdict": {"kind": verdict_kind(trend), "line": lines[0], "lines": lines},
        "notes": trend_notes(trend, language), "actions": trend_actions(trend, language), **document,
    }  # fmt: skip


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
