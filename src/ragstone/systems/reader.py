"""The simplest RAG system: a chat model with a template that turns question and passages into messages."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ragstone.types import Model, Query, Request, Response, Sampling, Template


class Reader:
    """Calls `model` with the messages that `template` builds from a query.

    sampling: None for the template's, which the protocol publishes. id: None for the model's.
    endpoint: address of the model if it is not its provider's; the same name at another address is another system.
    """

    accepts = frozenset({"passages", "history", "language"})
    counted = True  # by its model

    def __init__(
        self,
        model: Model,
        template: Template,
        sampling: Sampling | None = None,
        id: str | None = None,  # noqa: A002  (the name that every system has it under)
        *,
        endpoint: str = "",
    ) -> None:
        self.model, self.template, self.endpoint = model, template, endpoint
        self.sampling = template.sampling if sampling is None else sampling
        self._id = id

    def __repr__(self) -> str:
        return f"Reader({self.id!r}, template {self.template.name!r})"

    @property
    def id(self) -> str:
        return self.model.id if self._id is None else self._id

    @property
    def spec(self) -> Mapping[str, Any]:
        """All settings that affect the answers."""
        spec = {
            "kind": "reader",
            "model": self.model.id,
            "template": dict(self.template.spec),
            "sampling": msgspec.to_builtins(self.sampling),
        }
        return {**spec, "endpoint": self.endpoint} if self.endpoint else spec

    async def answer(self, query: Query, /) -> Response:
        """The model's reply, with its reasoning in a separate field. The response does not repeat the query's passages.
        Raises the errors of a model call."""
        request = Request(messages=tuple(self.template.messages(query)), sampling=self.sampling, sample=query.repeat)
        completion = await self.model.generate(request)
        return Response(
            answer=completion.text,
            usage=completion.usage,
            seconds=completion.seconds,
            reasoning=completion.reasoning,
            finish_reason=completion.finish_reason,
            model=completion.model,
        )
