"""Haystack: pipelines. Every open text input that a component requires, and every one that is named like a question,
gets the question; the outputs of all components are read, so that retrieved documents are seen."""

from collections.abc import Awaitable, Callable
from typing import Any

from ragstone.errors import UsageError
from ragstone.systems.outputs import passages_of, response_of
from ragstone.systems.stages import StageRecorder
from ragstone.types import Query, Response

__all__ = ["call_of"]

_QUESTION_NAMES = ("query", "question", "text")


def call_of(pipeline: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a pipeline. Raises UsageError if an input is required that is not a text."""
    inputs: dict[str, list[str]] = {}
    for component, sockets in pipeline.inputs().items():
        for name, socket in sockets.items():
            if socket["is_mandatory"] and socket["type"] is not str and name not in _QUESTION_NAMES:
                raise UsageError(
                    f"The Haystack pipeline requires {component}.{name}, which is not a text: name a function that "
                    f"takes a question and runs the pipeline."
                )
            if socket["is_mandatory"] or name in _QUESTION_NAMES:
                inputs.setdefault(component, []).append(name)
    components = set(pipeline.graph.nodes)

    async def ask(query: Query) -> Response:
        data = {component: dict.fromkeys(names, query.question) for component, names in inputs.items()}
        outputs = await pipeline.run_async(data, include_outputs_from=components)
        recorder = StageRecorder(query.question)
        for output in outputs.values():
            if isinstance(output, dict) and isinstance(output.get("documents"), list):
                passages = passages_of(output["documents"])
                if recorder.fetched:
                    recorder.reranked = list(passages)
                else:
                    recorder.fetch(passages)
            if isinstance(output, dict) and isinstance(output.get("prompt"), str):
                recorder.prompts.append(output["prompt"])
        return recorder.response(response_of(_last_answer(pipeline, outputs)))

    return ask, frozenset()


def _last_answer(pipeline: Any, outputs: dict[str, Any]) -> Any:
    """The outputs with those of the final components first: they have the answer."""
    final = set(pipeline.outputs())
    return dict(sorted(outputs.items(), key=lambda item: item[0] not in final))
