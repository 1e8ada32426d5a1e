"""What `ragstone.diagnose` says about a trial, and what it asked for that."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.diagnosis.judge import GATE, METRIC, world_judge
from bench.diagnosis.measures import STAGE_OF, Verdict
from bench.diagnosis.trials import Trial

from ragstone import diagnose
from ragstone.diagnosis.diagnose import DiagnosisResult
from ragstone.diagnosis.interventions.conditions import SEARCHES

__all__ = ["Diagnosis", "diagnosed"]


@dataclass(frozen=True)
class Diagnosis:
    """A trial with the result of its diagnosis."""

    trial: Trial
    result: DiagnosisResult

    @cached_property
    def verdicts(self) -> list[Verdict]:
        causes = self.result.causes()
        found = []
        for case in self.trial.cases:
            cause = causes[case.question.id].name
            stages = frozenset({STAGE_OF[cause]} if cause in STAGE_OF else ())
            found.append(Verdict(self.trial, case, cause, stages))
        return found

    @cached_property
    def requests(self) -> Counter[str]:
        """How many answers ("answer") and searches ("search") the system was asked for."""
        counts: Counter[str] = Counter()
        for question in self.result.questions:
            for condition in question.evidence.records:
                counts["search" if condition in SEARCHES else "answer"] += 1
        return counts


def diagnosed(trial: Trial, folder: Path, *, full: bool = False, system: Any = None) -> Diagnosis:
    """Asks the trial's system, or the same as another object. The run file gets a name of its own in `folder`."""
    judge = world_judge(trial.world) if trial.paraphrased else None
    result = diagnose(
        trial.rows, trial.faulty if system is None else system,
        [METRIC if trial.paraphrased else "answer_match"], judge,
        corpus=trial.truth, index=trial.corpus, plan="full" if full else "adaptive",
        gates={METRIC: GATE} if trial.paraphrased else None,
        run=folder / f"{len(list(folder.iterdir()))}.run",
    )  # fmt: skip
    return Diagnosis(trial, result)
