"""Reads what a user's system returned: text, a mapping, or an object of a framework with such fields.

The fields are those that applications and frameworks use: `answer`, `output` or `result` for the answer; `contexts`,
`documents`, `source_nodes` and others for the passages, each of them a text, a mapping or a document object; and
`stages`, a mapping of the passages that were fetched, reranked and put into the prompt. LangChain, LlamaIndex, Haystack
and DSPy need no import for this, because their objects have fields of these names.
"""

import dataclasses
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.errors import SystemFailed
from ragstone.responses.prompt_parts import LONGEST_PROMPT, parts_in, shortened
from ragstone.types import Passage, Response, Step, Usage

LONGEST_ANSWER = 1_000_000  # characters; a longer one is a bug of the system, and would fill the run file

STATE = "state"
"""The step that says which of several texts in the final state of a graph was taken as the answer."""

_ANSWERS = (
    "answer", "output", "result", "response", "text", "content", "output_text", "reply", "generation", "completion",
    "replies", "answers",
)  # fmt: skip
_PASSAGES = (
    "contexts", "context", "documents", "docs", "source_documents", "source_nodes", "sources", "passages",
    "retrieved_contexts", "retrieved_documents", "retrieved_passages", "chunks",
)  # fmt: skip
_TEXTS = ("text", "content", "page_content", "passage", "body", "chunk", "snippet")
_IDS = ("id", "id_", "node_id", "doc_id", "document_id", "chunk_id", "_id", "source", "url", "path", "file_name")
_METADATA = ("metadata", "meta")
_STAGES = {
    "rewrite": ("rewrite", "rewritten", "query", "queries"),
    "fetch": ("fetch", "fetched", "retrieve", "retrieved"),
    "rerank": ("rerank", "reranked"),
    "prompt": ("prompt", "prompted"),
}
_LONGEST_PROBE = 200  # characters of a passage that are looked for in the prompt
_LONGEST_ERROR = 1000  # characters
_INPUT_TOKENS = ("prompt_tokens", "input_tokens")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens")


def response_of(value: Any, asked: str = "") -> Response:
    """The response in what a system returned to this question. Raises SystemFailed ("no_answer", "too_long") if it has
    no answer."""
    try:
        response = value if isinstance(value, Response) else _read(value, asked)
    except RecursionError:
        name = type(value).__name__
        problem = "contains itself or is nested too deeply"
        raise SystemFailed("no_answer", f"The system returned {name} that {problem}. Return text.") from None
    if len(response.answer) > LONGEST_ANSWER:
        raise SystemFailed(
            "too_long", f"The answer has {len(response.answer):,} characters; the limit is {LONGEST_ANSWER:,}."
        )
    return response


def state_response(state: Any, given: Mapping[str, Any]) -> Response:
    """The response in the final state of a graph, which has all that its nodes wrote. `given`: what it started with.

    Of the texts that it wrote, the answer is the first that is not empty in the order of `answer`, `output`, `result`,
    `response`, `text`…; without one of these names the last message, or the only text. Raises SystemFailed
    ("no_answer") where none or several remain."""
    if not isinstance(state, Mapping):
        return response_of(state)
    written = {str(key): value for key, value in state.items() if key not in given or value != given[key]}
    named = {name: text for name in _ANSWERS if (text := _text(written.get(name)))}
    others = {key: value for key, value in written.items() if isinstance(value, str) and value and key not in _PASSAGES}
    found = named or _last_message(written.get("messages")) or others
    if not named and len(found) != 1:
        problem = "several texts that could be the answer" if found else "no text that could be the answer"
        raise SystemFailed(
            "no_answer",
            f"The final state has {problem} ({', '.join(found or written) or 'nothing'}). Name the answer `answer` in "
            "the state, or ask a function that runs the graph and returns a dict with `answer` and `contexts`.",
        )
    key, answer = next(iter(found.items()))
    response = response_of(
        {**{name: value for name, value in written.items() if name not in _ANSWERS}, "answer": answer}
    )
    if len(found) == 1:
        return response
    return replace(response, steps=(*response.steps, Step(STATE, input=list(found), output=key)))


def _last_message(messages: Any) -> dict[str, str]:
    """The text of the last message, unless that is the user's own."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    speaker = _fields(last).get("role") if isinstance(last, Mapping) else getattr(last, "type", None)
    text = None if speaker in ("human", "user") else _text(last)
    return {"messages": text} if text else {}


def _read(value: Any, asked: str) -> Response:
    if isinstance(value, str):
        return Response(str(value))
    if value is None or isinstance(value, bool | int | float | bytes):
        raise SystemFailed(
            "no_answer", f"The system returned {_shown(value)} instead of an answer. Return text or a dict."
        )
    fields = _fields(value)
    answer = _answer(fields)
    source = fields
    if answer is None:  # a pipeline returns the outputs of its components by their names
        for part in fields.values():
            inner = _fields(part) if isinstance(part, Mapping) else {}
            answer, source = _answer(inner), inner
            if answer is not None:
                break
    check_error(answer, fields)
    if answer is None:
        known = ", ".join(map(str, list(fields)[:10])) or "none"
        name = next((name for name in _ANSWERS if _is_no_text(name, fields.get(name))), None)
        if name is not None:
            raise SystemFailed(
                "no_answer",
                f"The system returned `{name}` as {_shown(fields[name])}, which is no text. Return text, or a dict "
                "with `answer` and `contexts`.",
            )
        raise SystemFailed(
            "no_answer",
            f"The system returned {type(value).__name__} without an answer (fields: {known}). Return text, or a dict "
            f"with `answer` and `contexts`.",
        )
    stated = [passages_of(contexts_in(part.get("contexts"))) for part in (source, fields)]
    sources = [source, *_inner(source), fields, *_inner(fields)]
    passages = next(filter(None, stated), ())
    if not passages and not any(_is_empty_list(part, "contexts") for part in (source, fields)):
        passages = _first_passages(sources)
    steps, last = _stages(fields.get("stages"), passages, asked)
    found = passages or last
    nothing = not found and (bool(steps) or any(_is_empty_list(part, name) for part in sources for name in _PASSAGES))
    return Response(answer, found, steps=steps, usage=_usage(fields), empty_retrieval=nothing)


def check_error(answer: str | None, fields: Mapping[str, Any]) -> None:
    """Raises SystemFailed for an `error` beside an answer that is missing or empty: the system failed and says why."""
    if (answer and answer.strip()) or not (error := fields.get("error")):
        return
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False, default=str)
    raise SystemFailed("raised", f"The system reported an error: {' '.join(text.split())[:_LONGEST_ERROR]}")


def contexts_in(value: Any) -> list[Any]:
    """The passages in `contexts`, as they are: those of a list, a single one, or those that a mapping or an object has
    under the name of such. Raises SystemFailed for what is no passage: the name is ours, so nothing else is meant."""
    if value is None or (isinstance(value, Mapping) and not value):
        return []
    if not isinstance(value, list | tuple):
        if isinstance(value, str) or _passage(value) is not None:
            return [value]
        fields = _fields(value)
        if not any(name in fields for name in _PASSAGES):
            raise _no_passage("contexts", value)
        found = {name: items for name in _PASSAGES if (items := contexts_in(fields.get(name)))}
        lists = [name for name in found if name != "sources" and isinstance(fields[name], list | tuple)]
        if any(found[name] != found[lists[0]] for name in lists):
            raise SystemFailed(
                "no_passages",
                f"The system returned `contexts` with several lists of passages ({', '.join(lists)}). Return a list of "
                "texts or documents.",
            )
        return next(iter(found.values()), [])
    for at, item in enumerate(value):
        if not isinstance(item, str) and _passage(item) is None:
            raise _no_passage(f"contexts[{at}]", item)
    return list(value)


def _no_passage(name: str, value: Any) -> SystemFailed:
    return SystemFailed(
        "no_passages",
        f"The system returned `{name}` as {_shown(value)}, which is no passage. Return a list of texts or documents.",
    )


def _no_text(name: str, value: Any) -> SystemFailed:
    return SystemFailed(
        "no_passages", f"The system returned `{name}` as {_shown(value)}, which is no text. Return text."
    )


def _shown(value: Any) -> str:
    if value is None:
        return "None"
    plain = isinstance(value, bool | int | float | bytes | list | tuple | Mapping)
    return f"{type(value).__name__} {str(value)[:40]}" if plain else type(value).__name__


def _is_empty_list(fields: Mapping[str, Any], name: str) -> bool:
    """Whether a field of passages says that there are none."""
    return isinstance(value := fields.get(name), list | tuple) and not value


def _stages(value: Any, passages: Sequence[Passage], asked: str) -> tuple[tuple[Step, ...], tuple[Passage, ...]]:
    """The steps in a mapping of stages, and the passages of the last one. A prompt that is a text has those of the
    passages before it, or of `passages`, that it contains, as far as it does; where it has none, it is kept."""
    steps, last = list[Step](), tuple(passages)
    _check_stages(value)
    for name, spellings in _STAGES.items() if isinstance(value, Mapping) else ():
        spelling = next((spelling for spelling in spellings if value.get(spelling) is not None), None)
        if spelling is None:
            continue
        output = value[spelling]
        if name == "rewrite":
            steps.append(Step(name, output=_queries(output, f"stages.{spelling}")))
            continue
        if name != "prompt" or not isinstance(output, str):
            last = _stage_passages(output, f"stages.{spelling}", prompt=name == "prompt")
        shown = last
        if name == "prompt" and isinstance(output, str):
            parts = parts_in(last, [output], asked)
            last, shown = tuple(passage for passage, _ in parts), tuple(shortened(*part) for part in parts)
        unread = output[:LONGEST_PROMPT] if isinstance(output, str) and not shown else None
        steps.append(Step(name, input=unread, output=[msgspec.to_builtins(passage) for passage in shown]))
    return tuple(steps), last


def _queries(output: Any, name: str) -> list[str]:
    queries = list(output) if isinstance(output, list | tuple | set) else [output]
    if not all(isinstance(query, str) for query in queries):
        raise _no_text(name, output)
    return queries


def _stage_passages(output: Any, name: str, *, prompt: bool) -> tuple[Passage, ...]:
    """The passages of a stage. SystemFailed names the stage, because no search returned them."""
    try:
        return found_passages(output)
    except SystemFailed:
        raise (_no_text if prompt else _no_passage)(name, output) from None


def _check_stages(value: Any) -> None:
    """Raises SystemFailed for a list in place of the mapping, and for one under a name that no stage has."""
    wrong = {"stages": value} if isinstance(value, list | tuple) and value else {}
    if isinstance(value, Mapping):
        known = {spelling for spellings in _STAGES.values() for spelling in spellings}
        lists = {str(name): output for name, output in value.items() if isinstance(output, list | tuple)}
        wrong = {f"stages.{name}": output for name, output in lists.items() if name not in known}
    for name, output in wrong.items():
        raise SystemFailed(
            "no_passages",
            f"The system returned `{name}` as {_shown(output)}, which is no stage. Return a dict with rewrite, fetch, "
            "rerank or prompt.",
        )


def probe(passage: Passage) -> str:
    """The beginning of a passage, which is looked for in a prompt; templates may cut its end."""
    return passage.text.strip()[:_LONGEST_PROBE]


def _fields(value: Any) -> Mapping[str, Any]:
    """The named values of a mapping or of an object, with the fields of answers and passages only of the latter."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = (
        *_ANSWERS,
        *_PASSAGES,
        "usage",
        "usage_metadata",
        "messages",
        "data",
        "node",
        *_TEXTS,
        *_IDS,
        "score",
        *_METADATA,
    )
    return {name: item for name in names if (item := _attribute(value, name)) is not None}


def _attribute(value: Any, name: str) -> Any:
    """An attribute, or None: frameworks have properties that raise, and methods by these names."""
    try:
        item = getattr(value, name, None)
    except Exception:  # a property of a framework may raise anything
        return None
    return None if callable(item) else item


def _inner(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The fields of the mappings and answer objects inside."""
    parts = [part for value in fields.values() for part in (value if isinstance(value, list | tuple) else [value])]
    return [_fields(part) for part in parts if not isinstance(part, str | bytes | int | float | None)]


def _first_text(fields: Mapping[str, Any], names: Sequence[str]) -> str | None:
    for name in names:
        if name in fields and (text := _text(fields[name])) is not None:
            return text
    return None


def _is_no_text(name: str, value: Any) -> bool:
    """Whether an answer is a number or such, or several texts under a name of one: which of them is it?"""
    if isinstance(value, list | tuple) and name not in ("replies", "answers"):
        return len(value) > 1 and all(isinstance(part, str) for part in value)
    return isinstance(value, bool | int | float | bytes)


def _answer(fields: Mapping[str, Any]) -> str | None:
    answer = _first_text(fields, [name for name in _ANSWERS if not _is_no_text(name, fields.get(name))])
    messages = fields.get("messages")  # the state of an agent: the answer is its last message
    return _text(messages[-1]) if answer is None and isinstance(messages, list) and messages else answer


def _text(value: Any) -> str | None:
    """The text of a value: itself, that of a message or document, or the first of a list of such; None if it has none.
    The content of a message may be a list of parts."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in value):
            return "".join(part["text"] for part in value)
        return _text(value[0]) if value else None
    if value is None or isinstance(value, bool | int | float | bytes):
        return None
    return _first_text(_fields(value), ("answer", *_TEXTS, "data", "response"))


def _first_passages(sources: Iterable[Mapping[str, Any]]) -> tuple[Passage, ...]:
    for fields in sources:
        for name in _PASSAGES:
            value = fields.get(name)
            if isinstance(value, list | tuple) and (passages := passages_of(value)):
                return passages
            if isinstance(value, str) and value.strip() and name in ("context", "contexts"):
                return passages_of([value])
    return ()


def passages_of(items: Iterable[Any]) -> tuple[Passage, ...]:
    """The passages among these items: texts, mappings, documents of a framework, or pairs of one and its score.

    A passage without an id gets one from its text, so that the same passage has the same id in every answer. Further
    texts under one id (chunks of a file that are named by the file) get `ID#2`, `ID#3`…."""
    passages: dict[str, Passage] = {}
    counts: Counter[str] = Counter()
    texts: set[tuple[str, str]] = set()
    for item in items:
        passage = _passage(item)
        if passage is None or (key := (passage.id, passage.text)) in texts:
            continue
        texts.add(key)
        name = passage.id
        while name in passages:  # numbered before, too, where passages of several retrievers are put together
            counts[passage.id] += 1
            name = f"{passage.id}#{counts[passage.id] + 1}"
        passages[name] = replace(passage, id=name)
    return tuple(passages.values())


def _passage(item: Any) -> Passage | None:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(_text_id(item), str(item)) if item.strip() else None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int | float):
        inner = _passage(item[0])
        return None if inner is None else replace(inner, score=_number(item[1]))
    fields = _fields(item)
    if (node := fields.get("node")) is not None:  # LlamaIndex: a node with a score
        fields = {**_fields(node), **{key: value for key, value in fields.items() if key == "score"}}
    text = _first_text(fields, _TEXTS)
    if text is None:
        return None
    metadata: Mapping[str, Any] = next(
        (fields[name] for name in _METADATA if isinstance(fields.get(name), Mapping)), {}
    )
    score, title = fields.get("score"), fields.get("title", metadata.get("title", ""))
    return Passage(
        _first_id(fields) or _first_id(metadata) or _text_id(text),
        text,
        title=title if isinstance(title, str) else "",
        score=_number(score),
    )


def found_passages(value: Any) -> tuple[Passage, ...]:
    """The passages in what a search returned: a list of them, or a mapping or an object that has such a list. Raises
    SystemFailed ("no_passages") where there is none; an empty list is a search that found nothing."""
    if isinstance(value, Response):
        return value.passages
    if isinstance(value, list | tuple):
        if (passages := passages_of(value)) or not value:
            return passages
    elif value is not None and not isinstance(value, str | bytes | bool | int | float):
        fields = _fields(value)
        passages = _first_passages([fields, *_inner(fields)])
        if passages or any(name in fields for name in _PASSAGES):
            return passages
    raise SystemFailed(
        "no_passages",
        f"The search returned {type(value).__name__} without passages. Return a list of texts or documents.",
    )


def _number(value: Any) -> float | None:
    """A score; None for what is no finite number."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if number else None


def _first_id(fields: Mapping[str, Any]) -> str:
    values = (fields.get(name) for name in _IDS)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value)), "")


def _text_id(text: str) -> str:
    return "text-" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _usage(fields: Mapping[str, Any]) -> Usage | None:
    usages = (usage_of(fields.get(name)) for name in ("usage", "usage_metadata"))
    return next((usage for usage in usages if usage is not None), None)


def usage_of(value: Any) -> Usage | None:
    """Token counts, as OpenAI's, Anthropic's and LangChain's objects have them; None where there are none."""
    counts = value if isinstance(value, Mapping) else vars(value) if hasattr(value, "__dict__") else {}
    prompt, answer = (
        next((counts[key] for key in keys if isinstance(counts.get(key), int)), None)
        for keys in (_INPUT_TOKENS, _OUTPUT_TOKENS)
    )
    return Usage(prompt_tokens=prompt or 0, completion_tokens=answer or 0, requests=1) if prompt or answer else None
