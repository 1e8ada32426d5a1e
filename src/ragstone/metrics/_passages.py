"""The passages that an answer was made from."""

from ragstone.types import Case, Passage, Response

__all__ = ["NO_PASSAGES", "retrieved"]

NO_PASSAGES = "there are no passages"


def retrieved(case: Case, response: Response) -> tuple[Passage, ...]:
    """The passages that the answer was made from, in order: what the system returned, else what it was given.

    A system that retrieved nothing looks like one whose passages were not recorded; metrics score neither."""
    return response.passages or case.query.passages or ()
