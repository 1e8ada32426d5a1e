"""The index of the cases of a run file, in the user's cache folder."""

from pathlib import Path

from ragstone import __version__
from ragstone.analysis.case_index import CaseIndex
from ragstone.engine.execute import cache_folder
from ragstone.engine.open_run import benchmark_of, language_of, open_checked


def index_folder() -> Path:
    """The folder of the indices. They can be deleted at any time."""
    return cache_folder().parent / "cases"


def open_index(path: str | Path, *, language: str | None = None, folder: Path | None = None) -> CaseIndex:
    """The index of the cases of a run file: `update` fills it. `language`: of causes and groups, by default the run's.
    Raises UsageError if it is not a run file, or one of a benchmark that is not installed."""
    run = open_checked(path)
    try:
        benchmark = benchmark_of(run.meta, run.path)
        language = language or language_of(run.meta)
        return CaseIndex.open(run, benchmark, folder or index_folder(), language=language, version=__version__)
    except BaseException:
        run.close()
        raise
