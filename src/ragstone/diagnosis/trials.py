"""`diagnose --try`: measures changes of a system by successive halving, with paired intervals.

All changes are asked a few questions in a random order, then the better half of them twice as many, and so on to all
questions. A change is also given up when its whole paired interval against the best one is below 0.
"""

import dataclasses
import math
import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.benchmarks.recorded import diagnosis
from ragstone.benchmarks.recorded.benchmark import OwnQuestions, RecordedRow
from ragstone.diagnosis.changes import changed_target, check_changes, proposed
from ragstone.diagnosis.diagnose import DiagnosisPlan, DiagnosisResult
from ragstone.display import Cell, Row, Table
from ragstone.engine.execute import DEFAULTS, Job, RunOptions, Shell, execute
from ragstone.messages import messages
from ragstone.models import ModelOptions
from ragstone.runs import open_run
from ragstone.runs.outcome import Outcome
from ragstone.stats import Decision, Estimate, decide, family
from ragstone.systems import accepts_of, open_system
from ragstone.systems.altered import CHANGES, Altered
from ragstone.systems.rag import RAG_TEMPLATE, RagTarget
from ragstone.types import Record, System

_FIRST = 16  # questions of the first round
_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Trial:
    """A change that was tried: `asked` questions, the share right, the paired `gain` over the system as is on the same
    questions, its p-value after Holm's correction, the change of tokens and seconds per question (None where
    too few questions tell it to have an interval; seconds also where passages are given, for which nothing searches).
    `finished`: it was asked every question; `given_up`: the others were better; neither where a limit came first."""

    change: str
    system: str
    asked: int
    right: Estimate
    gain: Estimate
    p: float
    tokens: Estimate | None
    seconds: Estimate | None
    finished: bool
    given_up: bool = False


@dataclass(frozen=True)
class Trials:
    """The changes that were tried, best first, and the run file with their answers. `best`: the first that gains with a
    corrected p-value below 0.05, as the best of many gains something by chance; None if none does, or not all were
    asked what they should be (`stopped`; `outcome` says why). `line`: the best as a name of a system, or ""."""

    trials: tuple[Trial, ...]
    run: Path
    best: Trial | None
    line: str = ""
    stopped: bool = False
    outcome: Outcome = field(default_factory=Outcome)


async def try_changes(
    plan: DiagnosisPlan,
    result: DiagnosisResult,
    changes: Sequence[str],
    how: RunOptions = DEFAULTS,
) -> Trials:
    """Measures these changes ("auto": those that may help against the causes that were found) on the questions of a
    diagnosis. Raises UsageError."""
    check_changes(changes, plan.system)
    most = how.at_once([plan.system])
    options, path = how.calling(most), result.run.with_suffix(".trials.run")
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(open_system(plan.system, template=RAG_TEMPLATE, options=options))
        names = [name for name in changes if name != "auto"]
        if "auto" in changes:
            names += proposed(result, plan, accepts_of(base))
        systems: dict[str, System] = {"": base}
        for change in dict.fromkeys(names):
            target = changed_target(change, plan.system)
            if target is None:
                systems[change] = Altered(base, *change.split("=", 1))
            else:
                opened = open_system(target, template=RAG_TEMPLATE, options=options)
                systems[change] = await stack.enter_async_context(opened)
        same = {change for change, system in systems.items() if change and system.id == base.id}
        systems = {change: system for change, system in systems.items() if change not in same}
        halving = _Halving(plan, systems, path, most, options, how.shell)
        trials = await halving.run()
    best = next((trial for trial in trials if trial.finished and _is_better(trial) and not halving.stopped), None)
    line = ""
    if best is not None and isinstance(target := plan.system, RagTarget):
        changed = changed_target(best.change, target)
        line = changed.name if changed is not None else ""
    return Trials(tuple(trials), path, best, line, halving.stopped, halving.outcome)


def _is_better(trial: Trial) -> bool:
    return (trial.gain.value or 0.0) > 0 and trial.p < _SIGNIFICANT


class _Halving:
    def __init__(
        self, plan: DiagnosisPlan, systems: dict[str, System], path: Path, concurrency: int, options: ModelOptions,
        shell: Shell,
    ) -> None:  # fmt: skip
        self._plan, self._systems, self._path = plan, systems, path
        self._concurrency, self._options, self._shell = concurrency, options, shell
        self.outcome, self.stopped = Outcome(), False
        self._order = list(plan.rows)
        random.Random(0).shuffle(self._order)

    async def run(self) -> list[Trial]:
        """The trials, best first; those so far, if a limit ends them."""
        total, alive = len(self._order), [change for change in self._systems if change]
        asked, records = dict.fromkeys(alive, 0), dict[str, dict[str, Record]]()
        rounds = max(1, math.ceil(math.log2(max(len(alive), 1))) + 1)
        sizes = sorted({max(min(_FIRST, total), math.ceil(total / 2**n)) for n in range(rounds)})
        for n, size in enumerate(sizes):
            if not alive:
                break
            records = await self._ask(["", *alive], self._order[:size])
            asked.update(dict.fromkeys(alive, size))
            unasked = {change for change in ("", *alive) if len(records[change]) < size}
            failing = {change for change in unasked if _is_failing(records[change])}
            self.stopped, alive = bool(unasked - failing), [change for change in alive if change not in failing]
            if self.stopped:
                break
            if n + 1 < len(sizes):
                alive = self._kept(alive, records, self._order[:size])
        return self._ranked(records, asked, total, {*asked} - {*alive})

    async def _ask(self, changes: Sequence[str], rows: Sequence[RecordedRow]) -> dict[str, dict[str, Record]]:
        """The answers under these changes: change → question id → record."""
        plan = self._plan
        benchmark = OwnQuestions(
            sorted(rows, key=lambda row: row.row), data_name=plan.data.name, sha256=plan.data.sha256
        )  # fmt: skip
        systems = [self._systems[change] for change in changes]
        job = Job(benchmark, systems, self._path, self._concurrency, plan.metrics, plan.judging, self._options)
        self.outcome = (await execute(job, dataclasses.replace(self._shell, cluster=None))).outcome  # systems are open
        return self._read()

    def _read(self) -> dict[str, dict[str, Record]]:
        names = {system.id: change for change, system in self._systems.items()}
        found: dict[str, dict[str, Record]] = {change: {} for change in self._systems}
        with open_run(self._path) as run:
            for record in run.records():
                if record.system_id in names:
                    found[names[record.system_id]][record.case.sample.id] = record
        return found

    def _kept(
        self, alive: Sequence[str], records: dict[str, dict[str, Record]], rows: Sequence[RecordedRow]
    ) -> list[str]:
        """The better half, without those that cannot win any more."""
        ids = [row.sample.id for row in rows]
        values = {change: [_right(records[change].get(name)) for name in ids] for change in ("", *alive)}
        ranked = sorted(alive, key=lambda change: (-sum(values[change]), self._cost(records[change], ids)))
        leader = max(("", *alive), key=lambda change: sum(values[change]))
        kept = []
        for change in ranked[: max(1, math.ceil(len(ranked) / 2))]:
            gain = Estimate.of_difference([a - b for a, b in zip(values[change], values[leader], strict=True)])
            if gain.high is None or gain.high >= 0:
                kept.append(change)
        return kept

    def _cost(self, records: dict[str, Record], ids: Sequence[str]) -> float:
        """The tokens per question; of changes that gain the same, the one with fewer goes on."""
        known = [tokens for name in ids if name in records and (tokens := _tokens(records[name])) is not None]
        return _mean(known) or 0.0

    def _ranked(
        self, records: dict[str, dict[str, Record]], asked: dict[str, int], total: int, dropped: Collection[str]
    ) -> list[Trial]:
        trials = [
            self._trial(change, records, size, total, change in dropped) for change, size in asked.items() if size
        ]
        corrected = [
            dataclasses.replace(trial, p=p, gain=_gained(trial.gain, decision, level))
            for (trial, decision), (p, level) in zip(trials, family([decision for _, decision in trials]), strict=True)
        ]
        return sorted(
            corrected,
            key=lambda trial: (
                not trial.finished,
                -(trial.gain.value or 0),
                *map(_size, (trial.tokens, trial.seconds)),
            ),
        )

    def _trial(
        self, change: str, records: dict[str, dict[str, Record]], size: int, total: int, dropped: bool
    ) -> tuple[Trial, Decision]:
        """What a change gives, and its decision, which is corrected only with the others."""
        ids = [row.sample.id for row in self._order[:size]]
        asked = [name for name in ids if name in records[change]]
        pairs = [(records[""][name], records[change].get(name)) for name in ids
                 if name in records[""] and (name in records[change] or _is_failing(records[change]))]  # fmt: skip
        before, after = [_right(a) for a, _ in pairs], [_right(b) for _, b in pairs]
        gain = Estimate.of_difference([b - a for a, b in zip(before, after, strict=True)])
        decision = decide(before, after)
        right = Estimate.of_count(round(sum(after)), len(after)) if after else Estimate()
        tokens = [b - a for one, two in pairs if (a := _tokens(one)) is not None and (b := _tokens(two)) is not None]
        seconds = [
            two.response.seconds - one.response.seconds
            for one, two in pairs
            if one.response is not None and two is not None and two.response is not None
            and one.response.seconds is not None and two.response.seconds is not None
        ]  # fmt: skip
        system = self._systems[change]
        searches = not isinstance(system, Altered) or "passages" not in CHANGES[change.partition("=")[0]][0]
        trial = Trial(
            change, system.id, len(asked), right, gain, decision.p, _amount(tokens),
            _amount(seconds) if searches else None, len(asked) >= total, dropped,
        )  # fmt: skip
        return trial, decision


def _gained(gain: Estimate, decision: Decision, level: float) -> Estimate:
    low, high = decision.interval(level) or (None, None)
    return dataclasses.replace(gain, low=low, high=high)


def _is_failing(records: Mapping[str, Record]) -> bool:
    """Whether no question was answered; then the rest, which was not asked, is wrong, too."""
    return bool(records) and all(record.response is None for record in records.values())


def _right(record: Record | None) -> float:
    return 0.0 if record is None else float(diagnosis.explain(record).right is True)


def _tokens(record: Record | None) -> int | None:
    usage = record.response.usage if record is not None and record.response is not None else None
    return None if usage is None else usage.prompt_tokens + usage.completion_tokens


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _amount(values: Sequence[float]) -> Estimate | None:
    found = Estimate.of_amount(values)
    return None if found.known is None else found


def _size(amount: Estimate | None) -> float:
    return 0.0 if amount is None else amount.value or 0.0


def _interval(amount: Estimate | None) -> dict[str, float | None] | None:
    return None if amount is None else {"mean": amount.value, "low": amount.low, "high": amount.high, "n": amount.n}


def trials_table(trials: Trials, *, language: str = "en") -> Table:
    """The changes that were tried, best first."""
    words = messages(__name__, language)
    rows = []
    for trial in trials.trials:
        state = "finished" if trial.finished else "given_up" if trial.given_up else "stopped"
        measured = (trial.right.cell("%"), trial.gain.cell("%"), Cell(f"{trial.p:.2g}"))
        cells = (
            Cell(trial.change), *(measured if trial.asked else (Cell(words["not_measured"]), Cell(), Cell())),
            *(Cell() if change is None else change.cell() for change in (trial.tokens, trial.seconds)),
            Cell(words[state].format(n=trial.asked)),
        )  # fmt: skip
        rows.append(Row(cells))
    names = ("change", "right", "gain", "p", "tokens", "seconds", "state") if rows else ()
    columns = tuple(words[name] for name in names)
    note = words["best"].format(change=trials.best.change) if trials.best is not None else words["none"]
    note = words["incomplete"] if trials.stopped else note
    notes = (note, words["note"]) if rows else (words["untried"],)
    return Table("diagnosis-trials", words["title"], columns, tuple(rows), notes)


def config_diff(trials: Trials, plan: DiagnosisPlan) -> str:
    """The best change as a diff of `ragstone.toml`; "" if there is none, or it is not an option of rag(…)."""
    if not trials.line or not isinstance(plan.system, RagTarget):
        return ""
    return f'-system = "{plan.system.name}"\n+system = "{trials.line}"'


def as_json(trials: Trials) -> dict[str, Any]:
    """The trials as JSON."""
    rows = [
        {
            "change": trial.change, "asked": trial.asked, "right": trial.right.value, "gain": trial.gain.value,
            "low": trial.gain.low, "high": trial.gain.high, "p": trial.p if trial.asked else None,
            "tokens": _interval(trial.tokens), "seconds": _interval(trial.seconds), "finished": trial.finished,
            "given_up": trial.given_up,
        }
        for trial in trials.trials
    ]  # fmt: skip
    best = None if trials.best is None else trials.best.change
    return {
        "run": str(trials.run), "complete": not trials.stopped, "best": best, "system": trials.line or None,
        "trials": rows,
    }  # fmt: skip
