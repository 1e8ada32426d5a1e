"""DSPy: modules. The question goes into the field of that name, or into the first input field that is a text; a field
named like passages gets the passages, if a benchmark hands them over. Its callbacks tell the models' prompts.

Its retrievers (`dspy.Retrieve`, `dspy.Embeddings`, `dspy.ColBERTv2`) can be made to return given passages or another
number of them, and are asked alone (`interception.py`). A search that is a function of the user's own is not known to
be one.
"""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ragstone.errors import UsageError
from ragstone.responses.outputs import response_of
from ragstone.responses.returned_passages import passages_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.holdings import objects_in
from ragstone.systems.frameworks.interception import (
    Application,
    Asked,
    accepted,
    asked,
    asking,
    interleaved,
    wrap_once,
)
from ragstone.types import Query, Response

_KINDS = (dspy.Retrieve, dspy.Embeddings, dspy.ColBERTv2)
_PASSAGE_FIELDS = ("passages", "contexts", "context", "documents")


def call_of(module: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a module. Raises UsageError if it has no input field for a question."""
    names = _input_names(module)
    passages = next((name for name in names if name in _PASSAGE_FIELDS), "")
    questions = [name for name in names if name != passages]
    if not questions:
        raise UsageError(f"The DSPy module {type(module).__name__} has no input field for a question.")
    question = "question" if "question" in questions else questions[0]

    retrievers = retrievers_of(module)
    application = Application()

    async def invoke(context: Asked) -> Response:
        query, recorder = context.query, context.recorder
        values: dict[str, Any] = {question: query.question}
        if passages and query.passages is not None:
            values[passages] = [passage.text for passage in query.passages]
            context.hand_out(passages)
        with listening(recorder):
            return response_of(await asyncio.to_thread(module, **values))

    async def ask(query: Query) -> Response:
        if not query.retrieve_only:
            return await application.answer(query, invoke)
        recorder = StageRecorder(query.question)
        with asking(query, recorder):
            return recorder.search(query, passages_of(await search(retrievers, query, recorder)))

    return ask, accepts_of(retrievers).union({"passages"} if passages else ())


def accepts_of(retrievers: Sequence[Any]) -> frozenset[str]:
    """What an application with these retrievers takes."""
    return accepted(retrievers, {"k"} if any(isinstance(item, dspy.ColBERTv2) for item in retrievers) else ())


@contextlib.contextmanager
def listening(recorder: StageRecorder) -> Iterator[None]:
    """The context in which models tell their prompts and tokens."""
    with dspy.context(callbacks=[*dspy.settings.callbacks, _Callbacks(recorder)]), dspy.track_usage() as tracker:
        yield
    for entries in tracker.usage_data.values():
        for entry in entries:
            recorder.count(entry)


async def search(retrievers: Sequence[Any], query: Query, recorder: StageRecorder) -> list[Any]:
    """What the retrievers find for the question as it stands."""
    objects = [item for item in retrievers if not isinstance(item, type)]
    found = await asyncio.gather(*(asyncio.to_thread(item, query.question) for item in objects))
    return interleaved([_texts(item) for item in found])


def retrievers_of(target: Any) -> list[Any]:
    """The retrievers of an application, with their calls wrapped."""
    for kind in _KINDS:
        wrap_once(kind, "__call__", _wrapped)
    return objects_in(target, *_KINDS)


def _wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    def search(self: Any, query: str, *arguments: Any, **named: Any) -> Any:
        question = asked()
        if question is None:
            return method(self, query, *arguments, **named)
        if (given := question.given(self, query)) is not None:
            return _found(self, [passage.text for passage in given], simplify=bool(named.get("simplify")))
        if question.query.k is not None and not question.inner:
            arguments, named = (), {name: value for name, value in named.items() if name != "k"}
            if isinstance(self, dspy.ColBERTv2):
                named["k"] = question.query.k
        with question.searching():
            found = method(_with_k(question, self), query, *arguments, **named)
        if not question.inner:
            question.recorder.queries.append(query)
            question.recorder.fetch(passages_of(_texts(found)))
        return found

    return search


def _found(retriever: Any, texts: list[str], *, simplify: bool) -> Any:
    """Given passages as a retriever returns them."""
    if not isinstance(retriever, dspy.ColBERTv2):
        return dspy.Prediction(passages=texts)
    return texts if simplify else [dspy.Prediction(text=text, long_text=text) for text in texts]


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
