"""Structured replies: the forms of request for one, and finding out which of them an endpoint supports.

There are four forms, from the strictest to one that every endpoint supports:

    json_schema   `response_format` with the schema: the endpoint makes the model follow it
    tool          a tool that must be called, with the schema as its parameters; the arguments are the reply
    json_object   `response_format` "some JSON", and the schema in the prompt
    instruction   the schema in the prompt

A provider's row says which form to try first. After a refusal that mentions the form, or a reply that shows that the
endpoint ignored it, the next form is tried; the first that works is kept while the model is open, and in the cache
folder. Until then requests are sent one at a time. They are the user's own, so finding out costs nothing if the row is
right.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from ragstone.errors import Rejected
from ragstone.types import Completion, Request, Turn, Usage

Form: TypeAlias = Literal["json_schema", "tool", "json_object", "instruction"]
FORMS: Final[tuple[Form, ...]] = ("json_schema", "tool", "json_object", "instruction")

_INSTRUCTION = (
    "Reply with one JSON object that matches this JSON schema, and with nothing else: no explanation, no code fence."
    "\n{schema}"
)


class RefusedForm(Rejected):
    """The endpoint does not support this form; the same request may succeed with another."""


class FormMemory(Protocol):
    """Remembers supported forms between processes. Every failure of it is a miss."""

    def get(self, key: bytes) -> Completion | None: ...
    def put(self, key: bytes, completion: Completion, /) -> None: ...


class ParsedReply(msgspec.Struct, frozen=True):
    """A parsed reply. `called`: its text is the arguments of a tool call. `refused`: the model declined."""

    completion: Completion
    called: bool = False
    refused: bool = False


def ask_for_schema(payload: dict[str, Any], form: Form, request: Request) -> None:
    """Adds the request for a reply by `request.schema`, in this form, to the body of a chat request."""
    if form == "json_schema":
        schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
        payload["response_format"] = {"type": "json_schema", "json_schema": schema}
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
    instruction = _INSTRUCTION.format(schema=json.dumps(request.schema, ensure_ascii=False, sort_keys=True))
    payload["messages"] = _with_instruction(request.messages, instruction)
    if form == "json_object":
        payload["response_format"] = {"type": "json_object"}


def _with_instruction(turns: tuple[Turn, ...], instruction: str) -> list[dict[str, str]]:
    """The messages with `instruction` at the end of the last user message, where models follow it best."""
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=-1)
    messages = [
        {"role": turn.role, "content": f"{turn.content}\n\n{instruction}" if place == last else turn.content}
        for place, turn in enumerate(turns)
    ]
    return messages if last >= 0 else [*messages, {"role": "user", "content": instruction}]


def ignored(form: Form, schema: Mapping[str, Any], reply: ParsedReply) -> bool:
    """Whether the reply shows that the endpoint ignored `form`: a constrained reply would look different.

    A reply that was cut off, is empty or is the model's refusal shows nothing, nor does one to the prompt alone.
    """
    completion = reply.completion
    if form in ("json_object", "instruction") or reply.refused or completion.finish_reason not in ("", "stop"):
        return False
    if form == "tool":
        return not reply.called
    if not completion.text.strip() or schema.get("type") != "object":
        return False
    try:
        value = json.loads(completion.text)  # which accepts lone surrogates, as `read_reply` does
    except (ValueError, RecursionError):
        return True
    return not (isinstance(value, dict) and value.keys() >= set(schema.get("required", ())))


def form_key(base_url: str, model: str, start: Form) -> bytes:
    """The key of the supported form of a model at an endpoint, given the first form to try."""
    return hashlib.sha256(json.dumps(["way of asking for a form", 1, base_url, model, start]).encode()).digest()


class FormNegotiator:
    """Finds the form that one model at one endpoint supports; `form` is the one to use now."""

    def __init__(self, start: Form, key: bytes, memory: FormMemory | None = None) -> None:
        self.form: Form = start
        self._key, self._memory = key, memory
        self._recalled = memory is None
        self._settled = start == FORMS[-1]
        self._turn = asyncio.Lock()

    def known(self) -> Form | None:
        """The form that this model is known to support; None until that is found out."""
        if not self._recalled:
            self._recall()
        return self.form if self._settled else None

    def unsettle(self, form: Form) -> None:
        """A reply that came later shows that `form` is not supported after all."""
        if self.form == form and form != FORMS[-1]:
            self.form, self._settled = FORMS[FORMS.index(form) + 1], False

    async def ask(
        self, schema: Mapping[str, Any], attempt: Callable[[Form, bool], Awaitable[ParsedReply]]
    ) -> Completion:
        """The reply, in the form that the endpoint supports. `attempt(form, settled)` sends one request and raises
        `RefusedForm` if the endpoint does not support `form`. The usage counts every request that was answered."""
        spent = Usage()
        while True:
            if not self._recalled:
                self._recall()
            if not self._settled:
                async with self._turn:
                    if not self._settled:
                        return await self._find(schema, attempt, spent)
            form = self.form
            reply = await self._attempt(form, schema, attempt, settled=True)
            if isinstance(reply, Completion):
                return _with_usage(reply, spent)
            spent += reply
            self.unsettle(form)

    async def _find(
        self, schema: Mapping[str, Any], attempt: Callable[[Form, bool], Awaitable[ParsedReply]], spent: Usage
    ) -> Completion:
        for form in FORMS[FORMS.index(self.form) :]:
            reply = await self._attempt(form, schema, attempt, settled=False)
            if isinstance(reply, Completion):
                self._settle(form)
                return _with_usage(reply, spent)
            spent += reply
        raise AssertionError("The last form is never refused as a form.")

    async def _attempt(
        self,
        form: Form,
        schema: Mapping[str, Any],
        attempt: Callable[[Form, bool], Awaitable[ParsedReply]],
        *,
        settled: bool,
    ) -> Completion | Usage:
        """The reply, or the usage of finding out that `form` is not supported."""
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
        stored = self._memory.get(self._key) if self._memory is not None else None
        for form in FORMS:
            if stored is not None and stored.text == form:
                self.form, self._settled = form, True


def _with_usage(completion: Completion, spent: Usage) -> Completion:
    return msgspec.structs.replace(completion, usage=completion.usage + spent) if spent.requests else completion
