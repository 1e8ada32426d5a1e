"""Default implementations for a benchmark, so that a small benchmark only defines its cases."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragstone.benchmarks.verdicts import asked, score
from ragstone.display import Cell, Chart, Diagnosis, Row, Summary, Table
from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language
from ragstone.plans import RequestPlan, RetrievalCost
from ragstone.structs import to_json
from ragstone.types import Aggregate, Case, Expand, Record, Resources, Run

_METRICS = 4  # in the verdict

if TYPE_CHECKING:
    from ragstone.types import Benchmark as _Declared
else:
    _Declared = object  # its properties would stand in the way of a dataclass's fields


class BaseBenchmark(_Declared):
    """A subclass defines `name`, `version`, `license`, `citation`, `template`, `metrics` and `cases`, and overrides the
    rest as needed. `types.Benchmark` documents each member."""

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return ()

    @property
    def options(self) -> Mapping[str, Any]:
        return {}

    @property
    def growing(self) -> tuple[str, ...]:
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        return ()

    @property
    def leads(self) -> tuple[str, ...]:
        return ()

    @property
    def question(self) -> Mapping[str, Any]:
        """Name, version, template and the options that must not change on resume."""
        options = {name: value for name, value in self.options.items() if name not in self.growing}
        template = dict(self.template.spec)
        return {"benchmark": self.name, "version": self.version, "template": template, "options": options}

    @property
    def warnings(self) -> Sequence[str]:
        return ()

    @property
    def size(self) -> int | None:
        return None

    @property
    def plan(self) -> RequestPlan | None:
        return None

    @property
    def expand(self) -> Expand | None:
        return None

    @property
    def prepares(self) -> bool:
        return False

    @property
    def gives_passages(self) -> bool:
        return False

    @property
    def reads_texts(self) -> bool:
        return True

    @property
    def observes(self) -> bool:
        return False

    @property
    def preparation(self) -> Mapping[str, Mapping[str, Any]]:
        return {}

    async def prepare(self, resources: Resources, /) -> str:
        """The hash of `question`. By default there is nothing to prepare."""
        return hashlib.sha256(to_json(dict(self.question)).encode()).hexdigest()

    def planned(self) -> Iterable[Case]:
        return self.cases()

    def prompt_tokens(self, case: Case, /) -> int:
        from ragstone.text import estimate_tokens  # noqa: PLC0415  (only where a cost is estimated)

        return sum(estimate_tokens(turn.content) for turn in self.template.messages(case.query))

    def cached_tokens(self, case: Case, /) -> int:
        return 0

    def judge_tokens(self, case: Case, /) -> int:
        return 0

    def retrieval_cost(self) -> Sequence[RetrievalCost]:
        return ()

    def intervention(self, case: Case, /) -> tuple[str, str]:
        return "", ""

    def view(self, run: Run, /) -> Run:
        return run

    def observed(self, run: Run, records: Iterable[Record], /) -> Iterable[Record]:
        return records

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        """A sentence for each system, with the mean of each metric."""
        from ragstone.stats import Estimate  # noqa: PLC0415  (numpy: only where a run is read)

        words, plans = messages(__name__, language), run.plans()
        summaries = {}
        for system in run.systems:
            planned = plans[system].total if system in plans else 0
            cells = {name: _mean(scores, planned) for name, scores in sorted(_scores(run, system).items())[:_METRICS]}
            means = {name: Estimate(cell.value, cell.low, cell.high) for name, cell in cells.items()}
            if figures := [f"{name} {score(mean)}" for name, mean in means.items() if mean.value is not None]:
                scored, total = max((cell.scored or 0, cell.total or 0) for cell in cells.values())
                line = words["verdict"].format(
                    system=system, figures=words["join"].join(figures), n=asked(scored, total, language)
                )
                summaries[system] = Summary("", line)
        return summaries

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        """The mean of each metric, a row for each system."""
        words = messages(__name__, language)
        scores = {system: _scores(run, system) for system in run.systems}
        metrics = sorted({name for by_name in scores.values() for name in by_name})
        plans = run.plans()
        planned = {system: plans[system].total if system in plans else 0 for system in scores}
        rows = [
            Row((Cell(system), *(_mean(by_name.get(name, []), planned[system]) for name in metrics)))
            for system, by_name in scores.items()
        ]
        return [Table(f"{self.name}-scores", words["title"], (words["system"], *metrics), tuple(rows))]

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return []

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        """An answer is right when the first metric of the benchmark scores 1."""
        score = record.scores.get(self.metrics[0].name) if self.metrics else None
        right = None if score is None or score.value is None else score.value >= 1
        reason = in_language(score.reason, language) if score else ""
        return Diagnosis(right, self.name, "" if right is not False else "wrong", reason=reason)

    def classify(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return self.explain(record, language=language)

    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]:
        return []

    def compare_charts(
        self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en"
    ) -> list[Chart]:
        return []


def _scores(run: Run, system: str) -> dict[str, list[tuple[str, float | None]]]:
    """Metric → (sample id, value) of each record; without the evidence, which would fill the memory."""
    scores_by_name: dict[str, list[tuple[str, float | None]]] = {}
    for record in run.records(system=system, texts=False):
        for name, one in record.scores.items():
            scores_by_name.setdefault(name, []).append((record.case.sample.id, one.value))
    return scores_by_name


def _mean(scores: Sequence[tuple[str, float | None]], planned: int) -> Cell:
    """The mean of the values; those of one sample form a cluster."""
    from ragstone.stats import Estimate  # noqa: PLC0415  (numpy: only where a run is read)

    valued = [(sample, value) for sample, value in scores if value is not None and math.isfinite(value)]
    total = max(planned, len(scores))
    if not valued:
        return Cell("–", scored=0, total=total)
    samples, values = zip(*valued, strict=True)
    return Estimate.of_mean(values, groups=samples, total=total).cell()
