"""The faults that are planted, each with the cause that a diagnosis should name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.diagnosis.pipeline import Pipeline

__all__ = ["FAULTS", "PAIRS", "Fault"]


@dataclass(frozen=True)
class Fault:
    """`cause`: the primary cause that is right. `planted`: settings of the faulty system, `base`: of the same system
    without the fault, where they differ from the default."""

    name: str
    cause: str
    planted: Mapping[str, Any]
    base: Mapping[str, Any] = field(default_factory=dict)

    def faulty(self, clean: Pipeline) -> Pipeline:
        """The system with the fault."""
        return clean.lifted(**{**self.base, **self.planted})

    def without(self, clean: Pipeline) -> Pipeline:
        """The system with the fault lifted."""
        return clean.lifted(**self.base)


_ALL = (
    Fault("loses 20% of gold", "filtered", {"unreachable": 0.2}),
    Fault("broken embedder", "not_retrieved", {"shuffled": True}),
    Fault("ranks gold last", "ranking", {"gold_last": True}, {"depth": 30}),
    Fault("documents missing", "not_in_index", {"missing": 0.25}),
    Fault("documents stale", "stale", {"stale": 0.25}),
    Fault("rewriter drops the subject", "rewriting", {"bare": 0.6}),
    Fault("k = 1", "k_too_small", {"depth": 1, "k": 1}),
    Fault("reranker reversed", "reranking", {"reverses": True}, {"reranks": True}),
    Fault("ignores the middle", "position", {"ignores_middle": True}, {"middle_out": True}),
    Fault("trusts the last passage", "position", {"trusts_last": True}),
    Fault("mixes entities", "noise", {"mixes": 0.35}),
    Fault("never refuses", "should_have_refused", {"refuses": False}, {"refuses": True}),
    Fault("always refuses", "refused_wrongly", {"declines": 0.9}),
    Fault("answers from memory", "memory", {"memory": 0.35}),
    Fault("answers half", "integration", {"halves": True}),
    Fault("misreads", "reading", {"misreads": 0.35}),
    Fault("flaky", "unstable", {"flaky": 0.5}),
    Fault("crashes", "error", {"crashes": 0.2}),
    Fault("error messages as answers", "error", {"fails": 0.25}),
    Fault("converts units", "units", {"converts": 1.0}),
    Fault("told to be brief", "instruction", {"brief": True}),
    Fault("a guard blocks answers", "guard", {"guards": 0.3}),
    Fault("the prompt is cut", "prompt_cut", {"limit": 2500}, {"gold_end": True}),
    Fault("copies fill the top", "duplicates", {"copies": 3}, {"gold_third": True}),
)
FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _ALL}
PAIRS = (
    ("documents missing", "mixes entities"),
    ("rewriter drops the subject", "answers from memory"),
    ("loses 20% of gold", "always refuses"),
    ("reranker reversed", "misreads"),
    ("ranks gold last", "documents stale"),
    ("k = 1", "crashes"),
)
"""Faults that are planted together."""
