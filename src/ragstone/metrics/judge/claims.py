"""The words between a judge and the metrics: the judge that gives claims and verdicts (`record`), and its failure."""

from collections.abc import Mapping
from typing import Any, Protocol

from ragstone.errors import RagstoneError
from ragstone.metrics.judge.record import Judged, JudgeStep
from ragstone.structs import Frozen
from ragstone.types import Case, Response, Usage


class Similarities(Frozen, frozen=True):
    """Cosines: of the question and each question made of the answer; of the answer and the reference, and of the answer
    and each further alternative."""

    questions: tuple[float, ...] = ()
    answer: float | None = None
    others: tuple[float, ...] = ()


class JudgeFailed(RagstoneError):
    """A judge gave no usable verdicts. `steps` holds what it was asked and replied."""

    exit_code = 3

    def __init__(self, message: str, steps: tuple[JudgeStep, ...] = ()) -> None:
        super().__init__(message)
        self.steps = steps


class Judge(Protocol):
    """Gives claims and verdicts, each asked for once a sample however many metrics want them. Raises JudgeFailed."""

    @property
    def spec(self) -> Mapping[str, Any]: ...
    async def decompose(self, case: Case, response: Response, /) -> Judged: ...
    async def verify(self, case: Case, response: Response, /) -> Judged: ...
    async def similarities(self, case: Case, response: Response, /) -> Similarities: ...
    def estimate(self, case: Case, response: Response, /, *, steps: frozenset[str]) -> Usage: ...
