"""Runs: the runner and the run file. `RunFile` and `run_cases` write a run, `open_run` reads one."""

from ragstone.runs.interrupts import finish_on_interrupt
from ragstone.runs.outcome import NullProgress, Outcome, Progress
from ragstone.runs.reader import Failure, RecordCounts, RunReader, is_run_file, open_run
from ragstone.runs.runner import run_cases
from ragstone.runs.store import RunFile
from ragstone.runs.stored import Stored

__all__ = [
    "Failure", "NullProgress", "Outcome", "Progress", "RecordCounts", "RunFile", "RunReader", "Stored",
    "finish_on_interrupt", "is_run_file", "open_run", "run_cases",
]  # fmt: skip
