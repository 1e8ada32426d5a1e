"""`ragstone compare`."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, NameList, Number, json_option, language_option, metrics_option, where_option
from ragstone.commands.output import say, say_json, say_tables
from ragstone.errors import UsageError
from ragstone.messages import messages

if TYPE_CHECKING:
    from ragstone.analysis.flips import Flips
    from ragstone.comparison.compare_figures import Comparison, Difference
    from ragstone.comparison.compare_flips import FlippedCases
    from ragstone.display import Chart, Table

_MOVES_SHOWN = 3  # of each metric, in either direction


@click.command(name="compare")
@click.argument("a", type=PATH)
@click.argument("b", required=False, type=PATH)
@click.option("--system-a", metavar="NAME", help="System of A, if it has several.")
@click.option("--system-b", metavar="NAME", help="System of B, or of A if that is the only file.")
@metrics_option("Compare only these metrics, and right answers (repeatable).")
@metrics_option("Metrics that decide, corrected among themselves (repeatable).  [default: all]", "--primary")
@click.option("--power", type=Number(0.0001), metavar="DIFFERENCE",
              help="Also say how many questions would show this difference.")  # fmt: skip
@click.option("--on", type=click.Choice(["all", "common"]), default="all", show_default=True,
              help="common: only samples that both runs have, if the data differ.")  # fmt: skip
@click.option("--judges", type=click.Choice(["same", "different"]), default="same", show_default=True,
              help="different: compare verdicts of different judges or prompts as well.")  # fmt: skip
@where_option
@click.option("--group-by", type=NameList(), default=(), help="One row per value of these conditions or columns.")
@click.option("--by", type=click.Choice(["retriever", "k", "chunk"]),
              help="Compare retrievers, numbers of chunks or chunk sizes with each other.")  # fmt: skip
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 if B is significantly worse in a (primary) metric.")
@click.option("--tolerance", type=Number(0),
              help="With --fail-on-regression: only if the mean is worse by more than this.")  # fmt: skip
@click.option("--min-coverage", type=Number(0, 1), default=0.95, show_default=True,
              help="Exit 3 if a smaller share of pairs was compared or has both scores.")  # fmt: skip
@click.option("--report", "report_file", type=PATH, help="Also write the comparison to this HTML file.")
@language_option
@json_option
def command(a: Path, b: Path | None, **values: Any) -> int:
    """Compare two runs (or two systems of A): paired differences, intervals, tests, and which samples flipped.

    The difference is B minus A. McNemar's exact test where scores are 0 and 1, else the interval of gains and losses;
    Holm over the table, which the intervals follow."""
    from ragstone.comparison.compare_verdict import (  # noqa: PLC0415
        comparison_notices,
        comparison_verdict,
        right_line,
        verdict_of,
        write_comparison,
    )  # fmt: skip
    from ragstone.comparison.difference_tables import comparison_tables, label_of, texts_for  # noqa: PLC0415
    from ragstone.engine.open_run import check_target, remembered_language  # noqa: PLC0415

    if values["tolerance"] is not None and not values["fail_on_regression"]:
        raise UsageError("--tolerance belongs to --fail-on-regression: it says how much worse is too much.")
    report, language = values["report_file"], values["language"] or remembered_language(a)
    if report is not None:
        check_target(report)
    comparison, more, charts, flips, flipped = _compared(a, b, values, language)
    worse = [row for row in comparison.rows if row.regressed(values["tolerance"])]
    primary = values["primary"]
    deciding = [row for row in comparison.rows if row.primary]
    refused = {name: why for name, why in comparison.refused.items() if not primary or name in primary}
    names = texts_for(comparison, label_of.__module__, language)
    thin = [label_of(row, names) for row in deciding if row.coverage < values["min_coverage"]]
    too_few = comparison.coverage < values["min_coverage"]
    thin += [name for name, failed in comparison.unpaired.items() if any(failed)]
    thin += [name for names in comparison.one_sided for name in names if name in (primary or values["metrics"])]
    unfinished = [name for name, answered, total in comparison.unfinished if answered < values["min_coverage"] * total]
    code = 0
    if values["fail_on_regression"]:
        code = 1 if worse else 3 if too_few or thin or unfinished or refused or not deciding else 0
    if report is not None:
        write_comparison(
            comparison, report, more=more, charts=charts, flips=flipped, language=language,
        )  # fmt: skip
    verdict = comparison_verdict(comparison, language=language, opened=flips is not None and not values["as_json"])
    if values["as_json"]:
        document = {
            "verdict": {"kind": verdict_of(comparison), "line": " ".join(verdict), "lines": verdict}
        } | _as_json(comparison, values["tolerance"], values["power"])
        document |= {"report": None if report is None else str(report), "tables": more}
        document |= {"exit": code}
        say_json(document)
        return code
    opening = [] if flips is None else [right_line(comparison, flips, language=language)]
    for line in (*comparison_notices(comparison, language=language), *opening, *verdict):
        say(line)
    tables = (*comparison_tables(comparison, language=language, moves=_MOVES_SHOWN, power=values["power"]), *more)
    say_tables(tables, language=language, widest=140)
    if report is not None:
        say(messages(__name__, language)["report"].format(path=report))
    if values["fail_on_regression"]:
        if too_few:
            said = {"n": f"{comparison.pairs:,}", "share": comparison.coverage}
            say(messages(__name__, language)["too_few"].format(**said), err=True)
        _say_regressions([(row, label_of(row, names)) for row in worse], thin, unfinished, refused, language)
        if not deciding:
            say(messages(__name__, language)["none"], err=True)
    return code


def _compared(
    a: Path, b: Path | None, values: Mapping[str, Any], language: str
) -> "tuple[Comparison, list[Table], list[Chart], Flips | None, FlippedCases | None]":
    """The comparison, the tables of the benchmark, for a report its charts, the flips of two systems, and for a report
    also with the samples that the tables name. Each run is opened once, and read once for comparison and flips."""
    from ragstone.comparison.compare import compare_sides, opened_sides  # noqa: PLC0415
    from ragstone.comparison.compare_flips import flip_reader  # noqa: PLC0415
    from ragstone.comparison.compare_tables import benchmark_charts, benchmark_tables  # noqa: PLC0415

    where, by = values["where"], values["by"] or ""
    with opened_sides(a, b, values["system_a"], values["system_b"], within=bool(by)) as sides:
        flipped = None if by else flip_reader(sides, language=language)
        comparison = compare_sides(
            *sides, by=by, metrics=values["metrics"], on=values["on"], judges=values["judges"], where=where,
            group_by=values["group_by"], primary=values["primary"], flips=flipped,
        )  # fmt: skip
        if by:
            return comparison, [], [], None, None
        tables = benchmark_tables(sides, where=where, language=language)
        flips = None if flipped is None else flipped.flips(comparison)
        if values["report_file"] is None:
            return comparison, tables, [], flips, None
        charts = benchmark_charts(sides, where=where, language=language)
        return comparison, tables, charts, flips, None if flipped is None else flipped.flipped(comparison)


def _say_regressions(
    worse: "list[tuple[Difference, str]]",
    thin: list[str],
    unfinished: list[str],
    refused: Mapping[str, Any],
    language: str,
) -> None:
    """Says on standard error why `--fail-on-regression` ends as it does. `worse`: each with its name for a reader."""
    texts = messages(__name__, language)
    for row, label in worse:
        samples = ", ".join(flip.sample for flip in row.lost[:10])
        line = texts["regression"].format(label=label, a=row.a, b=row.b, p=row.p_holm)
        say(line + (texts["worse"].format(samples=samples) if samples else ""), err=True)
    for name in thin:
        say(texts["thin"].format(name=name), err=True)
    for name in unfinished:
        say(texts["unfinished"].format(name=name), err=True)
    for name, why in refused.items():
        say(texts["refused"].format(name=name, why=why), err=True)


def _as_json(comparison: "Comparison", tolerance: float | None, power: float | None) -> dict[str, Any]:
    rows = [
        {**dataclasses.asdict(dataclasses.replace(row, decision=None)), "coverage": row.coverage}
        | {"regressed": row.regressed(tolerance), "spread": None}
        | {"needed": None if power is None else row.needed(power)}
        for row in comparison.rows
    ]
    for row in rows:
        del row["decision"]
    return {
        "a": comparison.a.name, "b": comparison.b.name, "pairs": comparison.pairs,
        "left_out": {"only_a": comparison.left_out[0], "only_b": comparison.left_out[1], "changed": comparison.changed},
        "metrics": rows, "refused": {name: str(why) for name, why in comparison.refused.items()},
        "differing": list(comparison.differing),
        "unfinished": [
            {"name": name, "asked": answered, "total": total} for name, answered, total in comparison.unfinished
        ],
        "unpaired": {name: {"failed_a": a, "failed_b": b} for name, (a, b) in comparison.unpaired.items()},
        "one_sided": {"only_a": list(comparison.one_sided[0]), "only_b": list(comparison.one_sided[1])},
        "judges": {"a": list(comparison.judges[0]), "b": list(comparison.judges[1])},
    }  # fmt: skip
