"""Counts of what a tool says about planted faults: the confusion matrix, shares that are right, and false alarms."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.diagnosis.trials import Case, Trial

__all__ = [
    "STAGE_OF", "Share", "Verdict", "confusion", "false_alarms", "in_order", "named_right", "sizes",
    "stage_named_right",
]  # fmt: skip

STAGE_OF: Mapping[str, str] = {
    "not_in_index": "index", "stale": "index", "chunking": "index",
    "rewriting": "search", "search_mismatch": "search", "not_retrieved": "search", "k_too_small": "search",
    "filtered": "search", "language": "search",
    "ranking": "ranking", "reranking": "ranking", "duplicates": "ranking",
    "position": "answer", "noise": "answer", "memory": "answer", "integration": "answer", "reading": "answer",
    "generation": "answer", "refused_wrongly": "answer", "unstable": "answer",
    "units": "answer", "instruction": "answer", "guard": "answer",
    "cached_answer": "answer", "history": "ranking", "prompt_cut": "ranking",
    "metric": "reference", "reference_in_doubt": "reference",
    "should_have_refused": "refusal", "error": "error",
}  # fmt: skip
"""The stage of each cause, in which tools that know fewer causes are compared."""


@dataclass(frozen=True)
class Verdict:
    """What a tool says about a case. `cause`: a cause of ragstone, "healthy" or "unknown". `stages`: those that the
    tool's words may mean, so that a tool with few words is not counted wrong for them."""

    trial: Trial
    case: Case
    cause: str
    stages: frozenset[str] = frozenset()

    @property
    def expected(self) -> frozenset[str]:
        """The causes that are right: of the faults that made the answer fail."""
        return frozenset(fault.cause for fault in self.trial.faults if fault.name in self.case.made_by)


@dataclass(frozen=True)
class Share:
    """`count` of `total`."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        return self.count / self.total if self.total else None

    def __str__(self) -> str:
        return f"{self.count}/{self.total}" + ("" if not self.total else f" ({self.count / self.total:.1%})")


def _share(hits: Iterable[bool]) -> Share:
    counts = Counter(hits)
    return Share(counts[True], counts.total())


def confusion(verdicts: Iterable[Verdict]) -> dict[str, Counter[str]]:
    """By planted fault, how often each cause is named for the questions that the fault made fail."""
    matrix: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        for name in verdict.case.made_by:
            matrix.setdefault(name, Counter())[verdict.cause] += 1
    return matrix


def named_right(verdicts: Iterable[Verdict]) -> Share:
    """Of the questions that a fault made fail, those for which the cause of such a fault is named."""
    return _share(verdict.cause in verdict.expected for verdict in verdicts if verdict.expected)


def stage_named_right(verdicts: Iterable[Verdict]) -> Share:
    """The same by stage; errors are left out, as no other tool takes them."""
    return _share(
        bool(verdict.stages & {STAGE_OF[cause] for cause in verdict.expected})
        for verdict in verdicts
        if verdict.expected and verdict.case.response is not None
    )


def false_alarms(verdicts: Iterable[Verdict]) -> Share:
    """Of the right answers, those that are blamed for something."""
    return _share(verdict.cause not in ("healthy", "unknown") for verdict in verdicts if verdict.case.right)


def sizes(trial: Trial, verdicts: Iterable[Verdict]) -> tuple[Counter[str], Counter[str]]:
    """How many answers each planted fault makes fail by itself, of those that fail, by its cause; and how often that
    cause is named."""
    made = Counter(fault.cause for fault in trial.faults for case in trial.cases if fault.name in case.made_by)
    return made, Counter(verdict.cause for verdict in verdicts if verdict.cause in made)


def in_order(made: Counter[str], named: Counter[str]) -> bool:
    """Whether all causes are named, and the one with more failures at least as often as another."""
    return all(named[cause] for cause in made) and all(
        named[one] >= named[other] for one in made for other in made if made[one] > made[other]
    )
