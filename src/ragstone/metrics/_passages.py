"""The passages that an answer was made from."""

from ragstone.types import Case, Passage, Response

__all__ = ["NOTHING_RETRIEVED", "NO_PASSAGES", "recorded", "retrieved"]

NO_PASSAGES = "there are no passages"
NOTHING_RETRIEVED = "nothing was retrieved"


def retrieved(case: Case, response: Response) -> tuple[Passage, ...]:
    """The passages that the answer was made from, in order: what the system returned, else what it was given."""
    return response.passages or case.query.passages or ()


def recorded(case: Case, response: Response) -> bool:
    """Whether it is known what was retrieved: passages, or that there were none. Metrics of retrieval score 0 where
    nothing was retrieved, and do not apply where nobody recorded it."""
    return response.empty_retrieval or bool(retrieved(case, response))
