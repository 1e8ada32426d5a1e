"""What a run is going to do: its cases by system and cell, its long prompts, and the work of its retrievers."""

from ragstone.structs import Frozen, Scalar


class PlanCell(Frozen, frozen=True):
    """Planned and recorded cases of one condition. `condition` holds only the axes of the benchmark's grid."""

    condition: dict[str, Scalar]
    total: int
    asked: int = 0


class Plan(Frozen, frozen=True):
    """The planned cases of one system, over all commands on a run. Of `total` cases, `asked` have a record, of which
    `failed` are errors; `cells` is the grid; `unscored` counts, by metric, the answers that still lack that score,
    `failed_scores` those whose score failed."""

    total: int
    asked: int = 0
    failed: int = 0
    cells: tuple[PlanCell, ...] = ()
    unscored: dict[str, int] = {}
    failed_scores: dict[str, int] = {}

    @property
    def unfinished(self) -> bool:
        """Whether cases remain to be asked or answers to be scored."""
        return self.asked < self.total or bool(self.unscored)

    def scored(self, metric: str) -> int:
        """Number of answers with a score of this metric that did not fail."""
        return self.asked - self.failed - self.unscored.get(metric, 0) - self.failed_scores.get(metric, 0)


class RetrievalCost(Frozen, frozen=True):
    """Work that the retrievers of a run need from one model: `tokens` to embed, or `requests` with `tokens` of prompts
    in total. Retrievers with the same `key` over one pool share it, because vectors and replies are cached."""

    model: str
    tokens: int
    requests: int = 0
    key: str = ""


class RequestPlan(Frozen, frozen=True):
    """How to send long prompts so that they share prefixes: at least `window` tokens of context, and `lanes` sequences
    of cases in parallel, each in order."""

    window: int
    lanes: int
