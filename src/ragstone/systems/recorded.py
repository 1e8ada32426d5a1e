"""A system that replays recorded answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ragstone.errors import SystemFailed, UsageError
from ragstone.types import Query, Response


@dataclass(frozen=True)
class Recorded:
    """Replays `answers`: row of the data → response. A query selects its row by `repeat`, because a question may have
    several answers. `errors`: row → why the system gave no answer. `sha256` is the hash of the data and part of the
    spec."""

    repeatable: ClassVar[bool] = True
    id: str
    answers: Mapping[int, Response] = field(repr=False)
    sha256: str = ""
    errors: Mapping[int, str] = field(default_factory=dict, repr=False)

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "recorded", "data": self.sha256}

    async def answer(self, query: Query, /) -> Response:
        """The recorded response. Raises SystemFailed for a recorded error, UsageError for a row without either."""
        if error := self.errors.get(query.repeat):
            raise SystemFailed("raised", error, recorded=True)
        try:
            return self.answers[query.repeat]
        except KeyError:
            raise UsageError(f"Row {query.repeat} of {self.id} has no recorded answer.") from None
