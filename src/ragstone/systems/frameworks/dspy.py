"""DSPy: modules. The question goes into the field of that name, or into the first input field that is a text; a field
named like passages gets the passages, if a benchmark hands them over."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from ragstone.errors import UsageError
from ragstone.systems.outputs import response_of
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
        prediction = await asyncio.to_thread(module, **values)
        return response_of(prediction)

    return ask, frozenset({"passages"} if passages else ())


def _input_names(module: Any) -> list[str]:
    parameters = inspect.signature(module.forward).parameters.values()
    named = [item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)]
    if named:
        return named
    predictors = [predictor for _, predictor in module.named_predictors()]
    return list(predictors[0].signature.input_fields) if predictors else []
