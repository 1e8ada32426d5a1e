"""The prompt of an answer, made again from the query as the system made it, where the run file says how."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ragstone.report.passage_path import prompted
from ragstone.systems.template import PromptTemplate
from ragstone.types import Record, Template, Turn

_NO_PROMPT = ("recorded", "extractive", "retrieval")  # kinds of systems without one that could be known


class SentPrompt(NamedTuple):
    """The messages, and the key of a sentence about them: "rendered", or why there are none."""

    turns: tuple[Turn, ...]
    note: str


def sent_prompt(
    record: Record, spec: Mapping[str, Any], template: Template | None, *, recipe: bool = False
) -> SentPrompt:
    """The prompt of a record. `spec`: of its system; `template`: the benchmark's; `recipe`: the file has a recipe of
    the passages instead of their text, as for long contexts."""
    reader, query = _innermost(spec), record.case.query
    kind = reader.get("kind")
    if kind != "reader":
        return SentPrompt((), f"no_prompt_{kind}" if kind in _NO_PROMPT else "no_prompt")
    if record.response is None:
        return SentPrompt((), "no_prompt_failed")
    if recipe:
        return SentPrompt((), "no_prompt_recipe")
    known = _template(reader.get("template"), template)
    if known is None:
        return SentPrompt((), "no_prompt_template")
    if query.passages is None:
        query = replace(query, passages=tuple(prompted(record)))
    try:
        return SentPrompt(tuple(known.messages(query)), "rendered")
    except Exception:  # a plug-in's template, and a query that anybody may have written
        return SentPrompt((), "no_prompt_template")


def _innermost(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a system's settings that says how it answers from passages."""
    while True:
        inner = spec.get("reader") or spec.get("of")
        if not isinstance(inner, Mapping) or spec.get("kind") == "reader":
            return spec
        spec = inner


def _template(spec: Any, own: Template | None) -> Template | None:
    if own is not None and spec == dict(own.spec):
        return own
    try:
        made: PromptTemplate = msgspec.convert(spec, PromptTemplate)
    except (msgspec.ValidationError, ValueError):
        return None
    return made if made.user else None
