"""What a run file already has of a planned run, to estimate what is missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import RunMismatch
from ragstone.runs.config import differences, keep_old_names, plain, replaced
from ragstone.runs.outbox import left_answers
from ragstone.runs.reader import open_run
from ragstone.runs.schema import text_of
from ragstone.structs import to_json


class Stored:
    """The answered cases of a run file and the names of their scores, with those that killed processes left beside it;
    empty if there is no file.

    Raises `RunMismatch` if the file was made with different settings, as the run would."""

    def __init__(
        self, path: Path, question: Mapping[str, Any], growing: Sequence[str], replaces: Mapping[str, Any]
    ) -> None:
        self._scores: dict[str, dict[str, frozenset[str]]] = {}
        if not path.is_file() or not path.stat().st_size:
            return
        with open_run(path) as run:
            before = replaced(run.meta.get("question", {}), question, "question", replaces)
            now = keep_old_names(before, plain(question), growing)
            if changes := differences(keep_old_names(now, before, growing), now):
                raise RunMismatch(path, changes)
            self._scores = {system: run.scored(system) for system in run.systems}
            for left in left_answers(path, to_json(run.file_id)):
                cases = self._scores.setdefault(text_of(left.system_key), {})
                names = frozenset(text_of(row.metric) for row in left.scores if row.status != "failed")
                cases[text_of(left.key)] = cases.get(text_of(left.key), frozenset()) | names

    def has(self, system: str, case: str, metrics: frozenset[str] = frozenset()) -> bool:
        """Whether this case has an answer of this system, and a score by each of these metrics."""
        names = self._scores.get(system, {}).get(case)
        return names is not None and metrics <= names
