"""Gates on metrics, for `eval` and `gate`."""

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, Number, both, json_option, language_option, once, where_option
from ragstone.commands.output import say, say_json
from ragstone.errors import UnknownName, UsageError
from ragstone.messages import messages

if TYPE_CHECKING:
    from ragstone.analysis.gates import Gate, GateResult
    from ragstone.types import Metric, Run

_LINKED = 3  # samples of a gate


class Threshold(click.ParamType[tuple[str, float]]):
    """METRIC=NUMBER."""

    name = "METRIC=NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if not isinstance(value, str):
            return (value[0], value[1])
        name, _, number = value.rpartition("=")
        try:
            threshold = float(number)
        except ValueError:
            threshold = math.nan
        if not name.strip() or not math.isfinite(threshold):
            self.fail(f"{value!r}: expected {self.name}, such as faithfulness=0.8.", param, ctx)
        return name.strip(), threshold


gate_options = both(
    click.option("--fail-under", type=Threshold(), multiple=True,
                 help="Exit 1 if the mean is lower than this (repeatable)."),
    click.option("--fail-over", type=Threshold(), multiple=True,
                 help="Exit 1 if the mean is higher than this (repeatable)."),
    click.option("--gate", "gate_mode", type=click.Choice(["interval", "point"]), default=None,
                 help="interval: fail if the whole 95% interval is on the wrong side; point: if the mean is."
                 "  [default: interval]"),
    click.option("--min-coverage", type=Number(0, 1), default=None,
                 help="Exit 3 if a smaller share could be scored.  [default: 0.95]"),
)  # fmt: skip


def check_gate_options(
    values: dict[str, Any], metrics: "Iterable[str | Metric]", run: Path | None, *others: str
) -> None:
    """Raises now, before anything is spent, the errors that `report_gates` would raise at the end. `metrics`: those
    that will be scored, besides those that the run file `run` has, if it is there, and `others`."""
    from ragstone.engine.gates import project_gates  # noqa: PLC0415
    from ragstone.metrics import installed_metric, scored_names  # noqa: PLC0415
    from ragstone.registry import is_place  # noqa: PLC0415

    scored = {*scored_names(metrics), *_names_in(run), *others}
    of_project, _ = project_gates()
    for name in sorted({gate.metric for gate in of_project} - scored):
        try:
            installed_metric(name)
        except UnknownName as error:
            if not (name.startswith(("rubric.", "rubric:")) or is_place(name)):  # of the user's own
                raise UsageError(f"The gates of ragstone.toml or pyproject.toml: {error}") from None
    _gates(values, of_project)
    thresholds = {name for name, _ in (*values["fail_under"], *values["fail_over"])}
    if unknown := sorted(name for name in thresholds if not _is_scored(name, scored)):
        named = ", ".join(sorted(scored.difference(others)))
        raise UsageError(
            f"There is a gate for {unknown[0]}, which is not scored here: add it to --metrics. Scored: {named}."
        )


def _names_in(run: Path | None) -> Collection[str]:
    """The metrics of a run file; none if there is no such file."""
    from ragstone.runs import is_run_file, open_run  # noqa: PLC0415

    if run is None or not is_run_file(run):
        return ()
    with open_run(run) as opened:
        return tuple(opened.meta.get("metrics", ()))


def _gates(
    values: dict[str, Any], of_project: "Sequence[Gate]", meta: "Mapping[str, Any] | None" = None
) -> "list[Gate]":
    from ragstone.engine.gates import gates_of  # noqa: PLC0415

    under, over = once(values["fail_under"], "--fail-under"), once(values["fail_over"], "--fail-over")
    return gates_of(under, over, meta, where=values.get("where", {}), project=of_project)


def thresholds_of(values: dict[str, Any]) -> dict[str, float]:
    """The thresholds for all cases by metric, of the command and of the project, for the run file: those of correctness
    decide what is right."""
    from ragstone.engine.gates import project_gates  # noqa: PLC0415

    return {gate.metric: gate.threshold for gate in _gates(values, project_gates()[0]) if not gate.where}


def _is_scored(name: str, scored: Collection[str]) -> bool:
    """Whether a metric is among these, or the rubric of the element that it names (`rubric.NAME.ELEMENT`)."""
    return name in scored or (name.startswith("rubric.") and name.rpartition(".")[0] in scored)


def report_gates(
    run: "Run",
    values: dict[str, Any],
    *,
    scored: Collection[str] | None = None,
    system: str | None = None,
    language: str,
    run_file: Path | None = None,
) -> tuple[int, list[dict[str, Any]]]:
    """Checks the gates of the command and of the project, and prints them unless `--json`. Returns the exit code (0
    passed or warned, 1 failed, 3 too few scored) and the results as JSON. `scored`: the metrics of the run; project
    gates on other metrics are skipped with a message, and without it they are an error. `system`: check only this
    one. The samples that decide are linked: to the cards of the report of this command, else to the viewer of
    `run_file`."""
    from ragstone.engine.gates import check_gates, project_gates  # noqa: PLC0415

    texts = messages(__name__, language)
    of_project, settings = project_gates(meta=run.meta)
    if scored is not None:
        missing = {name for name in (gate.metric for gate in of_project) if not _is_scored(name, scored)}
        for name in sorted(missing):
            say(texts["skipped"].format(name=name), err=True)
        of_project = [gate for gate in of_project if gate.metric not in missing]
    gates = _gates(values, of_project, run.meta)
    if not gates:
        return 0, []
    results = check_gates(
        run,
        gates,
        system=system,
        mode=values["gate_mode"] or settings.get("gate", "interval"),
        min_coverage=values["min_coverage"] if values["min_coverage"] is not None
        else settings.get("min_coverage", 0.95),
    )  # fmt: skip
    if not values["as_json"]:
        for result in results:
            say(texts["gate"].format(line=result.line_in(language)))
            if result.verdict != "passed" and result.worst:
                samples = ", ".join(result.decided_by())
                say("     " + texts["decided"].format(samples=samples))
                if place := _place([sample for sample, _ in result.worst], values.get("report_file"), run_file):
                    say("     " + texts["open"].format(place=place))
    verdicts = {result.verdict for result in results}
    code = 1 if "failed" in verdicts else 3 if "unknown" in verdicts else 0
    return code, [_as_json(result) for result in results]


def _place(samples: Sequence[str], report: Path | None, run_file: Path | None) -> str:
    """Where the samples can be read: their cards in the report, else the command that opens the run."""
    from ragstone.report.metadata import case_anchor  # noqa: PLC0415

    if report is not None:
        return " ".join(f"{report}#{case_anchor(sample)}" for sample in samples[:_LINKED])
    return "" if run_file is None else shlex.join(["ragstone", "view", str(run_file)])


def _as_json(result: "GateResult") -> dict[str, Any]:
    gate = result.gate
    return {
        "metric": gate.metric, "where": dict(gate.where), "threshold": gate.threshold, "side": gate.side,
        "system": result.system, "verdict": result.verdict, "mean": result.mean, "low": result.low, "high": result.high,
        "scored": result.scored, "not_applicable": result.not_applicable, "unsure": result.unsure,
        "failed": result.failed,
        "total": result.total, "coverage": result.coverage, "reason": result.reason,
        "worst": [{"sample": sample, "value": value} for sample, value in result.worst],
    }  # fmt: skip


@click.command(name="gate")
@click.argument("run", type=PATH)
@click.option("--system", metavar="NAME", help="Check only this system, if the run has several.")
@gate_options
@where_option
@language_option
@json_option
def command(run: Path, **values: Any) -> int:
    """Check thresholds on the metrics of a run: exit 1 if one fails, 3 if too few samples were scored."""
    from ragstone.engine.open_run import language_of, open_checked, viewed  # noqa: PLC0415

    if values["where"] and not values["fail_under"] and not values["fail_over"]:
        raise UsageError("--where says which cases --fail-under and --fail-over are about: add one of them.")
    with open_checked(run) as opened:
        language = values["language"] or language_of(opened.meta)
        code, results = report_gates(viewed(opened), values, system=values["system"], language=language, run_file=run)
    if not results:
        raise UsageError("No gate is set: add --fail-under METRIC=NUMBER, or [gates] to ragstone.toml.")
    if values["as_json"]:
        say_json({"run": str(run), "gates": results})
    return code
