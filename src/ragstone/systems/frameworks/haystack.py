"""Haystack: pipelines. Every open text input that a component requires, and every one that is named like a question,
gets the question; the outputs of all components are read, so that retrieved documents are seen."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import networkx  # which Haystack's pipelines are made of

from ragstone.errors import UsageError
from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import StageRecorder
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
    graph = pipeline.graph
    order = sorted(graph.nodes, key=lambda name: len(networkx.ancestors(graph, name)))  # it may have loops

    async def ask(query: Query) -> Response:
        data = {component: dict.fromkeys(names, query.question) for component, names in inputs.items()}
        outputs = await pipeline.run_async(data, include_outputs_from=set(order))
        recorder = StageRecorder(query.question)
        for name in order:
            _record(recorder, outputs.get(name, {}), reranks="documents" in graph.nodes[name]["input_sockets"])
        return recorder.response(response_of(_last_answer(pipeline, outputs)))

    return ask, frozenset()


def _record(recorder: StageRecorder, output: Mapping[str, Any], *, reranks: bool) -> None:
    """Records what a component returned. One that takes documents and returns documents ranks, joins or filters."""
    documents, prompt = output.get("documents"), output.get("prompt")
    if isinstance(documents, list):
        (recorder.rerank if reranks else recorder.fetch)(passages_of(documents))
    if isinstance(prompt, str):
        recorder.prompts.append(prompt)
    elif isinstance(prompt, list):
        recorder.prompts.append("\n".join(str(getattr(message, "text", "")) for message in prompt))
    for item in [*(output.get("meta") or ()), *(getattr(reply, "meta", None) for reply in output.get("replies") or ())]:
        recorder.count(item.get("usage") if isinstance(item, Mapping) else None)


def _last_answer(pipeline: Any, outputs: dict[str, Any]) -> Any:
    """The outputs with those of the final components first: they have the answer."""
    final = set(pipeline.outputs())
    return dict(sorted(outputs.items(), key=lambda item: item[0] not in final))
