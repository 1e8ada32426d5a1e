"""What a metric may declare of itself besides the protocol `types.Metric`, each with its default.

The engine reads these members here only, of metrics and of the classes that make them.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from ragstone.types import Case, Metric, Response, Usage

Better: TypeAlias = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Traits:
    """`better`: which values are the better ones. `uses`: the tools that it is made of ("judge", "model", "embedder").
    `steps`: those of the judge that it takes ("decompose", "verify", "similarities"). `asks`: the names of the prompts
    of its own. `scores_refusals`: it needs no reference where the question cannot be answered."""

    better: Better = "higher"
    uses: tuple[str, ...] = ()
    steps: Collection[str] = ()
    asks: tuple[str, ...] = ()
    scores_refusals: bool = False


_NAMES = tuple(item.name for item in fields(Traits))


def traits_of(metric: Any) -> Traits:
    """The traits of a metric, or of a class that makes one."""
    return Traits(**{name: getattr(metric, name) for name in _NAMES if hasattr(metric, name)})


def estimate_of(metric: Metric, case: Case, response: Response) -> Usage:
    """What the metric's own requests for this answer are likely to take, by its method `estimate`; nothing without."""
    estimate = getattr(metric, "estimate", None)
    return Usage() if estimate is None else estimate(case, response)


def prompt_hash_of(metric: Metric) -> str:
    """The hash of a prompt that is part of the metric (`prompt_hash`); "" if none is."""
    return str(getattr(metric, "prompt_hash", ""))


def rubric_hash_of(metric: Metric) -> str:
    """The hash of the criteria of a rubric (`hash`); "" for any other metric."""
    return str(getattr(metric, "hash", ""))
