"""Haystack: pipelines. Every open text input that a component requires, and every one that is named like a question,
gets the question; the outputs of all components are read, so that retrieved documents are seen.

A component that returns documents and takes none retrieves; one that takes some ranks, joins or filters. Their `run` is
wrapped: retrievers can be made to return given passages, which the others pass on, or another number of them. Routers,
and components that answer, run as they are, the pipelines inside of them with the same wrapping.
"""

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, get_args

import networkx  # which Haystack's pipelines are made of
from haystack import Document
from haystack.core.pipeline.base import PipelineBase

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
    has_k,
    interleaved,
    wrap_once,
)
from ragstone.types import Passage, Query, Response

_ANSWERS = ("replies", "answers")
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
    nodes = _wrap(pipeline)
    searches = [node for node in nodes if not _documents_to(node)]
    application = Application(reranks=any(has_k(node["instance"]) for node in nodes if _documents_to(node)))

    async def invoke(question: Asked) -> Response:
        data = {component: dict.fromkeys(names, question.query.question) for component, names in inputs.items()}
        outputs = await pipeline.run_async(data, include_outputs_from=set(order))
        if any(isinstance(outputs.get(name, {}).get("documents"), list) for name in order):
            question.recorder.fetched, question.recorder.reranked = [], []  # in the order of the pipeline, not of time
        for name in order:
            node = {**graph.nodes[name], "graph": graph}
            _record(question.recorder, outputs.get(name, {}), reranks=bool(_documents_to(node)))
        return response_of(_last_answer(pipeline, outputs))

    async def ask(query: Query) -> Response:
        if not query.retrieve_only:
            return await application.answer(query, invoke)
        recorder = StageRecorder(query.question)
        with asking(query, recorder):
            return recorder.search(query, passages_of(await search(searches, query, recorder)))

    return ask, accepts_of(searches)


def accepts_of(searches: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """What an application with these retrieving components takes."""
    accepts = accepted([node["instance"] for node in searches])
    return accepts if all(_can_ask(node) for node in searches) else accepts - {"retrieve"}


def listening(recorder: StageRecorder) -> contextlib.AbstractContextManager[None]:
    """Nothing to do: the wrapped components find the recorder of their context."""
    return contextlib.nullcontext()


def retrievers_of(target: Any) -> list[Mapping[str, Any]]:
    """The retrieving components of the pipelines of an application, with their calls wrapped."""
    pipelines = [item for item in objects_in(target, PipelineBase) if not isinstance(item, type)]
    return [node for item in pipelines for node in _wrap(item) if not _documents_to(node)]


async def search(searches: Sequence[Mapping[str, Any]], query: Query, recorder: StageRecorder) -> list[Document]:
    """What they find for the question as it stands."""
    outputs = await asyncio.gather(*(_ask_alone(node, query.question) for node in searches))
    names = [_documents_from(node)[0] for node in searches]
    found = interleaved([output[name] for name, output in zip(names, outputs, strict=True)])
    recorder.fetched = list(passages_of(found))
    return found


def _wrap(pipeline: Any) -> list[Mapping[str, Any]]:
    """The components that retrieve documents, or take some and return some, wrapped; first ones first."""
    graph = pipeline.graph
    found: list[Mapping[str, Any]] = []
    for name in sorted(graph.nodes, key=lambda name: len(networkx.ancestors(graph, name))):  # it may have loops
        node = {**graph.nodes[name], "graph": graph}
        inner = getattr(node["instance"], "pipeline", None)
        if hasattr(inner, "graph"):
            found += _wrap(inner)
            continue
        documents = len(_documents_from(node)) == 1 and not _decides(node)
        if documents:
            found.append(node)
        wrapper = functools.partial(_wrapped, node=node) if documents else _wrapped_prompt
        for method in ("run", "run_async") if documents or "prompt" in node["output_sockets"] else ():
            if hasattr(node["instance"], method):
                wrap_once(node["instance"], method, wrapper)
    return found


def _decides(node: Mapping[str, Any]) -> bool:
    """Whether a component answers, or takes what it needs for a decision, which may be anything."""
    outputs, inputs = node["output_sockets"], node["input_sockets"].values()
    return any(name in outputs for name in _ANSWERS) or any(socket.type is Any for socket in inputs)


def _documents_from(node: Mapping[str, Any]) -> list[str]:
    """The names of the outputs of a component that are documents."""
    return [name for name, socket in node["output_sockets"].items() if socket.type == list[Document]]


def _documents_to(node: Mapping[str, Any]) -> list[str]:
    """The names of its inputs that are documents, or get some and take anything."""
    nodes, found = node["graph"].nodes, []
    for name, socket in node["input_sockets"].items():
        types = _types(socket.type)
        if Document in types or (Any in types and any(_documents_from(nodes[sender]) for sender in socket.senders)):
            found.append(name)
    return found


def _types(kind: Any) -> list[Any]:
    """The types that a type is made of."""
    return [kind, *(inner for part in get_args(kind) for inner in _types(part))]


def _wrapped(method: Callable[..., Any], *, node: Mapping[str, Any]) -> Callable[..., Any]:
    """The `run` of a component that returns documents."""
    instance = node["instance"]

    def given(question: Asked, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if taken := _documents_to(node):
            lists = inputs.get(taken[0]) or []
            taken_in = [part for item in lists for part in (item if isinstance(item, list) else [item])]
            documents = list({document.id: document for document in taken_in}.values())
            question.passed_on(passages_of(documents), cuts=has_k(instance))
        else:
            searched = inputs.get("query", question.query.question)
            documents = _documents(question.given(instance, str(searched)) or ())
        texts = [document.content for document in documents]
        kinds = {name: socket.type for name, socket in node["output_sockets"].items()}
        return {
            name: documents if kind == list[Document] else texts if kind == list[str] else []
            for name, kind in kinds.items()
        }

    later = bool(_documents_to(node))

    def changed(question: Asked, inputs: Mapping[str, Any]) -> Any:
        if isinstance(searched := inputs.get("query"), str) and not later:
            question.recorder.queries.append(searched)
        return question.with_k(instance, cuts=later)

    def recorded(question: Asked, output: Any) -> Any:
        found = passages_of(output.get(_documents_from(node)[0]) or ())
        if later:
            question.passed_on(found, cuts=has_k(instance))
        else:
            question.recorder.fetch(found)
        return output

    def run(*arguments: Any, **inputs: Any) -> Any:
        question = asked()
        if question is None:
            return method(*arguments, **inputs)
        if question.query.passages is not None:
            return given(question, inputs)
        return recorded(question, method.__func__(changed(question, inputs), *arguments, **inputs))  # type: ignore[attr-defined]

    async def run_async(*arguments: Any, **inputs: Any) -> Any:
        question = asked()
        if question is None:
            return await method(*arguments, **inputs)
        if question.query.passages is not None:
            return given(question, inputs)
        return recorded(question, await method.__func__(changed(question, inputs), *arguments, **inputs))  # type: ignore[attr-defined]

    return run_async if inspect.iscoroutinefunction(method) else run


def _wrapped_prompt(method: Callable[..., Any]) -> Callable[..., Any]:
    """The `run` of a component that makes a prompt: a text, or messages."""

    def recorded(output: Any) -> Any:
        prompt, question = output.get("prompt"), asked()
        if question is not None and prompt:
            parts = [prompt] if isinstance(prompt, str) else [str(getattr(message, "text", "")) for message in prompt]
            question.recorder.prompts.append("\n".join(parts))
        return output

    def run(*arguments: Any, **inputs: Any) -> Any:
        return recorded(method(*arguments, **inputs))

    async def run_async(*arguments: Any, **inputs: Any) -> Any:
        return recorded(await method(*arguments, **inputs))

    return run_async if inspect.iscoroutinefunction(method) else run


def _documents(passages: Sequence[Passage]) -> list[Document]:
    return [Document(id=passage.id, content=passage.text, meta=dict(passage.meta)) for passage in passages]


def _mandatory(node: Mapping[str, Any]) -> dict[str, Any]:
    return {name: socket for name, socket in node["input_sockets"].items() if socket.is_mandatory}


def _can_ask(node: Mapping[str, Any]) -> bool:
    """Whether all inputs that a retriever requires are texts or the embedding of one."""
    sockets = _mandatory(node).values()
    return all(socket.type in (str, list[str]) or _embedder(node, socket) is not None for socket in sockets)


def _embedder(node: Mapping[str, Any], socket: Any) -> Mapping[str, Any] | None:
    """The component that embeds a text for this input."""
    for sender in socket.senders:
        embedder: Mapping[str, Any] = node["graph"].nodes[sender]
        if "text" in embedder["input_sockets"] and "embedding" in embedder["output_sockets"]:
            return embedder
    return None


async def _ask_alone(node: Mapping[str, Any], question: str) -> Any:
    inputs: dict[str, Any] = {}
    for name, socket in _mandatory(node).items():
        if (embedder := _embedder(node, socket)) is not None:
            inputs[name] = (await _run(embedder, {"text": question}))["embedding"]
        else:
            inputs[name] = [question] if socket.type == list[str] else question
    return await _run(node, inputs)


async def _run(node: Mapping[str, Any], inputs: Mapping[str, Any]) -> Any:
    instance = node["instance"]
    if hasattr(instance, "warm_up"):
        instance.warm_up()
    if getattr(instance, "__haystack_supports_async__", False):
        return await instance.run_async(**inputs)
    return await asyncio.to_thread(instance.run, **inputs)


def _record(recorder: StageRecorder, output: Mapping[str, Any], *, reranks: bool) -> None:
    """Records what a component returned. One that takes documents and returns documents ranks, joins or filters."""
    documents = output.get("documents")
    if isinstance(documents, list):
        (recorder.rerank if reranks else recorder.fetch)(passages_of(documents))
    for item in [*(output.get("meta") or ()), *(getattr(reply, "meta", None) for reply in output.get("replies") or ())]:
        recorder.count(item.get("usage") if isinstance(item, Mapping) else None)


def _last_answer(pipeline: Any, outputs: dict[str, Any]) -> Any:
    """The outputs with those of the final components first: they have the answer."""
    final = set(pipeline.outputs())
    return dict(sorted(outputs.items(), key=lambda item: item[0] not in final))
