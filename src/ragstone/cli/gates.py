"""Gates on metrics, for `eval` and `gate`."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.options import Number, both, json_option, once
from ragstone.cli.output import say, say_json

if TYPE_CHECKING:
    from ragstone.analysis.gates import GateResult
    from ragstone.types import Run

__all__ = ["command", "foresee_gates", "gate_options", "tell_gates"]


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


def foresee_gates(values: dict[str, Any], asked: Collection[str] | None) -> None:
    """Raises the errors that `tell_gates` would raise in the end, before anything is spent. `asked`: the metrics that
    the run will have; None where that is not known, because it has others already."""
    from ragstone.api.gates import gates_of, project_gates  # noqa: PLC0415
    from ragstone.errors import UnknownName, UsageError  # noqa: PLC0415
    from ragstone.metrics import find_metric  # noqa: PLC0415

    under, over, _ = project_gates()
    for name in {*under, *over} if asked is None else {*under, *over} - {*asked}:
        try:
            find_metric(name)
        except UnknownName as error:
            if not name.startswith("rubric."):  # of the user's own
                raise UsageError(f"[tool.ragstone.gates] of pyproject.toml: {error}") from None
    given_under, given_over = once(values["fail_under"], "--fail-under"), once(values["fail_over"], "--fail-over")
    wanted = given_under | given_over
    gates_of(under | given_under, over | given_over)
    if asked is not None and (unknown := sorted(wanted.keys() - {*asked})):
        raise UsageError(
            f"There is a gate for {unknown[0]}, which is not scored here; add it to --metrics. Scored are: "
            f"{', '.join(sorted(asked))}."
        )


def tell_gates(
    run: "Run", values: dict[str, Any], *, scored: Collection[str] | None = None, system: str | None = None
) -> tuple[int, list[dict[str, Any]]]:
    """Checks the gates of the command and of the project, prints them unless `--json`; the exit code (0 passed or
    warned, 1 failed, 3 too little was scored) and the results as JSON. `scored`: the metrics of the run, where the
    project's gates on others are told and left out; without it they are an error. `system`: only this one's."""
    from ragstone.api.gates import check_gates, gates_of, project_gates  # noqa: PLC0415

    under, over, settings = project_gates(meta=run.meta)
    if scored is not None:
        for name in sorted({*under, *over} - {*scored}):
            say(f"gate not checked: {name} of [tool.ragstone.gates] was not scored here.", err=True)
        under, over = ({name: held[name] for name in held if name in scored} for held in (under, over))
    under |= once(values["fail_under"], "--fail-under")
    over |= once(values["fail_over"], "--fail-over")
    if not under and not over:
        return 0, []
    results = check_gates(
        run,
        gates_of(under, over, run.meta),
        system=system,
        mode=values["gate_mode"] or settings.get("gate", "interval"),
        min_coverage=values["min_coverage"] if values["min_coverage"] is not None
        else settings.get("min_coverage", 0.95),
    )  # fmt: skip
    if not values["as_json"]:
        for one in results:
            _print(one)
    verdicts = {one.verdict for one in results}
    code = 1 if "failed" in verdicts else 3 if "unknown" in verdicts else 0
    return code, [_as_json(one) for one in results]


def _print(one: "GateResult") -> None:
    if one.verdict == "passed":
        say(f"gate {one.line}")
        return
    say(f"gate {one.line}", err=True)
    if one.worst:
        decided = ", ".join(f"{sample} ({value:.2f})" for sample, value in one.worst)
        say(f"     decided by: {decided}", err=True)


def _as_json(one: "GateResult") -> dict[str, Any]:
    return {
        "metric": one.gate.metric, "threshold": one.gate.threshold, "side": one.gate.side, "system": one.system,
        "verdict": one.verdict, "mean": one.mean, "low": one.low, "high": one.high, "scored": one.scored,
        "total": one.total, "coverage": one.coverage, "reason": one.reason,
        "worst": [{"sample": sample, "value": value} for sample, value in one.worst],
    }  # fmt: skip


@click.command(name="gate")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--system", metavar="NAME", help="Check only this system, if the run has several.")
@gate_options
@json_option
def command(run: Path, **values: Any) -> int:
    """Check thresholds on the metrics of a run: exit 1 if one fails, 3 if too few samples were scored."""
    from ragstone.errors import UsageError  # noqa: PLC0415
    from ragstone.runs import open_run  # noqa: PLC0415

    with open_run(run) as opened:
        code, results = tell_gates(opened, values, system=values["system"])
    if not results:
        raise UsageError("No gate is set: name one with --fail-under METRIC=NUMBER or in [tool.ragstone.gates].")
    if values["as_json"]:
        say_json({"run": str(run), "gates": results})
    return code
