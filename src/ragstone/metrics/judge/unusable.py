"""When a judge is not asked any more: none of its last replies could be used."""

from collections import Counter

from ragstone.errors import JudgeUnusable
from ragstone.metrics.judge.record import requests_of
from ragstone.metrics.judge.schemas import OUTPUTS
from ragstone.types import Record

IN_A_ROW = 20  # replies of one judge: if none of them could be used, the next one could not either
_SHOWN = 60  # characters of the last of them


class UnusableReplies:
    """Counts them over the records of a run, as they are scored, for each judge."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()

    def add(self, record: Record) -> JudgeUnusable | None:
        """The error that ends the run, where this record has the last of so many."""
        for step in requests_of(record):
            if step.reply is None:  # none came, which says nothing of how the judge replies
                continue
            judge = step.judge or step.model
            self._in_a_row[judge] = self._in_a_row[judge] + 1 if step.problem else 0
            if self._in_a_row[judge] >= IN_A_ROW:
                form = OUTPUTS.get(step.prompt.partition("/")[0], {})
                expected = ", ".join(form.get("properties", ()))
                return JudgeUnusable(judge, IN_A_ROW, repr(step.reply.strip()[:_SHOWN]), expected, step.problem)
        return None
