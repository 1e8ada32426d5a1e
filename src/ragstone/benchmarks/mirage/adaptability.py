"""How a system adapts to its context: the four shares of Park et al. 2025, section 4, and what they hide.

Each question has three labels: right without context (b), with the right chunk (o), and with the retrieved or collected
chunks (m).

| measure | condition | meaning |
|---|---|---|
| noise vulnerability | o∧¬m | the right chunk was enough, but this context was not |
| context acceptability | o∧m | this context worked as well as the right chunk |
| context insensitivity | ¬b∧¬o | not even the right chunk helped |
| context misinterpretation | b∧¬o | the right chunk spoiled a known answer |

The four sum to 1, so the published total, -NV + CA - CI - CM, equals 2·CA - 1 and adds no information. Noise
vulnerability also counts questions for which the retriever found no supporting chunk and no answer could have been
right: here it is split by that, and `given_gold` is its share among questions with a supporting chunk.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ragstone.benchmarks.mirage.aggregate import (
    BASE,
    OFFICIAL,
    ORACLE,
    AnswerKind,
    Condition,
    CrossTab,
    MirageTally,
    tally_records,
)
from ragstone.stats import Estimate
from ragstone.types import Record, Score

MEASURES = (
    "noise_vulnerability", "context_acceptability", "context_insensitivity", "context_misinterpretation",
)  # fmt: skip
GROUPS = tuple(f"{code:03b}" for code in range(8))
"""The labels in the order (b, o, m). (The official program's `label_count` has base, mixed, oracle.)"""

# Codes of (b, o, m) as three bits.
_CODES = {
    "noise_vulnerability": frozenset({0b010, 0b110}),
    "context_acceptability": frozenset({0b011, 0b111}),
    "context_insensitivity": frozenset({0b000, 0b001}),
    "context_misinterpretation": frozenset({0b100, 0b101}),
}


def _of(measure: str) -> Callable[[AnswerKind], bool]:
    codes = _CODES[measure]
    return lambda kind: kind.code in codes


SHARES: Mapping[str, Callable[[AnswerKind], bool]] = {measure: _of(measure) for measure in MEASURES}
"""Measure → whether a kind of answer counts for it."""


@dataclass(frozen=True)
class Shares:
    """The adaptability of one system with one context.

    `total` is the published sum. `missed` and `noise` split noise vulnerability into the questions without and with a
    supporting chunk in the context (shares of all questions); `given_gold` is noise vulnerability among the questions
    with a supporting chunk and a right oracle answer; `without_gold` is the share of right answers to questions without
    a supporting chunk."""

    measures: Mapping[str, Estimate]
    total: Estimate
    missed: Estimate
    noise: Estimate
    given_gold: Estimate
    without_gold: Estimate
    groups: Mapping[str, int]


def shares(crosstab: CrossTab) -> Shares | None:
    """The shares of a cross table over (base, oracle, context); None if it is empty."""
    measures = {name: crosstab.share(test) for name, test in SHARES.items()}
    if not crosstab.n:
        return None
    accepted = measures["context_acceptability"]
    low, high = (None if end is None else 2 * end - 1 for end in (accepted.low, accepted.high))
    vulnerable = SHARES["noise_vulnerability"]
    nv, ca, ci, cm = (measures[name].count for name in MEASURES)
    return Shares(
        measures,
        # The total is a linear function of acceptability, and so is its interval.
        Estimate((ca - nv - ci - cm) / crosstab.n, low, high, crosstab.n, crosstab.total),
        missed=crosstab.share(lambda kind: vulnerable(kind) and kind.gold == 0),
        noise=crosstab.share(lambda kind: vulnerable(kind) and kind.gold > 0),
        given_gold=crosstab.share(vulnerable, within=lambda kind: bool(kind.code & 0b010) and kind.gold > 0),
        without_gold=crosstab.share(lambda kind: bool(kind.code & 1), within=lambda kind: kind.gold == 0),
        groups=group_counts(crosstab),
    )


def shares_of(tally: MirageTally, system: str, condition: Condition, rule: str = OFFICIAL) -> Shares | None:
    """The shares of a system in a condition; None if base, oracle or the condition was not asked."""
    crosstab = tally.crosstab(system, (BASE, ORACLE, condition), rule)
    return None if crosstab is None else shares(crosstab)


def group_counts(crosstab: CrossTab) -> dict[str, int]:
    """The number of answers in each of the eight groups."""
    counts = dict.fromkeys(GROUPS, 0)
    for kind, number in crosstab.kinds.items():
        counts[f"{kind.code:03b}"] += number
    return counts


def macro(crosstab: CrossTab, test: Callable[[AnswerKind], bool]) -> Estimate:
    """The mean of a share over sources, so that a large source counts no more than a small one; `n` is the number of
    sources."""
    sources = sorted({kind.source for kind in crosstab.kinds})
    return Estimate.mean_of(
        [crosstab.share(test, within=partial(AnswerKind.is_from, source=source)) for source in sources]
    )


def name_of(condition: Condition) -> str:
    """A short name of a context: `mixed`, `bm25@3`, `bm25@3/c110` for chunks of 110 tokens."""
    if condition.setting != "retrieved":
        return condition.setting
    return f"{condition.retriever}@{condition.k}" + (f"/c{condition.chunk}" if condition.chunk else "")


@dataclass(frozen=True)
class Adaptability:
    """`adaptability`: the measures of this module over the records of any benchmark whose conditions have `setting`
    "base", "oracle" and "mixed" or "retrieved" (with `retriever` and `k`). `rule` is the metric that decides what is
    right (a value of 1), by default the official one.

    `over` returns a score for each measure, the total, and the parts of noise vulnerability, under names such as
    `noise_vulnerability[SYSTEM, bm25@3]`; the evidence has the interval, the count, `n` and the eight groups."""

    rule: str = OFFICIAL
    name: ClassVar[str] = "adaptability"
    version: ClassVar[int] = 1

    def over(self, records: Iterable[Record], /) -> dict[str, Score]:
        """One pass; empty if base, oracle or the third setting is missing."""
        tally = tally_records(records, (self.rule,))
        scores: dict[str, Score] = {}
        for system in tally.systems:
            for condition in tally.contexts(system):
                if (result := shares_of(tally, system, condition, self.rule)) is not None:
                    suffix = f"[{system}, {name_of(condition)}]"
                    scores |= {f"{name}{suffix}": score for name, score in _scores(result).items()}
        return scores


def _scores(result: Shares) -> dict[str, Score]:
    parts = {
        **result.measures, "noise_vulnerability_missed": result.missed, "noise_vulnerability_noise": result.noise,
        "noise_vulnerability_given_gold": result.given_gold, "right_without_gold": result.without_gold,
    }  # fmt: skip
    scores: dict[str, Score] = {}
    for name, part in parts.items():
        if part.value is None:
            scores[name] = Score.not_applicable("no question is of this kind")
        else:
            evidence = {"low": part.low, "high": part.high, "count": part.count, "n": part.n}
            scores[name] = Score.of(part.value, evidence=evidence)
    assert result.total.value is not None
    total = {
        "low": result.total.low,
        "high": result.total.high,
        "n": result.total.n,
        "groups": dict(result.groups),
    }
    return {**scores, "total": Score.of(result.total.value, evidence=total)}
