"""The result of `bench` and `evaluate`: outcome, run file and, when printed, the main table."""

from dataclasses import dataclass
from pathlib import Path

from ragstone.benchmarks.plugin import Plugin
from ragstone.display import Table
from ragstone.engine.open_run import OpenRun, read_run
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
        """The verdict, its picture, the main table, unfinished work, and the path of the run file."""
        with self.open() as run:
            return repr(run)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        with self.open() as run:
            return run._repr_html_()
