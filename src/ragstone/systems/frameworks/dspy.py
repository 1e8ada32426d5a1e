"""DSPy: modules. The question goes into the field of that name, or into the first input field that is a text; a field
named like passages gets the passages, if a benchmark hands them over. Its callbacks tell the models' prompts."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ragstone.errors import UsageError
from ragstone.responses.outputs import response_of
from ragstone.responses.stages import StageRecorder
from ragstone.types import Query, Response

__all__ = ["call_of"]

_PASSAGE_FIELDS = ("passages", "contexts", "context", "documents")


def call_of(module: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a module. Raises UsageError if it has no input field for a question."""
    names = _input_names(module)
    passages = next((name for name in names if name in _PASSAGE_FIELDS), "")
    questions = [name for name in names if name != passages]
    if not questions:
        raise UsageError(f"The DSPy module {type(module).__name__} has no input field for a question.")
    question = "question" if "question" in questions else questions[0]

    async def ask(query: Query) -> Response:
        values: dict[str, Any] = {question: query.question}
        if passages and query.passages is not None:
            values[passages] = [passage.text for passage in query.passages]
        recorder = StageRecorder(query.question)
        callbacks = [*dspy.settings.callbacks, _Callbacks(recorder)]
        with dspy.context(callbacks=callbacks), dspy.track_usage() as tracker:
            prediction = await asyncio.to_thread(module, **values)
        for entries in tracker.usage_data.values():
            for entry in entries:
                recorder.count(entry)
        return recorder.response(response_of(prediction))

    return ask, frozenset({"passages"} if passages else ())


class _Callbacks(BaseCallback):
    """Records the prompts of one call."""

    def __init__(self, recorder: StageRecorder) -> None:
        self._recorder = recorder

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        messages = inputs.get("messages") or [{"content": inputs.get("prompt") or ""}]
        self._recorder.prompts.append("\n".join(str(message.get("content", "")) for message in messages))


def _input_names(module: Any) -> list[str]:
    parameters = inspect.signature(module.forward).parameters.values()
    named = [item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)]
    if named:
        return named
    predictors = [predictor for _, predictor in module.named_predictors()]
    return list(predictors[0].signature.input_fields) if predictors else []
