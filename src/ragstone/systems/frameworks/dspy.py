"""DSPy: modules. The question goes into the field of that name, or into the first input field that is a text; a field
named like passages gets the passages, if a benchmark hands them over. Its callbacks tell the models' prompts.

Its retrievers (`dspy.Retrieve`, `dspy.Embeddings`) can be made to return given passages or another number of them, and
are asked alone (`interception.py`).
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ragstone.errors import UsageError
from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.interception import Asked, accepted, asked, asking, interleaved, objects_in, wrap_once
from ragstone.types import Query, Response

_PASSAGE_FIELDS = ("passages", "contexts", "context", "documents")


def call_of(module: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a module. Raises UsageError if it has no input field for a question."""
    names = _input_names(module)
    passages = next((name for name in names if name in _PASSAGE_FIELDS), "")
    questions = [name for name in names if name != passages]
    if not questions:
        raise UsageError(f"The DSPy module {type(module).__name__} has no input field for a question.")
    question = "question" if "question" in questions else questions[0]

    retrievers = _retrievers(module)

    async def ask(query: Query) -> Response:
        recorder = StageRecorder(query.question)
        if query.retrieve_only:
            with asking(query, recorder):
                objects = [item for item in retrievers if not isinstance(item, type)]
                found = await asyncio.gather(*(asyncio.to_thread(item, query.question) for item in objects))
            return recorder.search(query, passages_of(interleaved([_texts(item) for item in found])))
        values: dict[str, Any] = {question: query.question}
        if passages and query.passages is not None:
            values[passages] = [passage.text for passage in query.passages]
        callbacks = [*dspy.settings.callbacks, _Callbacks(recorder)]
        with dspy.context(callbacks=callbacks), dspy.track_usage() as tracker, asking(query, recorder) as context:
            prediction = await asyncio.to_thread(module, **values)
        for entries in tracker.usage_data.values():
            for entry in entries:
                recorder.count(entry)
        response = response_of(prediction)
        return recorder.response(response) if passages else context.response(response)

    return ask, accepted(retrievers, {"passages"} if passages else ())


def _retrievers(module: Any) -> list[Any]:
    """The retrievers of a module, with their calls wrapped."""
    kinds = (dspy.Retrieve, dspy.Embeddings)
    for kind in kinds:
        wrap_once(kind, "__call__", _wrapped)
    return objects_in(module, *kinds)


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    def search(self: Any, query: str, *arguments: Any, **named: Any) -> Any:
        question = asked()
        if question is None:
            return method(self, query, *arguments, **named)
        if (given := question.given(self, query)) is not None:
            return dspy.Prediction(passages=[passage.text for passage in given])
        if question.query.k is not None:
            arguments, named = (), {name: value for name, value in named.items() if name != "k"}
        with question.searching():
            found = method(_with_k(question, self), query, *arguments, **named)
        if not question.inner:
            question.recorder.queries.append(query)
            question.recorder.fetch(passages_of(_texts(found)))
        return found

    return search


def _with_k(question: Asked, retriever: Any) -> Any:
    """The retriever, or a copy with the question's number of passages. `dspy.Embeddings` searches in batches, by a
    thread that belongs to the original; the copy searches by itself."""
    changed = question.with_k(retriever)
    if changed is not retriever and hasattr(changed, "search_fn"):
        changed.search_fn = lambda query: changed._batch_forward([query])[0]
    return changed


def _texts(found: Any) -> list[Any]:
    """The passages of a prediction, or of a list of such."""
    return list(getattr(found, "passages", found))


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
