"""How a system adapts to the context it is given: the four shares of Park et al. 2025, section 4, and what they hide.

Of each question three labels are taken: right without context (b), with the right chunk (o), and with what a retriever
found or what was collected for it (m).

| measure | a question counts where | says |
|---|---|---|
| noise vulnerability | o∧¬m | the right chunk would have done, what was given did not |
| context acceptability | o∧m | what was given did as well as the right chunk |
| context insensitivity | ¬b∧¬o | not even the right chunk helped |
| context misinterpretation | b∧¬o | the right chunk spoiled what was known |

The four sum to 1, so that the published total, -NV + CA - CI - CM, is 2·CA - 1 and says nothing of its own. And noise
vulnerability counts a question also where the retriever found no supporting chunk, so that nothing could have been
right: here it is split by that, and `given_gold` is the share of those that had a supporting chunk.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.benchmarks.mirage.aggregate import BASE, OFFICIAL, ORACLE, Condition, CrossTab, Kind, Tally, count
from ragstone.stats import Estimate
from ragstone.types import Record, Score

__all__ = [
    "GROUPS", "MEASURES", "SHARES", "Adaptability", "Shares", "group_counts", "macro", "name_of", "shares",
    "shares_of",
]  # fmt: skip

MEASURES = (
    "noise_vulnerability", "context_acceptability", "context_insensitivity", "context_misinterpretation",
)  # fmt: skip
GROUPS = tuple(f"{code:03b}" for code in range(8))
"""The labels (b, o, m) in this order. (The official program's `label_count` has base, mixed, oracle.)"""

# Codes of (b, o, m) as three bits.
_CODES = {
    "noise_vulnerability": frozenset({0b010, 0b110}),
    "context_acceptability": frozenset({0b011, 0b111}),
    "context_insensitivity": frozenset({0b000, 0b001}),
    "context_misinterpretation": frozenset({0b100, 0b101}),
}


def _of(measure: str) -> Callable[[Kind], bool]:
    codes = _CODES[measure]
    return lambda kind: kind.code in codes


SHARES: Mapping[str, Callable[[Kind], bool]] = {measure: _of(measure) for measure in MEASURES}
"""Measure → whether a question counts for it."""


@dataclass(frozen=True)
class Shares:
    """The adaptability of one system with one context.

    `total` is the published sum. `missed` and `noise` part noise vulnerability into the questions where no supporting
    chunk was given and those where one was (shares of all questions); `given_gold` is noise vulnerability among the
    questions with a supporting chunk and a right answer to the oracle, `without_gold` the share of right answers to
    questions that had none."""

    measures: Mapping[str, Estimate]
    total: Estimate
    missed: Estimate
    noise: Estimate
    given_gold: Estimate
    without_gold: Estimate
    groups: Mapping[str, int]


def shares(cube: CrossTab) -> Shares | None:
    """From a cube over (base, oracle, what was given); None of nothing."""
    measures = {name: cube.share(test) for name, test in SHARES.items()}
    accepted = measures["context_acceptability"].known
    if accepted is None:
        return None
    _, low, high = accepted
    vulnerable = SHARES["noise_vulnerability"]
    nv, ca, ci, cm = (measures[name].count for name in MEASURES)
    return Shares(
        measures,
        # The total is a line through acceptability, and so is its interval.
        Estimate((ca - nv - ci - cm) / cube.n, 2 * low - 1, 2 * high - 1, cube.n, cube.total),
        missed=cube.share(lambda kind: vulnerable(kind) and kind.gold == 0),
        noise=cube.share(lambda kind: vulnerable(kind) and kind.gold > 0),
        given_gold=cube.share(vulnerable, within=lambda kind: bool(kind.code & 0b010) and kind.gold > 0),
        without_gold=cube.share(lambda kind: bool(kind.code & 1), within=lambda kind: kind.gold == 0),
        groups=group_counts(cube),
    )


def shares_of(tally: Tally, system: str, spot: Condition, rule: str = OFFICIAL) -> Shares | None:
    """Of a system with what it was given at a spot; None where base, oracle or the spot was not asked."""
    cube = tally.cube(system, (BASE, ORACLE, spot), rule)
    return None if cube is None else shares(cube)


def group_counts(cube: CrossTab) -> dict[str, int]:
    """How many answers are in each of the eight groups."""
    found = dict.fromkeys(GROUPS, 0)
    for kind, number in cube.kinds.items():
        found[f"{kind.code:03b}"] += number
    return found


def macro(cube: CrossTab, test: Callable[[Kind], bool]) -> Estimate:
    """The mean over sources of a share, so that a large source counts no more than a small one; `n` counts the
    interval puts those of the sources together, each side by the root of the sum of squares (Zou and Donner 2008)."""
    parts = []
    for source in sorted({kind.source for kind in cube.kinds}):
        part = cube.share(test, within=lambda kind, at=source: kind.source == at)  # type: ignore[misc]
        if part.known is not None:
            parts.append(part.known)
    if not parts:
        return Estimate()
    mean = math.fsum(value for value, _, _ in parts) / len(parts)
    below = math.sqrt(math.fsum((value - low) ** 2 for value, low, _ in parts)) / len(parts)
    above = math.sqrt(math.fsum((high - value) ** 2 for value, _, high in parts)) / len(parts)
    return Estimate(mean, max(0.0, mean - below), min(1.0, mean + above), len(parts))


def name_of(spot: Condition) -> str:
    """A short name of what was given: `mixed`, `bm25@3`, `bm25@3/c110` for chunks of 110 tokens."""
    if spot.setting != "retrieved":
        return spot.setting
    return f"{spot.retriever}@{spot.k}" + (f"/c{spot.chunk}" if spot.chunk else "")


@dataclass(frozen=True)
class Adaptability:
    """`adaptability`: the measures of this module over the records of any benchmark whose conditions have `setting`
    "base", "oracle" and "mixed" or "retrieved" (with `retriever` and `k`). `rule` is the metric that says what is right
    (a value of 1), the official one by default.

    `over` gives a score for each measure, the total, and noise vulnerability parted, under names such as
    `noise_vulnerability[SYSTEM, bm25@3]`; the evidence has the interval, the count, `n` and the eight groups."""

    rule: str = OFFICIAL
    name: ClassVar[str] = "adaptability"
    version: ClassVar[int] = 1

    def over(self, records: Iterable[Record], /) -> dict[str, Score]:
        """One pass; nothing where base, oracle or the third setting is missing."""
        tally = count(records, (self.rule,))
        found: dict[str, Score] = {}
        for system in tally.systems:
            for spot in tally.spots(system):
                if (held := shares_of(tally, system, spot, self.rule)) is not None:
                    where = f"[{system}, {name_of(spot)}]"
                    found |= {f"{name}{where}": score for name, score in _scores(held).items()}
        return found


def _scores(held: Shares) -> dict[str, Score]:
    parts = {
        **held.measures, "noise_vulnerability_missed": held.missed, "noise_vulnerability_noise": held.noise,
        "noise_vulnerability_given_gold": held.given_gold, "right_without_gold": held.without_gold,
    }  # fmt: skip
    scores: dict[str, Score] = {}
    for name, part in parts.items():
        if part.value is None:
            scores[name] = Score.not_applicable("no question is of this kind")
        else:
            evidence = {"low": part.low, "high": part.high, "count": part.count, "n": part.n}
            scores[name] = Score.of(part.value, evidence=evidence)
    assert held.total.value is not None
    total = {"low": held.total.low, "high": held.total.high, "n": held.total.n, "groups": dict(held.groups)}
    return {**scores, "total": Score.of(held.total.value, evidence=total)}
