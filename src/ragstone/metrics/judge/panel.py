"""Several judges for one metric: each scores the sample, and their scores are combined, or kept apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.metrics.judge.record import united
from ragstone.metrics.traits import estimate_of, traits_of
from ragstone.models.concurrency import gather_all
from ragstone.types import Case, Metric, Need, Record, Response, Score, Usage

Combine: TypeAlias = Literal["majority", "mean", "each"]
_KEY = "judges"


@dataclass(frozen=True)
class Panel:
    """The same metric by several judges, named by their models. `combine`: "mean" of all, or "majority" of those that
    replied, at least half of them, which is the median: of scores of 0 and 1 what most of them say."""

    metrics: Mapping[str, Metric]
    combine: Combine
    name: str
    version: int
    needs: frozenset[Need]
    better: str
    steps: frozenset[str]

    async def score(self, case: Case, response: Response, /) -> Score:
        """The combined score, with those of the judges and all their requests as evidence, and not applicable where
        none of them has a score. Failed where a judge failed; of a majority, where more than half of them did or those
        that replied are split."""
        scores = await gather_all(*(_scored(metric, case, response) for metric in self.metrics.values()))
        judges = dict(zip(self.metrics, scores, strict=True))
        told = {judge: {"value": score.value, "reason": score.reason} for judge, score in judges.items()}
        missing = [judge for judge, score in judges.items() if score.status == "failed"]
        evidence = united(judges, {_KEY: told} | ({"judges_missing": missing} if missing else {}))
        failed = [f"{judge}: {judges[judge].reason}" for judge in missing]
        if failed and (self.combine == "mean" or 2 * len(failed) > len(scores)):
            return Score.failed("; ".join(failed), evidence=evidence)
        values = [score.value for score in scores if score.value is not None]
        if not values:
            without = next(score for score in scores if score.status != "failed")
            return replace(without, evidence=evidence)
        without_all = (
            f"{len(scores) - len(failed)} of {len(scores)} judges replied; {'; '.join(failed)}" if failed else ""
        )
        if self.combine == "mean":
            return Score.of(fmean(values), evidence=evidence)
        if {*values} == {0.0, 1.0} and 2 * sum(values) == len(values):
            tie = f"The judges are split: {len(values) // 2} say 1 and {len(values) // 2} say 0."
            return Score.failed(" ".join(filter(None, (tie, without_all))), evidence=evidence)
        return Score.of(median(values), evidence=evidence, reason=without_all)

    def estimate(self, case: Case, response: Response, /) -> Usage:
        """What the judges' own requests are likely to take together; those for claims are counted elsewhere."""
        return sum((estimate_of(metric, case, response) for metric in self.metrics.values()), Usage())


@dataclass(frozen=True)
class _OfOne(Panel):
    """The metric by one of several judges, under a name of its own."""

    async def score(self, case: Case, response: Response, /) -> Score:
        (metric,) = self.metrics.values()
        return await _scored(metric, case, response)


def paneled(metrics: Mapping[str, Sequence[Metric]], combine: Combine) -> tuple[Metric, ...]:
    """The metrics of several judges (by the judge's name, each the same metrics in the same order) as one list; what
    asks no judge is there once."""
    if combine not in ("majority", "mean", "each"):
        raise UsageError(f"Unknown way to combine judges {combine!r}: choose majority, mean or each.")
    combined: list[Metric] = []
    for same in zip(*metrics.values(), strict=True):
        one, traits = same[0], traits_of(same[0])
        if not {"judge", "model"} & {*traits.uses}:
            combined.append(one)
            continue
        about: Any = (one.version, one.needs, traits.better, frozenset(traits.steps))
        judged = dict(zip(metrics, same, strict=True))
        if combine == "each":
            combined += [
                _OfOne({judge: metric}, combine, f"{one.name}[{judge}]", *about) for judge, metric in judged.items()
            ]
        else:
            combined.append(Panel(judged, combine, one.name, *about))
    return tuple(combined)


def by_judge(record: Record) -> dict[str, dict[str, float]]:
    """What each of several judges scored, by metric and judge; empty where there was one."""
    found: dict[str, dict[str, float]] = {}
    for name, score in record.scores.items():
        base, bracket, judge = name.partition("[")
        judges = score.evidence.get(_KEY) if isinstance(score.evidence, dict | Mapping) else None
        if bracket and judge.endswith("]") and score.value is not None:
            found.setdefault(base, {})[judge[:-1]] = score.value
        elif isinstance(judges, Mapping):
            values = {str(key): item.get("value") for key, item in judges.items() if isinstance(item, Mapping)}
            found[name] = {key: value for key, value in values.items() if isinstance(value, int | float)}
    return {name: values for name, values in found.items() if len(values) > 1}


async def _scored(metric: Metric, case: Case, response: Response) -> Score:
    result: Any = metric.score(case, response)
    score: Score = await result
    return score
