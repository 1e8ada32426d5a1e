"""A wrapper that rejects systems that retrieve for themselves."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.systems.accepted import accepts_of
from ragstone.systems.wrapper import Wrapper
from ragstone.types import Passage, Query, Response, System


class GivenPassages(Wrapper):
    """Passes queries to `inner`. Raises UsageError if that retrieves for itself: it declares so (`accepts`
    without "passages"), or it returns passages of which none was given. After the first such answer it is not called
    again."""

    def __init__(self, inner: System, benchmark: str) -> None:
        self.inner, self._refused = inner, ""
        self._reason = (
            f"The system {inner.id} retrieves for itself, but {benchmark} must hand it the passages: what it measures "
            "is how these passages are used. Evaluate the part that answers from given passages (a function with a "
            "parameter `passages`, an address with {passages} in its body), or the whole system with `ragstone run`"
        )
        if "passages" not in accepts_of(inner):
            raise UsageError(f"{self._reason}.")

    async def answer(self, query: Query, /) -> Response:
        if not self._refused:
            response = _with_given_ids(await self.inner.answer(query), query.passages or ())
            given = {passage.id for passage in query.passages or ()}
            if not response.passages or any(passage.id in given for passage in response.passages):
                return response
            self._refused = (
                f"{self._reason} (it returned the passage {response.passages[0].id!r}, which it was not given)."
            )
        raise UsageError(self._refused)


def _with_given_ids(response: Response, given: Sequence[Passage]) -> Response:
    """The response with the ids of the given passages: systems that are given texts return texts."""
    ids = {passage.text: passage.id for passage in reversed(given)}
    passages = [replace(passage, id=ids.get(passage.text, passage.id)) for passage in response.passages]
    return replace(response, passages=tuple(passages))
