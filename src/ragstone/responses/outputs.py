"""Reads what a user's system returned: text, a mapping, or an object of a framework with such fields.

The fields are those that applications and frameworks use: `answer`, `output` or `result` for the answer; `contexts`,
`documents`, `source_nodes` and others for the passages, each of them a text, a mapping or a document object; and
`stages`, a mapping of the passages that were fetched, reranked and put into the prompt. LangChain, LlamaIndex, Haystack
and DSPy need no import for this, because their objects have fields of these names.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.errors import SystemFailed
from ragstone.responses.prompt_parts import LONGEST_PROMPT, parts_in, shortened
from ragstone.responses.returned_passages import (
    ANSWERS,
    PASSAGES,
    contexts_in,
    fields_of,
    first_passages,
    first_text,
    found_passages,
    inner_fields,
    is_empty_list,
    no_passage,
    passages_of,
    shown_value,
    text_of,
)
from ragstone.types import Passage, Response, Step, Usage

LONGEST_ANSWER = 1_000_000  # characters; a longer one is a bug of the system, and would fill the run file

STATE = "state"
"""The step that says which of several texts in the final state of a graph was taken as the answer."""

_STAGES = {
    "rewrite": ("rewrite", "rewritten", "query", "queries"),
    "fetch": ("fetch", "fetched", "retrieve", "retrieved"),
    "rerank": ("rerank", "reranked"),
    "prompt": ("prompt", "prompted"),
}
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
    named = {name: text for name in ANSWERS if (text := text_of(written.get(name)))}
    others = {key: value for key, value in written.items() if isinstance(value, str) and value and key not in PASSAGES}
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
        {**{name: value for name, value in written.items() if name not in ANSWERS}, "answer": answer}
    )
    if len(found) == 1:
        return response
    return replace(response, steps=(*response.steps, Step(STATE, input=list(found), output=key)))


def _last_message(messages: Any) -> dict[str, str]:
    """The text of the last message, unless that is the user's own."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    speaker = fields_of(last).get("role") if isinstance(last, Mapping) else getattr(last, "type", None)
    text = None if speaker in ("human", "user") else text_of(last)
    return {"messages": text} if text else {}


def _read(value: Any, asked: str) -> Response:
    if isinstance(value, str):
        return Response(str(value))
    if value is None or isinstance(value, bool | int | float | bytes):
        raise SystemFailed(
            "no_answer", f"The system returned {shown_value(value)} instead of an answer. Return text or a dict."
        )
    fields = fields_of(value)
    answer = _answer(fields)
    source = fields
    if answer is None:  # a pipeline returns the outputs of its components by their names
        for part in fields.values():
            inner = fields_of(part) if isinstance(part, Mapping) else {}
            answer, source = _answer(inner), inner
            if answer is not None:
                break
    check_error(answer, fields)
    if answer is None:
        known = ", ".join(map(str, list(fields)[:10])) or "none"
        name = next((name for name in ANSWERS if _is_no_text(name, fields.get(name))), None)
        if name is not None:
            raise SystemFailed(
                "no_answer",
                f"The system returned `{name}` as {shown_value(fields[name])}, which is no text. Return text, or a "
                "dict with `answer` and `contexts`.",
            )
        raise SystemFailed(
            "no_answer",
            f"The system returned {type(value).__name__} without an answer (fields: {known}). Return text, or a dict "
            f"with `answer` and `contexts`.",
        )
    stated = [passages_of(contexts_in(part.get("contexts"))) for part in (source, fields)]
    sources = [source, *inner_fields(source), fields, *inner_fields(fields)]
    passages = next(filter(None, stated), ())
    if not passages and not any(is_empty_list(part, "contexts") for part in (source, fields)):
        passages = first_passages(sources)
    steps, last = _stages(fields.get("stages"), passages, asked)
    found = passages or last
    nothing = not found and (bool(steps) or any(is_empty_list(part, name) for part in sources for name in PASSAGES))
    return Response(answer, found, steps=steps, usage=_usage(fields), empty_retrieval=nothing)


def check_error(answer: str | None, fields: Mapping[str, Any]) -> None:
    """Raises SystemFailed for an `error` beside an answer that is missing or empty: the system failed and says why."""
    if (answer and answer.strip()) or not (error := fields.get("error")):
        return
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False, default=str)
    raise SystemFailed("raised", f"The system reported an error: {' '.join(text.split())[:_LONGEST_ERROR]}")


def _no_text(name: str, value: Any) -> SystemFailed:
    return SystemFailed(
        "no_passages", f"The system returned `{name}` as {shown_value(value)}, which is no text. Return text."
    )


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
        raise (_no_text if prompt else no_passage)(name, output) from None


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
            f"The system returned `{name}` as {shown_value(output)}, which is no stage. Return a dict with "
            "rewrite, fetch, rerank or prompt.",
        )


def _is_no_text(name: str, value: Any) -> bool:
    """Whether an answer is a number or such, or several texts under a name of one: which of them is it?"""
    if isinstance(value, list | tuple) and name not in ("replies", "answers"):
        return len(value) > 1 and all(isinstance(part, str) for part in value)
    return isinstance(value, bool | int | float | bytes)


def _answer(fields: Mapping[str, Any]) -> str | None:
    answer = first_text(fields, [name for name in ANSWERS if not _is_no_text(name, fields.get(name))])
    messages = fields.get("messages")  # the state of an agent: the answer is its last message
    return text_of(messages[-1]) if answer is None and isinstance(messages, list) and messages else answer


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
