"""Runs: who is asked what, and the file that keeps it. `RunFile` and `run_cases` write a run, `open_run` reads one."""

from ragstone.runs.interrupts import finish_on_interrupt
from ragstone.runs.outcome import NullProgress, Outcome, Progress
from ragstone.runs.reader import Counts, Failure, RunReader, is_run_file, open_run
from ragstone.runs.runner import run_cases
from ragstone.runs.store import RunFile
from ragstone.runs.stored import Stored

__all__ = [
    "Counts",
    "Failure",
    "NullProgress",
    "Outcome",
    "Progress",
    "RunFile",
    "RunReader",
    "Stored",
    "finish_on_interrupt",
    "is_run_file",
    "open_run",
    "run_cases",
]
