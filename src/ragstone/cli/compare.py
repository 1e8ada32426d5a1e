"""`ragstone compare`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.options import Names, Number, Pairs, json_option, language_option, metrics_option, once
from ragstone.cli.output import say, say_json, say_tables

if TYPE_CHECKING:
    from ragstone.analysis.compare import Comparison, Difference

__all__ = ["command"]

_MOVES_SHOWN = 3  # of each metric, in either direction


@click.command(name="compare")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", required=False, type=click.Path(path_type=Path))
@click.option("--system-a", metavar="NAME", help="System of A, if it has several.")
@click.option("--system-b", metavar="NAME", help="System of B, or of A if that is the only file.")
@metrics_option("Compare only these metrics (repeatable).")
@click.option("--on", type=click.Choice(["all", "common"]), default="all", show_default=True,
              help="common: only samples that both runs have, if the data differ.")  # fmt: skip
@click.option("--judges", type=click.Choice(["same", "different"]), default="same", show_default=True,
              help="different: compare verdicts of different judges or prompts as well.")  # fmt: skip
@click.option("--where", type=Pairs(), multiple=True, metavar="NAME=VALUE",
              help="Only cases with this value of a condition or column (repeatable).")  # fmt: skip
@click.option("--group-by", type=Names(), default=(), help="One row per value of these conditions or columns.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 if B is significantly worse in any metric.")
@click.option("--by", type=Number(0), help="With --fail-on-regression: only if the mean is worse by more than this.")
@click.option("--min-coverage", type=Number(0, 1), default=0.95, show_default=True,
              help="Exit 3 if a smaller share of pairs has both scores.")  # fmt: skip
@click.option(
    "--report", "report_file", type=click.Path(path_type=Path), help="Also write the comparison to this HTML file."
)
@language_option
@json_option
def command(a: Path, b: Path | None, **values: Any) -> int:
    """Compare two runs (or two systems of A): paired differences, intervals, tests, and which samples flipped.

    The difference is B minus A. McNemar's exact test where scores are 0 and 1, permutation otherwise; Holm over the
    table."""
    from ragstone.api.compare import compare, comparison_tables  # noqa: PLC0415
    from ragstone.api.compare_tables import benchmark_tables  # noqa: PLC0415
    from ragstone.api.compare_verdict import (  # noqa: PLC0415
        comparison_notices,
        comparison_verdict,
        verdict_of,
        write_comparison,
    )  # fmt: skip
    from ragstone.api.open_run import check_target, remembered_language  # noqa: PLC0415
    from ragstone.errors import UsageError  # noqa: PLC0415
    from ragstone.types import from_json, to_json  # noqa: PLC0415

    if values["by"] is not None and not values["fail_on_regression"]:
        raise UsageError("--by belongs to --fail-on-regression: it says how much worse is too much.")
    report, language = values["report_file"], values["language"] or remembered_language(a)
    if report is not None:
        check_target(report)
    found = compare(
        a, b, system_a=values["system_a"], system_b=values["system_b"], metrics=values["metrics"], on=values["on"],
        judges=values["judges"], where=once(values["where"], "--where"), group_by=values["group_by"],
    )  # fmt: skip
    more = benchmark_tables(
        a, b, system_a=values["system_a"], system_b=values["system_b"], where=dict(values["where"]),
        language=language,
    )  # fmt: skip
    worse = [row for row in found.rows if row.regressed(values["by"])]
    thin = [row.label for row in found.rows if row.coverage < values["min_coverage"]]
    thin += [name for name, failed in found.unpaired.items() if any(failed)]
    thin += [name for names in found.one_sided for name in names if name in values["metrics"]]
    short = [name for name, asked, total in found.unfinished if asked < values["min_coverage"] * total]
    code = 0
    if values["fail_on_regression"]:
        code = 1 if worse else 3 if thin or short or found.refused or not found.rows else 0
    if report is not None:
        write_comparison(found, report, more=more, language=language)
    verdict = comparison_verdict(found, language=language)
    if values["as_json"]:
        document = {"verdict": {"kind": verdict_of(found), "line": verdict}} | _as_json(found, values["by"])
        document |= {"report": None if report is None else str(report), "tables": from_json(to_json(more), list)}
        document |= {"exit": code}
        say_json(document)
        return code
    for line in (*comparison_notices(found, language=language), verdict):
        say(line)
    tables = (*comparison_tables(found, language=language, moves=_MOVES_SHOWN), *more)
    say_tables(tables, language=language, widest=140)
    if report is not None:
        say(f"Report:   {report}")
    if values["fail_on_regression"]:
        _say_regressions(found, worse, thin, short)
    return code


def _say_regressions(found: "Comparison", worse: "list[Difference]", thin: list[str], short: list[str]) -> None:
    """Why `--fail-on-regression` ends as it does, on standard error."""
    for row in worse:
        told = ", ".join(flip.sample for flip in row.lost[:10])
        say(
            f"regression: {row.label} {row.a:.3f} → {row.b:.3f} (p {row.p_holm:.3g})"
            + (f"; worse: {told}" if told else ""),
            err=True,
        )
    for name in thin:
        say(f"too few pairs have both scores of {name}: run the evaluation again.", err=True)
    for name in short:
        say(f"{name} is unfinished: run its command again.", err=True)
    for name, why in found.refused.items():
        say(f"{name} is not compared: {why}. Make the first run anew, or see --judges and --metrics.", err=True)
    if not found.rows:
        say("no metric could be compared.", err=True)


def _as_json(found: "Comparison", by: float | None) -> dict[str, Any]:
    rows = []
    for row in found.rows:
        told = dataclasses.asdict(row)
        rows.append({**told, "coverage": row.coverage, "regressed": row.regressed(by)})
    return {
        "a": found.a.name, "b": found.b.name, "pairs": found.pairs,
        "left_out": {"only_a": found.left_out[0], "only_b": found.left_out[1], "changed": found.changed},
        "metrics": rows, "refused": {name: str(why) for name, why in found.refused.items()},
        "differing": list(found.differing),
        "unfinished": [{"name": name, "asked": asked, "total": total} for name, asked, total in found.unfinished],
        "unpaired": {name: {"failed_a": a, "failed_b": b} for name, (a, b) in found.unpaired.items()},
        "one_sided": {"only_a": list(found.one_sided[0]), "only_b": list(found.one_sided[1])},
        "judges": {"a": list(found.judges[0]), "b": list(found.judges[1])},
    }  # fmt: skip
