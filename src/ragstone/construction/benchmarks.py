"""A construction as cases: the tasks of one pass, and the tables of what each pass kept."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.plugin import Plugin
from ragstone.construction.builders.pipeline import Pass, Pipeline
from ragstone.construction.builders.steps import Task, prompt_of, task_of
from ragstone.display import Cell, Diagnosis, Row, Summary, Table
from ragstone.messages import messages
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.text import estimate_tokens
from ragstone.types import Case, Metric, Record, Resources, Run, Template

_MOST_LINES = 20  # of boilerplate in a table


@dataclass(frozen=True)
class Construction(BaseBenchmark):
    """The cases of one pass. `settings` must be equal to resume; `report` is what the run file keeps of a finished
    construction: accepted items, yields of the passes, rejections by reason."""

    name: ClassVar[str] = "construction"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = ""

    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    pass_name: str = ""
    step: str = ""
    tasks: Sequence[Task] = ()
    report: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: Pipeline, one: Pass, tasks: Sequence[Task]) -> Self:
        """The cases of this pass."""
        assert one.step is not None
        return cls({"construction": pipeline.name, **pipeline.settings}, one.name, one.step.name, tasks)

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate it."""
        report = meta.get("construction")
        return cls(report=report if isinstance(report, Mapping) else {})

    @property
    def template(self) -> Template:
        """Unused: a step has its own prompt."""
        return RAG_TEMPLATE

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        return ("pass",)

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, **self.settings}

    async def prepare(self, resources: Resources, /) -> str:
        return ""

    @property
    def size(self) -> int:
        return len(self.tasks)

    def cases(self) -> Iterator[Case]:
        return (task.case(self.pass_name, self.step) for task in self.tasks)

    def prompt_tokens(self, case: Case, /) -> int:
        step, shown = task_of(case.query)
        return sum(estimate_tokens(turn.content) for turn in prompt_of(step, case.query.language).turns(shown))

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        """A reply is neither right nor wrong."""
        return Diagnosis(None, str(record.case.condition.get("pass", "")))

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        """How many items were accepted of how many, and why the others were not."""
        words, yields = messages(__name__, language), self._yields()
        if not yields:
            return {}
        why = words["join"].join(f"{_reason(words, name)} {count:,}" for name, count in self._reasons()[:3])
        line = words["verdict"].format(accepted=f"{self.report.get('accepted', 0):,}")
        return {"": Summary("", line + (words["why"].format(why=why) if why else ""))}

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        """What each pass kept, and the rejected items by reason."""
        words = messages(__name__, language)
        passes = tuple(
            Row((Cell(str(one["name"])), *(Cell(value=float(one[key])) for key in ("entered", "kept", "asked"))))
            for one in self._yields()
        )
        reasons = tuple(Row((Cell(_reason(words, name)), Cell(value=float(count)))) for name, count in self._reasons())
        columns = (words["pass"], words["entered"], words["kept"], words["tasks" if self._by_rules() else "requests"])
        return [
            Table("construction-passes", words["passes"], columns, passes),
            Table("construction-rejected", words["rejected"], (words["reason"], words["items"]), reasons),
            *self._coverage(words),
            *self._cost(words),
            *self._boilerplate(words),
        ]

    def _coverage(self, words: Mapping[str, str]) -> list[Table]:
        """The share of facts and documents of which a question is asked, if the run file has it."""
        covered = self.report.get("covered")
        if not isinstance(covered, Mapping) or not covered:
            return []
        rows = [
            Row((Cell(words.get(f"of_{name}", name)), Cell(value=used / total, unit="%", scored=used, total=total)))
            for name, (used, total) in covered.items()
            if total
        ]
        return [Table("construction-covered", words["covered"], (words["what"], words["share"]), tuple(rows))]

    def _cost(self, words: Mapping[str, str]) -> list[Table]:
        """What the construction took, in all and for each accepted item, if the run file has it."""
        usage, accepted = self.report.get("usage"), self.report.get("accepted", 0)
        if not isinstance(usage, Mapping) or not usage:
            return []
        rows = tuple(
            Row((Cell(words[name]), Cell(value=float(count)), Cell(f"{count / accepted:,.0f}" if accepted else "–")))
            for name, count in usage.items()
            if name in words
        )
        columns = (words["spent"], words["in_all"], words["each"])
        notes = (words["by_rules"],) if self._by_rules() else ()
        return [Table("construction-cost", words["cost"], columns, rows, notes)]

    def _by_rules(self) -> bool:
        """Whether no model was asked."""
        usage = self.report.get("usage")
        return isinstance(usage, Mapping) and bool(usage) and not any(usage.values())

    def _boilerplate(self, words: Mapping[str, str]) -> list[Table]:
        """The lines that most documents lost as boilerplate, if any did."""
        lines = self.report.get("lines")
        pairs = lines[:_MOST_LINES] if isinstance(lines, list) else []
        rows = tuple(Row((Cell(str(line)), Cell(value=float(count)))) for line, count in pairs)
        columns = (words["line"], words["of_documents"])
        return [Table("construction-boilerplate", words["boilerplate"], columns, rows)] if rows else []

    def _yields(self) -> list[Mapping[str, Any]]:
        yields = self.report.get("yields")
        return [one for one in yields if isinstance(one, Mapping)] if isinstance(yields, list) else []

    def _reasons(self) -> list[tuple[str, int]]:
        reasons = self.report.get("rejected")
        items = reasons.items() if isinstance(reasons, Mapping) else ()
        return sorted(((str(name), int(count)) for name, count in items), key=lambda item: (-item[1], item[0]))


def _reason(words: Mapping[str, str], name: str) -> str:
    """The reason for a reader; a name that no phrase book has stands for itself."""
    return words.get(f"reason_{name}", name.replace("_", " "))


class ConstructionPlugin(Plugin):
    """How a test set was constructed: what each pass kept and why items were rejected."""

    name: ClassVar[str] = "construction"
    summary: ClassVar[str] = "How a test set was constructed (`ragstone build`)."
    condition_types: ClassVar[Mapping[str, Any]] = {"pass": str}

    def from_meta(self, meta: Mapping[str, Any], /) -> Construction:
        return Construction.from_meta(meta)


PLUGINS = {"construction": ConstructionPlugin()}
