"""What to do next, by rules of thumb: which of context recall, context precision and answer correctness is the low one.

The rules are those of the evaluation-framework seed (its section on optimising by Ragas metrics): low recall speaks
for a gap in the knowledge base, the embedder or the wording of queries; low precision for reranking besides; low
correctness with good retrieval for the prompt, the sampling parameters, the model or its tuning. Faithfulness and
answer relevancy have a rule of our own each. They are named as what they are, and no number is made of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.benchmarks.recorded.aggregate import Scores
from ragstone.stats import Estimate

__all__ = ["BAR", "Advice", "advise", "find"]

BAR = 0.8
_WORST = 10
# What a rule is about → metrics that tell it, the first that was scored.
_TOLD_BY: Mapping[str, tuple[str, ...]] = {
    "recall": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall"),
    "precision": ("context_precision", "ragas.context_precision", "ragchecker.context_precision", "context_relevance"),
    "correctness": ("answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match"),
    "faithfulness": ("faithfulness", "ragas.faithfulness", "groundedness", "ragchecker.faithfulness"),
    "relevancy": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}


@dataclass(frozen=True)
class Advice:
    """One rule that applies. `rule` names it in the words files; `worst` are the samples behind it, the worst first."""

    rule: str
    metric: str
    mean: Estimate
    low: bool
    worst: tuple[tuple[str, float], ...]


def find(metrics: Mapping[str, Scores], about: str) -> str:
    """The metric that tells about this; "" where none was scored."""
    return next((name for name in _TOLD_BY[about] if name in metrics and metrics[name].values), "")


def advise(metrics: Mapping[str, Scores]) -> list[Advice]:
    """The rules that apply, in the order in which to act: retrieval before generation."""
    found: list[Advice] = []
    for about in ("recall", "precision", "correctness", "faithfulness", "relevancy"):
        name = find(metrics, about)
        if not name:
            continue
        mean = metrics[name].mean()
        if mean.value is None or mean.value >= BAR:
            continue
        rule = _of_correctness(metrics, found) if about == "correctness" else about
        low = mean.high is not None and mean.high < BAR
        found.append(Advice(rule, name, mean, low, tuple(metrics[name].worst(_WORST, below=BAR))))
    return found


def _of_correctness(metrics: Mapping[str, Scores], found: list[Advice]) -> str:
    """Wrong answers speak against the model only where the passages are known to hold what an answer needs."""
    if any(one.rule in ("recall", "precision") for one in found):
        return "correctness_too"
    return "correctness" if find(metrics, "recall") else "correctness_alone"
