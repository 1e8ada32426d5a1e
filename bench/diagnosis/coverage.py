"""Whether the interval of a predicted gain covers the true gain, in repetitions with other samples of questions.

A large world stands for all questions that a system may get: what lifting the fault changes there is the true gain.
Each repetition diagnoses a sample of its questions, drawn by a seed, and reads the gain that the fix of the fault's
cause is predicted to have."""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.measures import Share
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import fictional

__all__ = ["Coverage", "covered_gains"]

POPULATION, SAMPLE = 500, 60
MEASURED = (
    "loses 20% of gold",
    "documents missing",
    "rewriter drops the subject",
    "reranker reversed",
    "mixes entities",
)
"""Faults whose fix is measured by an intervention."""


@dataclass
class Coverage:
    """By fault, the true gain, and for each repetition the predicted one and whether its interval covers the true."""

    truth: dict[str, float] = field(default_factory=dict)
    predicted: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)

    @property
    def share(self) -> Share:
        hits = [hit for found in self.predicted.values() for _, hit in found]
        return Share(sum(hits), len(hits))

    def rows(self) -> list[list[str]]:
        return [
            [name, f"{self.truth[name]:.1%}", f"{mean(gain for gain, _ in found):.1%}",
             str(Share(sum(hit for _, hit in found), len(found)))]
            for name, found in self.predicted.items()
        ]  # fmt: skip


def covered_gains(repetitions: int, folder: Path) -> Coverage:
    """The faults in turn, each repetition with another sample."""
    population = fictional(POPULATION, seed=7)
    coverage = Coverage()
    for repetition in range(repetitions):
        name = MEASURED[repetition % len(MEASURED)]
        fault = FAULTS[name]
        if name not in coverage.truth:
            coverage.truth[name] = Trial(population, (fault,)).gain
        sample = Trial(population.sample(SAMPLE, repetition), (fault,))
        fixes = diagnosed(sample, folder).result.fixes()
        gain = next((fix.gain for fix in fixes if fix.cause == fault.cause), None)
        value, low, high = (0.0, 0.0, 0.0) if gain is None else (gain.value or 0.0, gain.low or 0.0, gain.high or 0.0)
        hit = low <= coverage.truth[name] <= high
        coverage.predicted.setdefault(name, []).append((value, hit))
    return coverage
