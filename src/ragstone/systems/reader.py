"""The plainest RAG system: a model, and a template that puts the question and its passages into messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ragstone.types import Model, Query, Request, Response, Sampling, Template

__all__ = ["Reader"]


@dataclass(frozen=True)
class Reader:
    """Asks `model` with the messages that `template` makes of a query.

    sampling: None for the template's own, which a protocol publishes. name: the system's id; "" for the model's.
    endpoint: where the model is, if not at its provider's own address: the same name elsewhere is another system.
    Raises the errors of a model call.
    """

    model: Model
    template: Template
    sampling: Sampling | None = None
    name: str = ""
    endpoint: str = ""

    @property
    def id(self) -> str:
        return self.name or self.model.id

    @property
    def spec(self) -> Mapping[str, Any]:
        """Everything that makes the answers what they are."""
        spec = {
            "kind": "reader",
            "model": self.model.id,
            "template": dict(self.template.spec),
            "sampling": msgspec.to_builtins(self._sampling),
        }
        return {**spec, "endpoint": self.endpoint} if self.endpoint else spec

    @property
    def _sampling(self) -> Sampling:
        return self.template.sampling if self.sampling is None else self.sampling

    async def answer(self, query: Query, /) -> Response:
        """The model's reply, with its reasoning apart. The passages are the query's, so they are not repeated."""
        request = Request(messages=tuple(self.template.messages(query)), sampling=self._sampling, sample=query.repeat)
        completion = await self.model.generate(request)
        return Response(
            answer=completion.text,
            usage=completion.usage,
            seconds=completion.seconds,
            reasoning=completion.reasoning,
            finish_reason=completion.finish_reason,
            model=completion.model,
        )
