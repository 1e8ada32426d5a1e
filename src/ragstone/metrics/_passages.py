"""The passages that an answer was made from."""

from ragstone.types import Case, Passage, Response

NO_PASSAGES = "there are no passages"
NOTHING_RETRIEVED = "nothing was retrieved"


def retrieved(case: Case, response: Response) -> tuple[Passage, ...]:
    """The passages that the answer was made from, in order: what the system returned, else what it was given."""
    return response.passages or case.query.passages or ()


def recorded(case: Case, response: Response) -> bool:
    """Whether the run records what was retrieved: passages, or that there were none. Metrics of retrieval are 0 if
    nothing was retrieved, and do not apply if retrieval was not recorded."""
    return response.empty_retrieval or bool(retrieved(case, response))
