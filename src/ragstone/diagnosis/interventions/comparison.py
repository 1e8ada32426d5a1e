"""Two diagnoses side by side: the cause of each question before and after a change."""

from collections import Counter

from ragstone.benchmarks.table_builder import row
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.display import Table
from ragstone.messages import messages
from ragstone.types import Run

_PREFIX = "cause."


def compare_tables(a: tuple[Run, str, str], b: tuple[Run, str, str], *, language: str = "en") -> list[Table]:
    """How many questions went from each cause to each; both are (a run as its view shows it, system id, label)."""
    words = messages(__name__, language)
    before, after = _causes(*a[:2]), _causes(*b[:2])
    moves = Counter((before[name], after[name]) for name in before.keys() & after.keys())
    if not moves:
        return []
    rows = [cause for cause in CAUSES if any(cause == one for one, _ in moves)]
    columns = [cause for cause in CAUSES if any(cause == other for _, other in moves)]
    cells = [
        row(
            words[f"cause_{cause}"], *(str(moves[cause, other]) if moves[cause, other] else "–" for other in columns),
            str(sum(moves[cause, other] for other in columns)),
        )
        for cause in rows
    ]  # fmt: skip
    total = row(words["all"], *(str(sum(moves[cause, other] for cause in rows)) for other in columns),
                str(moves.total()))  # fmt: skip
    later = (words["after"].format(cause=words[f"cause_{cause}"]) for cause in columns)
    heads = (words["before"], *later, words["all"])
    notes = (words["note"],)
    return [Table("diagnosis-compare", words["title"], heads, (*cells, total), notes, keys=1)]


def _causes(run: Run, system: str) -> dict[str, str]:
    """The primary cause of each question."""
    return {
        record.case.sample.id: name.removeprefix(_PREFIX)
        for record in run.records(system=system, texts=False)
        for name, score in record.scores.items()
        if name.startswith(_PREFIX) and score.value == 1
    }
