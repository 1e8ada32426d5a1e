"""The words between a judge and the metrics: claims, verdicts on them, and the judge that gives both."""

from collections.abc import Mapping
from typing import Any, Protocol

from ragstone.errors import RagstoneError
from ragstone.types import Case, Frozen, Response, Usage

__all__ = [
    "AnswerClaim", "Judge", "JudgeFailed", "Judged", "PassageVerdict", "ReferenceClaim", "Similarities",
]  # fmt: skip


class AnswerClaim(Frozen, frozen=True):
    """A claim of the answer. `sentence` is its place in `Judged.sentences`, from 1; `relevant`: it helps to answer the
    question. Passages are named by their places, from 1. `in_reference` None: there is no reference."""

    id: int
    text: str
    sentence: int = 0
    relevant: bool = True
    supported_by: tuple[int, ...] = ()
    contradicted_by: tuple[int, ...] = ()
    in_reference: bool | None = None
    quote: str = ""


class ReferenceClaim(Frozen, frozen=True):
    """A claim of the reference. `in_answer` None: the answer makes no claim."""

    id: int
    text: str
    supported_by: tuple[int, ...] = ()
    contradicted_by: tuple[int, ...] = ()
    in_answer: bool | None = None
    quote: str = ""


class PassageVerdict(Frozen, frozen=True):
    """`id` is the passage's place, from 1. `relevant` to the question; `useful` to reach the reference (None: none)."""

    id: int
    relevant: bool
    useful: bool | None = None


class Judged(Frozen, frozen=True):
    """What a judge found in a sample. Before `verify` no claim has a verdict and `passages` is empty. `steps` is one
    JSON object for each request to the judge, for `evidence["verdicts"]`."""

    answer_claims: tuple[AnswerClaim, ...] = ()
    reference_claims: tuple[ReferenceClaim, ...] = ()
    questions: tuple[str, ...] = ()
    noncommittal: bool = False
    passages: tuple[PassageVerdict, ...] = ()
    steps: tuple[dict[str, Any], ...] = ()
    sentences: tuple[str, ...] = ()


class Similarities(Frozen, frozen=True):
    """Cosines: of the question and each question made of the answer; of the answer and the reference."""

    questions: tuple[float, ...] = ()
    answer: float | None = None


class JudgeFailed(RagstoneError):
    """A judge gave no usable verdicts. `steps` holds what it was asked and replied."""

    exit_code = 3

    def __init__(self, message: str, steps: tuple[dict[str, Any], ...] = ()) -> None:
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
