"""Whether following the first advice buys what it said: python -m bench.diagnosis.following

A fault is planted, a sample of questions diagnosed, and the first advice followed on the faulty system: a change that
was tried is made to it (its k, the order of its prompt, its reranker…), and of any other advice the fault that has the
named cause is lifted; an advice that names another cause changes nothing. What that adds on a large fresh sample is
compared with the interval of a change that was tried, or with the upper end where the advice says “at most”. An advice
without a figure makes no claim, and is counted apart."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS, PAIRS, Fault
from bench.diagnosis.measures import Share
from bench.diagnosis.pipeline import Pipeline
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import World, fictional

from ragstone.diagnosis.interventions.advice import Fix
from ragstone.types import Query

__all__ = ["Followed", "followed", "gain_of", "planted"]

POPULATION, SAMPLE, GOAL = 500, 60, 0.9
NOISE = Fault("noise of 20%", "unstable", {"flaky": 0.4})  # four in ten questions are answered wrongly half of the time
_NOISY = ("loses 20% of gold", "rewriter drops the subject", "k = 1", "reranker reversed", "ignores the middle",
          "documents missing")  # fmt: skip


@dataclass(frozen=True)
class Followed:
    """The first advice about a trial, and what following it adds on a large fresh sample."""

    trial: Trial
    fix: Fix
    truth: float

    @property
    def inside(self) -> bool | None:
        """Whether the gain is inside the interval, or below the upper end of the most; None without a figure."""
        if self.fix.gain is None or self.fix.gain.known is None:
            return None
        _, low, high = self.fix.gain.known
        return (low if self.fix.tried else -1.0) <= self.truth <= high

    @property
    def row(self) -> list[str]:
        """What was planted and advised, the figure, and what it bought."""
        known = None if self.fix.gain is None else self.fix.gain.known
        figure = "–" if known is None else f"{known[0]:+.1%} [{known[1]:.1%}, {known[2]:.1%}]"
        kind = self.fix.change or ("at most" if known else "no figure")
        verdict = {None: "", True: "yes", False: "no"}[self.inside]
        return [self.trial.name, self.fix.cause, kind, figure, f"{self.truth:+.1%}", verdict]


def planted() -> list[tuple[Fault, ...]]:
    """Thirty systems: each fault, pairs of faults, and some faults with noise."""
    pairs = [(FAULTS[one], FAULTS[other]) for one, other in PAIRS]
    return [*((fault,) for fault in FAULTS.values()), *pairs, *((FAULTS[name], NOISE) for name in _NOISY)]


def followed(trial: Trial, fix: Fix, population: World) -> Followed:
    """The advice followed on the same system with other questions."""
    large = replace(trial, world=population)
    before, after = large.faulty, _changed(large, fix)
    gain = 0.0 if after is None else gain_of(before, after, population)
    return Followed(trial, fix, gain)


def _changed(trial: Trial, fix: Fix) -> Pipeline | None:
    """The faulty system with the advice followed; None where it names nothing that is wrong."""
    faulty, k = trial.faulty, trial.faulty.k
    made: dict[str, dict[str, Any]] = {
        "k2": {"k": 2 * k, "depth": max(faulty.depth, 2 * k)}, "k4": {"k": 4 * k, "depth": max(faulty.depth, 4 * k)},
        "best_first": {"middle_out": False}, "reordered": {"turned": True}, "fewer": {"k": (k + 1) // 2},
        "unranked": {"reranks": False, "reverses": False}, "unrewritten": {"bare": 0.0},
    }  # fmt: skip
    if fix.change:
        return faulty.lifted(**made[fix.change])
    others = tuple(fault for fault in trial.faults if fault.cause != fix.cause)
    return None if len(others) == len(trial.faults) else trial.system(*others)


def gain_of(before: Pipeline, after: Pipeline, world: World) -> float:
    """What one system answers rightly more often than another, in share of all questions."""
    first, second = (asyncio.run(_right(system, world)) for system in (before, after))
    return (sum(second) - sum(first)) / len(world.questions)


async def _right(system: Pipeline, world: World) -> list[bool]:
    found = []
    for question in world.questions:
        try:
            response = await system.answer(Query(question.text, language=question.language))
            found.append(world.right(question, response.answer))
        except RuntimeError:
            found.append(False)
    return found


def trials(faults: Iterable[tuple[Fault, ...]], population: World, repetitions: int) -> Iterator[Trial]:
    """Each system with other samples of questions; every other reader makes up what it does not find."""
    for place, some in enumerate(faults):
        for repetition in range(repetitions):
            sample = population.sample(SAMPLE, 100 * repetition + place)
            yield Trial(sample, some, refuses=bool(place % 2) or some[0].name == "never refuses")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis.following", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1, help="Samples of questions for each system.")
    options = parser.parse_args()
    population = fictional(POPULATION, seed=7)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for trial in trials(planted(), population, options.repetitions):
            fixes = diagnosed(trial, Path(folder)).result.fixes()
            if fixes:
                found.append(followed(trial, fixes[0], population))
                print("| " + " | ".join(found[-1].row) + " |", flush=True)
    tried = [one.inside for one in found if one.fix.tried]
    most = [one.inside for one in found if not one.fix.tried and one.inside is not None]
    both = Share(sum(map(bool, [*tried, *most])), len(tried) + len(most))
    print(f"\nInside, of changes that were tried: {Share(sum(map(bool, tried)), len(tried))}.")
    print(f"Not above the most: {Share(sum(map(bool, most)), len(most))}.")
    print(f"Together {both}; without a figure {len(found) - both.total}.")
    return int((both.value or 0.0) < GOAL)


if __name__ == "__main__":
    sys.exit(main())
