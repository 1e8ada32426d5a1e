"""`diagnose`: every question under the conditions that its diagnosis needs, and the tables of what they tell."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.recorded import diagnosis
from ragstone.benchmarks.row_names import row_name, row_number
from ragstone.diagnosis.interventions import summary, tables
from ragstone.diagnosis.interventions.as_is_run import AsIsRun, compare_tables
from ragstone.diagnosis.interventions.conditions import CONDITIONS, ORDERED, SEARCHES
from ragstone.diagnosis.interventions.diagnosed import Diagnosed, diagnosed, questions_of
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.question import ASKED, REFERENCE, Question, as_prompted, basis_of
from ragstone.diagnosis.interventions.shared import Shared, shared_of
from ragstone.diagnosis.interventions.standing import Standing, next_change, standing_of, with_change
from ragstone.diagnosis.interventions.verification import SHOWN, is_changed, proofs, verified_of
from ragstone.display import Diagnosis, Summary, Table
from ragstone.runs import RunReader, open_run
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Case, Metric, Record, Resources, Response, Run, Sample, Template

_AT_ONCE = 64  # questions whose answers are in memory


def sample_of(question: Question, *, found: str, in_index: str | None) -> Sample:
    """The sample that the cases of a question carry: with its gold passages, and what is known about them. `in_index`:
    how much of the evidence the index has (`index.Listed`); None if no index was named."""
    meta: dict[str, Any] = {**question.sample.meta, "gold_found": found}
    if in_index is not None:
        meta["in_index"] = in_index
    if question.indexed:
        meta["indexed"] = msgspec.to_builtins(question.indexed)
    if question.stand_in:
        meta["stand_in"] = question.stand_in
    return replace(question.sample, passages=question.gold, meta=meta)


def takes_of(meta: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """What each system of a run accepts: system id → names. A run may hold several systems, which differ in this."""
    takes = meta.get("options", {}).get("takes")
    return {str(system): frozenset(names) for system, names in takes.items()} if isinstance(takes, Mapping) else {}


@dataclass(frozen=True)
class Interventions(BaseBenchmark):
    """The cases of these questions. `standings`: by row, what `grown` read from the run file to make the benchmark of
    the next round, and `answers` that file with the system, from which conditions are made; `tried`: the changes that
    are asked of all questions. `takes`: what each system accepts. `gates` decide what is right. `rows`: of the data,
    where `questions` are a part of them."""

    name: ClassVar[str] = "interventions"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    leads: ClassVar[tuple[str, ...]] = ("diagnosis-stages",)
    growing: ClassVar[tuple[str, ...]] = ("rows",)
    reads_texts: ClassVar[bool] = False

    questions: Sequence[Question] = ()
    rows: int = 0
    data_name: str = ""
    sha256: str = ""
    corpus: str = ""
    index: str = ""
    takes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    full: bool = False
    gates: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    standings: Mapping[int, Standing] = field(default_factory=dict)
    answers: tuple[Path, str] | None = None
    tried: tuple[str, ...] = ()
    _read: dict[tuple[int, str, bool], tuple[Run, list[Diagnosed]]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate and explain it."""
        options = meta.get("options", {})
        gates = meta.get("gates")
        return cls(
            data_name=str(options.get("data_name", "")),
            takes=takes_of(meta),
            full=bool(options.get("full", False)),
            gates={
                str(name): float(limit)
                for name, limit in (gates.items() if isinstance(gates, Mapping) else ())
                if isinstance(limit, int | float) and not str(name).startswith("cause.")
            },
        )

    @property
    def template(self) -> Template:
        """For a chat model that is asked without a pipeline around it."""
        return RAG_TEMPLATE

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """None: the user chooses them."""
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        return ("intervention",)

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, "data": self.sha256, "corpus": self.corpus,
                **({"index": self.index} if self.index else {})}  # fmt: skip

    @property
    def options(self) -> Mapping[str, Any]:
        return {
            "data_name": self.data_name,
            "rows": max(self.rows, len(self.questions)),
            "takes": {system: sorted(names) for system, names in self.takes.items()},
            "full": self.full,
        }

    async def prepare(self, resources: Resources, /) -> str:
        return self.sha256

    @property
    def size(self) -> int:
        return len(self.questions) + sum(map(len, self._now().values()))

    @property
    def waiting(self) -> bool:
        """Whether something is wanted that was not asked yet."""
        return any(one.new for one in self.standings.values())

    def cases(self) -> Iterator[Case]:
        with ExitStack() as stack:
            run = None if self.answers is None else stack.enter_context(open_run(self.answers[0]))
            now = self._now()
            for start in range(0, len(self.questions), _AT_ONCE):
                some = self.questions[start : start + _AT_ONCE]
                wanted = {question.row: now[question.row] for question in some if question.row in now}
                answers = {} if run is None else self._answers(run, wanted)
                asked = {} if run is None else self._ordered(run, wanted)
                for at, question in enumerate(some, start):
                    yield Case(f"{row_name(question.row)}/as_is", question.sample, _named("as_is"), question.query)
                    names = wanted.get(question.row, ())
                    others = self._others(at) if "before_1" in names else ()
                    yield from (asked.get(case.id, case) for case in _cases(question, names, answers, others))

    def _now(self) -> dict[int, Sequence[str]]:
        """By row what may be asked in this round: what needs the system for itself waits for everything else."""
        busy = any(one.soon for one in self.standings.values())
        return {
            row: [name for name in one.wanted if not busy or name not in one.ordered]
            for row, one in self.standings.items()
        }

    def _others(self, at: int) -> list[Question]:
        """Two other questions that were answered rightly, with references of their own; fewer if there are none."""
        found, known = list[Question](), [self.questions[at].sample.references]
        for distance in range(1, len(self.questions)):
            other = self.questions[(at + distance) % len(self.questions)]
            one = self.standings.get(other.row)
            if one is not None and one.right.get("as_is") and other.sample.references not in known:
                found.append(other)
                known.append(other.sample.references)
            if len(found) == 2:
                break
        return found

    def _ordered(self, run: RunReader, wanted: Mapping[int, Sequence[str]]) -> dict[str, Case]:
        """Case id → what was asked in order before: in a part of the data other questions came before it."""
        assert self.answers is not None
        names = [f"{row_name(row)}/{name}" for row, more in wanted.items() for name in more if name in ORDERED]
        found = run.find([(self.answers[1], name) for name in names])
        return {one.case.id: one.case for one in found if one is not None}

    def _answers(self, run: RunReader, wanted: Mapping[int, Sequence[str]]) -> dict[str, Response]:
        """Case id → the answers of these rows from which conditions are made."""
        assert self.answers is not None
        names = [f"{row_name(row)}/{name}" for row, more in wanted.items()
                 for name in ("as_is", *({ASKED, REFERENCE} & {*more})) if more]  # fmt: skip
        found = run.find([(self.answers[1], name) for name in names])
        return {one.case.id: as_prompted(one.response) for one in found if one is not None and one.response is not None}

    def grown(self, run: RunReader, system: str) -> Self:
        """The benchmark of the next round: with the conditions that the records of the run show to be needed, and once
        they are all there, with a change to be tried on all questions. It reads the questions of which something was
        wanted since, or all of a run that it has not read yet."""
        rows = None if self.answers is None else [
            question.row for question in self.questions
            if (one := self.standings.get(question.row)) is None or one.new or one.failed
        ]  # fmt: skip
        takes = self.takes.get(system, frozenset())
        before = _together(self.standings, takes)
        standings = {**self.standings, **self._read_standings(run, system, rows, *before)}
        if (after := _together(standings, takes)) != before:  # what all questions tell decides on each wrong one
            verified = before[1].verified, after[1].verified
            some = [
                row for row, one in standings.items()
                if not one.right.get("as_is") or one.seen is None or is_changed(one.seen, *verified)
            ]  # fmt: skip
            standings |= self._read_standings(run, system, some, *after)
        if len(standings) == len(self.questions) and after[1].verified is not None:
            shown = {row: one.seen for row, one in sorted(standings.items()) if one.seen is not None}
            asked = {row: one.wanted for row, one in standings.items()}
            for row, names in proofs(shown, after[1].verified, asked).items():
                for name in names:
                    standings[row] = with_change(standings[row], name)
        tried = self.tried
        if not any(one.new for one in standings.values()):
            change = "" if self.full else next_change(standings.values(), tried)
            if change:
                tried = (*tried, change)
                standings = {row: with_change(one, change) for row, one in standings.items()}
        return dataclasses.replace(self, standings=standings, answers=(run.path, system), tried=tried)

    def _read_standings(
        self, run: Run, system: str, rows: Sequence[int] | None, unstable: bool, shared: Shared
    ) -> dict[int, Standing]:
        """The standings of these rows, or of all, one question in memory at a time."""
        takes, found = self.takes.get(system, frozenset()), dict[int, Standing]()
        for records in questions_of(run, system, None if rows is None else self._case_ids(rows)):
            row = row_number(records["as_is"].case.id.partition("/")[0])
            before = self.standings.get(row)
            evidence = Evidence(records, takes, self.gates, unstable, shared)
            found[row] = standing_of(evidence, () if before is None else before.wanted, full=self.full)
        return found

    def _case_ids(self, rows: Sequence[int]) -> list[str]:
        known = {row: self.standings[row].wanted for row in rows if row in self.standings}
        return [f"{row_name(row)}/{name}" for row in rows for name in ("as_is", *known.get(row, ()))]

    def diagnosed(self, run: Run, system: str, *, sure: bool = True) -> list[Diagnosed]:
        """Every question of a system with its cause; `sure`: with its confidence, too. Read once for each run."""
        run, system = _itself(run, system)
        known, items = self._read.get((id(run), system, True), (None, []))
        if known is run:
            return items
        items = diagnosed(run, system, takes=self.taken_by(run, system), gates=self.gates, sure=sure)
        self._read[id(run), system, sure] = run, items
        return items

    def keep(self, run: Run, system: str, items: list[Diagnosed]) -> None:
        """Takes these questions for those of `diagnosed`, with their confidence."""
        self._read[id(run), system, True] = run, items

    def taken_by(self, run: Run | None, system: str) -> frozenset[str]:
        """What a system of a run takes; a run that shows its systems under labels has `ids` by label."""
        return self.takes.get(system if run is None else _itself(run, system)[1], frozenset())

    def _by_system(self, run: Run) -> dict[str, list[Diagnosed]]:
        return {system: self.diagnosed(run, system) for system in run.systems}

    def view(self, run: Run, /) -> Run:
        return AsIsRun(run, lambda system: self.diagnosed(run, system, sure=False))

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, self._by_system(run), language=language)

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        return summary.summaries(run, self._by_system(run), language=language)

    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]:
        """The causes of two systems' questions, each (its run as `view` shows it, its id, its display name)."""
        return compare_tables(a, b, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        """Whether this answer is right; why it is wrong, only all answers to its question tell."""
        condition = str(record.case.condition.get("intervention", "as_is"))
        if condition in SEARCHES:
            return Diagnosis(None, condition)
        return replace(diagnosis.explain(record, language=language, gates=self.gates), group=condition)


def _itself(run: Run, system: str) -> tuple[Run, str]:
    """The run and the id of a system of one that shows its systems under labels; what is given otherwise."""
    ids: Mapping[str, str] | None = getattr(run, "ids", None)
    return (run, system) if ids is None else (getattr(run, "run", run), ids.get(system, system))


def _cases(
    question: Question, wanted: Sequence[str], answers: Mapping[str, Response], others: Sequence[Question]
) -> Iterator[Case]:
    """The cases of a question besides as is, made of its first answers. `others`: what is asked right before it."""
    row = row_name(question.row)
    first = answers.get(f"{row}/as_is")
    if first is None:
        return
    basis = basis_of(first, {name: answers.get(f"{row}/{name}") for name in (ASKED, REFERENCE)})
    for name in wanted:
        query = CONDITIONS[name].build(question, basis)
        if query is not None and name in ORDERED:
            number, before = ORDERED.index(name) // 2, name.startswith("before")
            asked = others[number] if before and number < len(others) else question
            query = replace(query, question=asked.query.question, history=asked.history)
            yield Case(f"{row}/{name}", asked.sample, _named(name), query, lane="ordered")
        elif query is not None:
            yield Case(f"{row}/{name}", question.sample, _named(name), query)


def _together(standings: Mapping[int, Standing], takes: Collection[str]) -> tuple[bool, Shared]:
    """What questions tell together: whether an answer changed when it was asked for again, and `Shared`. `takes`: what
    their system takes."""
    seen = [one.seen for one in standings.values() if one.seen is not None]
    verified = verified_of(seen, shown=SHOWN in takes) if takes else None
    return any(one.changed for one in standings.values()), shared_of(
        (one.facts for one in standings.values()), verified
    )


def _named(condition: str) -> dict[str, str | float | int | bool]:
    return {"intervention": condition}
