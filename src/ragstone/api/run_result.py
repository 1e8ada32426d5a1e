"""The result of `bench` and `evaluate`: outcome, run file and, when printed, the main table."""

from dataclasses import dataclass
from pathlib import Path

from ragstone.api.open_run import OpenRun, read_run
from ragstone.benchmarks.plugin import Plugin
from ragstone.display import Table
from ragstone.runs import Outcome


@dataclass(frozen=True, repr=False)
class RunResult:
    """The outcome of a run and its file. `warnings`: about data and judge, one line each. `benchmark`: the plugin that
    reads it, if the run file alone does not name it."""

    run: Path
    outcome: Outcome
    warnings: tuple[str, ...] = ()
    benchmark: Plugin | None = None

    def open(self) -> OpenRun:
        """Open the run."""
        return read_run(self.run, self.benchmark)

    def tables(self, *, language: str | None = None) -> list[Table]:
        """The tables of the run."""
        with self.open() as run:
            return run.tables(language=language)

    def write_report(self, target: str | Path, *, language: str | None = None) -> Path:
        """Write the report, one self-contained HTML file."""
        with self.open() as run:
            return run.write_report(target, language=language)

    def __repr__(self) -> str:
        """The main table, unfinished work, and the path of the run file."""
        from ragstone.report.opening_text import opening_text  # noqa: PLC0415
        from ragstone.report.text import table_text  # noqa: PLC0415  (only where somebody prints it)

        language, tables, lines = self._leading()
        with self.open() as run:
            opening = opening_text(run.summaries(), run.leading_charts(), language=language)
        shown = [table_text(table, language=language).rstrip("\n") for table in tables]
        return "\n".join([*([opening] if opening else []), *shown, *lines])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        from html import escape  # noqa: PLC0415

        from ragstone.report.notebook import table_snippet  # noqa: PLC0415

        _, tables, lines = self._leading()
        return "".join([*map(table_snippet, tables), *(f"<p>{escape(line)}</p>" for line in lines)])

    def _leading(self) -> tuple[str, list[Table], list[str]]:
        with self.open() as run:
            return run.language, run.leading_tables()[:1], [*run.unfinished(), f"Run file: {self.run}"]
