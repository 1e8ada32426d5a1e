"""The system of a construction: a chat model that is given the prompt of a step and replies in its shape."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.construction.builders.steps import UNUSABLE, Step, prompt_of, task_of
from ragstone.construction.builders.template_model import TEMPLATE_MODEL, TemplateModel
from ragstone.engine.systems_and_metrics import OpensItself
from ragstone.errors import ContentBlocked
from ragstone.models import ModelOptions, open_model
from ragstone.retrieval.llm_ranking import parse_reply
from ragstone.structs import to_json
from ragstone.types import Completion, Model, Query, Request, Response, Sampling, Turn, Usage

LONGEST = 4096
"""Maximum tokens of a reply, reasoning included."""
_ATTEMPTS = 2
_QUOTED = 4_000  # characters of an unusable reply that are sent back to the model


@dataclass(frozen=True)
class BuildingTarget(OpensItself):
    """A `BuildingModel` before its model is opened: what a worker of a cluster is sent."""

    model: str | Model
    steps: Mapping[str, Step]

    @contextlib.asynccontextmanager
    async def open(self, options: ModelOptions) -> "AsyncIterator[BuildingModel]":
        """The system, with its model open."""
        if self.model == TEMPLATE_MODEL:
            yield BuildingModel(TemplateModel(), self.steps)
            return
        async with open_model(self.model, options) as model:
            yield BuildingModel(model, self.steps)


class BuildingModel:
    """Replies to the tasks of `steps` with `model`. An unusable reply is requested once more with its problem named;
    the second one becomes the reason for which the item is rejected."""

    accepts: ClassVar[frozenset[str]] = frozenset({"passages", "language"})

    def __init__(self, model: Model, steps: Mapping[str, Step]) -> None:
        self._model, self._steps = model, steps

    @property
    def id(self) -> str:
        return self._model.id

    @property
    def spec(self) -> Mapping[str, Any]:
        """The model. The prompts are settings of the construction: both models have the same."""
        return {"kind": "builder", "model": self._model.id}

    async def answer(self, query: Query, /) -> Response:
        """The reply as JSON. Raises the errors of a model call; a blocked content rejects its item."""
        name, shown = task_of(query)
        step, prompt = self._steps[name], prompt_of(name, query.language)
        turns, usage, problem = prompt.turns(shown), Usage(), ""
        for _ in range(_ATTEMPTS):
            sampling = Sampling(temperature=0.0 if not query.repeat else 0.7, max_tokens=LONGEST)
            request = Request(turns, sampling, schema=step.schema, schema_name=name, sample=query.repeat)
            try:
                completion = await self._model.generate(request)
            except ContentBlocked as error:
                return Response(str(error), usage=usage, finish_reason=UNUSABLE, model=self.id)
            usage += completion.usage
            reply, problem = parse_reply(completion, step.kind)
            if reply is not None and not (problem := step.check(shown, reply)):
                return self._response(to_json(reply), usage, completion)
            again = prompt.again.replace("{problem}", problem)
            turns = (*turns, Turn("assistant", completion.text.strip()[:_QUOTED] or "…"), Turn("user", again))
        return Response(problem, usage=usage, finish_reason=UNUSABLE, model=completion.model)

    @staticmethod
    def _response(text: str, usage: Usage, completion: Completion) -> Response:
        return Response(
            text, usage=usage, seconds=completion.seconds, reasoning=completion.reasoning,
            finish_reason=completion.finish_reason, model=completion.model,
        )  # fmt: skip
