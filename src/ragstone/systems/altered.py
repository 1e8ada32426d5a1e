"""A system with one part changed from outside: what it is given, how many passages, in which order, how it searches."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.responses.stages import stage_step
from ragstone.systems.accepted import accepts_of
from ragstone.types import Query, Response, System

_NUMBER = r"[1-9]\d{0,3}"
_WORDS = {_NUMBER: "a whole number from 1"}
CHANGES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "k": (("k",), _NUMBER),
    "top": (("passages",), _NUMBER),
    "order": (("passages",), "reversed"),
    "rewriting": (("passages", "retrieve"), "off"),
}
"""Name of a change → what the system must accept, and the values (a pattern): `k=10`, `top=3` (only the first of its
own passages), `order=reversed`, `rewriting=off` (the search for the question as asked)."""


def check_change(name: str, value: str, accepts: frozenset[str] | None = None) -> None:
    """Raises UsageError for a change that does not exist or that a system with these `accepts` does not allow."""
    if name not in CHANGES:
        raise UsageError(f"{name}={value} cannot be changed from outside. Possible: {', '.join(CHANGES)}.")
    takes, values = CHANGES[name]
    if not re.fullmatch(values, value):
        raise UsageError(f"{name}={value}: expected {_WORDS.get(values, values)}.")
    if accepts is not None and (lacking := [need for need in takes if need not in accepts]):
        raise UsageError(f"{name}={value} needs a system that takes {' and '.join(lacking)}.")


class Altered:
    """`inner` with a change of `CHANGES`. Raises UsageError if the system does not allow it."""

    def __init__(self, inner: System, name: str, value: str) -> None:
        check_change(name, value, accepts_of(inner))
        self.inner, self._name, self._value = inner, name, value
        self.accepts = accepts_of(inner)

    @property
    def id(self) -> str:
        return f"{self.inner.id} + {self._name}={self._value}"

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "altered", "change": {self._name: self._value}, "of": dict(self.inner.spec)}

    async def answer(self, query: Query, /) -> Response:
        if query.passages is not None or query.retrieve_only:
            return await self.inner.answer(query)
        if self._name == "k":
            return await self.inner.answer(replace(query, k=int(self._value)))
        if self._name == "rewriting":
            found = await self.inner.answer(replace(query, retrieve_only=True))
        else:
            found = await self.inner.answer(query)
        passages = tuple(replace(passage, relevant=None) for passage in found.passages)
        if self._name == "top":
            passages = passages[: int(self._value)]
        elif self._name == "order":
            passages = passages[::-1]
        if self._name != "rewriting" and passages == found.passages:
            return found
        answered = await self.inner.answer(replace(query, passages=passages))
        steps = [step for step in found.steps if step.name != "prompt"]
        return replace(answered, passages=passages, steps=(*steps, stage_step("prompt", passages)))
