"""What a run file has already of what is about to be run: for estimates of what is missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import RunMismatch
from ragstone.runs.config import differences, few, grown, plain
from ragstone.runs.reader import open_run

__all__ = ["Stored"]


class Stored:
    """The answered cases of a run file and the names of their scores; nothing where there is no file.

    Raises `RunMismatch` where the file answers another question, as the run would."""

    def __init__(self, path: Path, question: Mapping[str, Any], growing: Sequence[str]) -> None:
        self._scores: dict[str, dict[str, frozenset[str]]] = {}
        if not path.is_file() or not path.stat().st_size:
            return
        with open_run(path) as run:
            before = run.meta.get("question", {})
            now = grown(before, plain(question), growing)
            if found := differences(grown(now, before, growing), now):
                raise RunMismatch(path, few(found))
            self._scores = {system: run.scored(system) for system in run.systems}

    def has(self, system: str, case: str, metrics: frozenset[str] = frozenset()) -> bool:
        """Whether this case has an answer of this system, and a score by each of these metrics."""
        names = self._scores.get(system, {}).get(case)
        return names is not None and metrics <= names
