"""Replies of a promised form: the ways to ask for one, and finding out which of them an endpoint takes.

There are four, from the strictest to the one that every endpoint takes:

    json_schema   `response_format` with the schema: the endpoint lets the model write nothing else
    tool          a tool that must be called, with the schema as its parameters: the arguments are the reply
    json_object   `response_format` "some JSON", and the schema in the prompt
    instruction   the schema in the prompt

A provider's row says where to begin. A refusal that speaks of the form, or a reply that shows that the endpoint did not
heed it, moves on to the next way; the first that is taken is kept for as long as the model is open, and in the cache
folder. Until then one request at a time is sent: it is a question of the user's, so that finding out costs nothing
where the row is right.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from ragstone.errors import Rejected
from ragstone.types import Completion, Request, Turn, Usage

__all__ = ["FORMS", "Form", "Memory", "RefusedForm", "Reply", "Way", "ask_for_schema", "way_key"]

Form: TypeAlias = Literal["json_schema", "tool", "json_object", "instruction"]
FORMS: Final[tuple[Form, ...]] = ("json_schema", "tool", "json_object", "instruction")

_INSTRUCTION = (
    "Reply with one JSON object that matches this JSON schema, and with nothing else: no explanation, no code fence."
    "\n{schema}"
)


class RefusedForm(Rejected):
    """The endpoint does not take this way of asking for a form; the same question is worth asking in another."""


class Memory(Protocol):
    """Where what was found out outlives the process. Every failure of it is a miss."""

    def get(self, key: bytes) -> Completion | None: ...
    def put(self, key: bytes, completion: Completion, /) -> None: ...


class Reply(msgspec.Struct, frozen=True):
    """A reply as it was read. `called`: its text is the arguments of a tool call. `refused`: the model declined."""

    completion: Completion
    called: bool = False
    refused: bool = False


def ask_for_schema(payload: dict[str, Any], form: Form, request: Request) -> None:
    """Adds to the body of a chat request what asks for `request.schema` in this way."""
    if form == "json_schema":
        named = {"name": request.schema_name, "strict": True, "schema": request.schema}
        payload["response_format"] = {"type": "json_schema", "json_schema": named}
        return
    if form == "tool":
        function = {
            "name": request.schema_name,
            "description": "Hands over the reply. Call it once, with the whole of the reply.",
            "parameters": request.schema,
        }
        payload["tools"] = [{"type": "function", "function": function}]
        payload["tool_choice"] = {"type": "function", "function": {"name": request.schema_name}}
        return
    asked = _INSTRUCTION.format(schema=json.dumps(request.schema, ensure_ascii=False, sort_keys=True))
    payload["messages"] = _with_instruction(request.messages, asked)
    if form == "json_object":
        payload["response_format"] = {"type": "json_object"}


def _with_instruction(turns: tuple[Turn, ...], asked: str) -> list[dict[str, str]]:
    """The messages with `asked` at the end of the last one of the user, where every endpoint heeds it most."""
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=-1)
    messages = [
        {"role": turn.role, "content": f"{turn.content}\n\n{asked}" if place == last else turn.content}
        for place, turn in enumerate(turns)
    ]
    return messages if last >= 0 else [*messages, {"role": "user", "content": asked}]


def ignored(form: Form, schema: Mapping[str, Any], reply: Reply) -> bool:
    """Whether the reply shows that the endpoint did not heed `form`: what it constrains would look otherwise.

    Nothing is shown by a reply that was cut off, is empty, or is the model's refusal, nor where the prompt alone asks.
    """
    completion = reply.completion
    if form in ("json_object", "instruction") or reply.refused or completion.finish_reason not in ("", "stop"):
        return False
    if form == "tool":
        return not reply.called
    if not completion.text.strip() or schema.get("type") != "object":
        return False
    try:
        found = json.loads(completion.text)  # which takes lone surrogates, as `read_reply` does
    except (ValueError, RecursionError):
        return True
    return not (isinstance(found, dict) and found.keys() >= set(schema.get("required", ())))


def way_key(base_url: str, model: str, start: Form) -> bytes:
    """Under what the way of a model at an endpoint is remembered. Another row's start is another question."""
    return hashlib.sha256(json.dumps(["way of asking for a form", 1, base_url, model, start]).encode()).digest()


class Way:
    """The way in which one model at one endpoint is asked for a form; `form` is the one to use now."""

    def __init__(self, start: Form, key: bytes, memory: Memory | None = None) -> None:
        self.form: Form = start
        self._key, self._memory = key, memory
        self._recalled = memory is None
        self._settled = start == FORMS[-1]
        self._turn = asyncio.Lock()

    async def ask(self, schema: Mapping[str, Any], attempt: Callable[[Form, bool], Awaitable[Reply]]) -> Completion:
        """The reply, asked for in the way that is taken. `attempt(form, settled)` sends one request; it raises
        `RefusedForm` where the endpoint does not take `form`. The usage counts every request that was answered."""
        spent = Usage()
        while True:
            if not self._recalled:
                self._recall()
            if not self._settled:
                async with self._turn:
                    if not self._settled:
                        return await self._find(schema, attempt, spent)
            form = self.form
            reply = await self._try(form, schema, attempt, settled=True)
            if isinstance(reply, Completion):
                return _with_usage(reply, spent)
            spent += reply
            if self.form == form:  # nobody else has found that out meanwhile
                self.form, self._settled = FORMS[FORMS.index(form) + 1], False

    async def _find(
        self, schema: Mapping[str, Any], attempt: Callable[[Form, bool], Awaitable[Reply]], spent: Usage
    ) -> Completion:
        for form in FORMS[FORMS.index(self.form) :]:
            reply = await self._try(form, schema, attempt, settled=False)
            if isinstance(reply, Completion):
                self._settle(form)
                return _with_usage(reply, spent)
            spent += reply
        raise AssertionError("The last way is never refused as a way.")

    async def _try(
        self, form: Form, schema: Mapping[str, Any], attempt: Callable[[Form, bool], Awaitable[Reply]], *, settled: bool
    ) -> Completion | Usage:
        """The reply, or what was spent on finding that `form` is not taken."""
        try:
            reply = await attempt(form, settled)
        except RefusedForm:
            if form == FORMS[-1]:
                raise
            return Usage()
        return reply.completion.usage if ignored(form, schema, reply) else reply.completion

    def _settle(self, form: Form) -> None:
        self.form, self._settled = form, True
        if self._memory is not None:
            self._memory.put(self._key, Completion(text=form))

    def _recall(self) -> None:
        self._recalled = True
        found = self._memory.get(self._key) if self._memory is not None else None
        for form in FORMS:
            if found is not None and found.text == form:
                self.form, self._settled = form, True


def _with_usage(completion: Completion, spent: Usage) -> Completion:
    return msgspec.structs.replace(completion, usage=completion.usage + spent) if spent.requests else completion
