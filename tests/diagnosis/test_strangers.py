"""Faults that were planted by somebody who had not read the code, with the causes written down before the first run."""

from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.strangers import tool_library, water_reports

import ragstone
from ragstone.diagnosis.diagnose import DiagnosisResult

APPS: dict[str, Any] = {
    "tools": (tool_library.ToolLibrary, tool_library.questions()),
    "water": (water_reports.WaterReports, water_reports.questions()),
}


def diagnosed(app: str, fault: str, folder: Path) -> tuple[DiagnosisResult, dict[str, str]]:
    """The diagnosis, and the cause of each question that the fault broke."""
    made, rows = APPS[app]
    system = made(fault)
    result = ragstone.diagnose(
        rows, system.ask, retriever=system.search, index=system.chunks, corpus=documents(app, folder),
        concurrency=1, run=folder / "a.run",
    )  # fmt: skip
    return result, {name: cause.name for name, cause in result.causes().items() if cause.name != "healthy"}


def documents(app: str, folder: Path) -> Path:
    known = water_reports.documents() if app == "water" else {name: text for name, _, text in tool_library.documents()}
    (folder / "documents").mkdir()
    for name, text in known.items():
        (folder / "documents" / f"{name}.md").write_text(f"{text}\n", "utf-8")
    return folder / "documents"


@pytest.mark.parametrize("app", APPS)
def test_a_healthy_application_is_blamed_for_nothing(app: str, tmp_path: Path) -> None:
    assert diagnosed(app, "", tmp_path)[1] == {}


@pytest.mark.parametrize(
    ("app", "fault", "cause", "named", "broken"),
    [
        ("tools", "topk", "k_too_small", 6, 6),
        ("tools", "filter", "filtered", 7, 7),
        ("tools", "refuse", "refused_wrongly", 15, 15),
        ("tools", "stale", "contradiction", 5, 8),  # of three "position": the old sheet is not quoted by the answer
        ("water", "chunk", "chunking", 18, 18),
        ("water", "threshold", "filtered", 24, 24),
        ("water", "trunc", "integration", 18, 18),
        ("water", "cache", "cached_answer", 12, 12),
        ("water", "rewrite", "rewriting", 2, 6),  # of four "k_too_small": the nickname misleads the question as asked
    ],
)
def test_planted_faults_are_named(app: str, fault: str, cause: str, named: int, broken: int, tmp_path: Path) -> None:
    result, causes = diagnosed(app, fault, tmp_path)
    assert (sum(one == cause for one in causes.values()), len(causes)) == (named, broken)
    assert named <= broken // 2 or result.fixes()[0].cause == cause
