"""What is kept of a run for the viewer, as JSON: its key figures for the list of runs, and its sections."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import to_builtins

from ragstone.display import Summary, short_names
from ragstone.engine.open_run import OpenRun
from ragstone.report.digest import SystemDigest, digest
from ragstone.report.page import CASE_BYTES, heading_of, parts_of
from ragstone.report.section import view_of
from ragstone.stats import Estimate

RUN_NAME = "@run@"
"""Stands in addresses for the name by which the run is served, which may differ from one viewer to the next."""

_CASES_SHOWN = 30
_SYSTEMS = 6
_METRICS, _DECLARED = 3, 8


def figures_of(run: OpenRun, language: str) -> dict[str, Any]:
    """The systems with the figures that their benchmark declares, else their first metrics, else the share of right
    answers: {"benchmark", "started", "systems": [{"name", "label", "figures": [{"label", "text", "value", "n"}]}],
    "more"}. The label of a figure is "" for the share of right answers; where no figure is known, it is the verdict.
    `n` is None where the text says it."""
    counts = digest(run.benchmark.view(run.run), run.benchmark, language=language, cases_shown=0, by_sample=True)
    summaries, labels = run.benchmark.summary(run.run, language=language), short_names(counts.systems)
    systems = []
    for name, system in list(counts.systems.items())[:_SYSTEMS]:
        figures = _declared(summaries[name]) if name in summaries else []
        figures = figures or _right(system)
        verdict = next((summaries[key].verdict for key in (name, "") if key in summaries), "")
        if not figures and verdict:  # retrievers alone: no answer is right or wrong
            figures = [{"label": verdict.partition("\n")[0], "text": "", "value": None, "n": None}]
        systems.append({"name": name, "label": labels[name], "figures": figures})
    meta = run.run.meta
    return {
        "benchmark": run.benchmark.name, "started": str(meta.get("started") or ""), "systems": systems,
        "more": max(0, len(counts.systems) - _SYSTEMS),
    }  # fmt: skip


def _declared(summary: Summary) -> list[dict[str, Any]]:
    if summary.figures:
        return [to_builtins(figure) for figure in summary.figures[:_DECLARED]]
    return [{"label": dot.label, "text": dot.text, "value": dot.value, "n": None} for dot in summary.dots[:_METRICS]]


def _right(system: SystemDigest) -> list[dict[str, Any]]:
    known = Estimate.of_share(system.samples.values()).known if system.samples else None
    if known is None:
        return []
    return [{"label": "", "text": percent(*known), "value": known[0], "n": None}]


def percent(value: float, low: float, high: float) -> str:
    """A share with its interval: "61% [49, 72]"."""
    return f"{100 * value:.0f}% [{100 * low:.0f}, {100 * high:.0f}]"


def sections_of(run: OpenRun, language: str) -> dict[str, Any]:
    """The sections of the report: {"heading", "systems", "sections": [[id, title, HTML]], "folded": […]}."""
    view = view_of(
        run.run, run.benchmark, language=language, cases_shown=_CASES_SHOWN, case_bytes=CASE_BYTES, experts=run.experts,
        case_list=lambda pairs: f"/cases?{urlencode([('run', RUN_NAME), *pairs], safe=RUN_NAME)}",
    )  # fmt: skip
    sections, folded = parts_of(view)
    return {
        "heading": heading_of(view), "systems": list(view.digest.systems),
        "sections": [[name, title, str(view.html("{{ body }}", body=body))] for name, title, body in sections],
        "folded": [[name, title, str(view.html("{{ body }}", body=body))] for name, title, body in folded],
    }  # fmt: skip


MAKERS: Mapping[str, Callable[[OpenRun, str], dict[str, Any]]] = {"figures": figures_of, "sections": sections_of}
"""What is kept, by kind."""
