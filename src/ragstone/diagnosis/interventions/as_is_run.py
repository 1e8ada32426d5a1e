"""A run of interventions as gates, slices, comparisons and trends read it: the answers as is, each with its cause."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.table_builder import row
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.display import Table
from ragstone.messages import messages
from ragstone.plans import Plan
from ragstone.systems.probes import is_probe_reply
from ragstone.types import Record, Run, Score

_PREFIX = "cause."


class AsIsRun:
    """The records as is, with a score `cause.NAME` for each cause: 1 where it is the primary cause, else 0.
    `diagnosed`: the questions of a system, read where a record is."""

    def __init__(self, run: Run, diagnosed: Callable[[str], Iterable[Diagnosed]]) -> None:
        self._run, self._diagnosed = run, diagnosed

    @property
    def meta(self) -> Mapping[str, Any]:
        meta = dict(self._run.meta)
        causes = {f"{_PREFIX}{name}": "higher" if name == "healthy" else "lower" for name in CAUSES}
        return {**meta, "better": {**dict(meta.get("better", {})), **causes}}

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        return self._run.systems

    @cached_property
    def _causes(self) -> dict[tuple[str, str], str]:
        return {
            (system, item.evidence.records["as_is"].case.id): item.cause.name
            for system in self.systems
            for item in self._diagnosed(system)
        }

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        for record in self._run.records(system=system, cases=cases, texts=texts):
            cause = self._causes.get((record.system_id, record.case.id))
            if cause is not None:
                scores = {f"cause.{name}": Score.of(name == cause) for name in CAUSES}
                yield replace(record, scores={**_own_scores(record, cause), **scores})

    def plans(self) -> Mapping[str, Plan]:
        """What remains as is."""
        plans = {}
        for system, plan in self._run.plans().items():
            cells = tuple(cell for cell in plan.cells if cell.condition.get("intervention") == "as_is")
            total, asked = sum(cell.total for cell in cells), sum(cell.asked for cell in cells)
            plans[system] = Plan(total, asked, 0, cells)
        return plans

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        return ((case, name) for case, name in self._run.unasked(system) if case.endswith("/as_is"))


def _own_scores(record: Record, cause: str) -> Mapping[str, Score]:
    """The scores of a record; none of an answer that is what a probe invented."""
    if cause != "cached_answer" or record.response is None or not is_probe_reply(record.response):
        return record.scores
    return dict.fromkeys(record.scores, Score.not_applicable("the system kept the answer to a probe"))


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
