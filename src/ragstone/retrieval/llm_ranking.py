"""Calls a chat model during retrieval: prompts as data, structured replies, and a fallback without the model.

A prompt is a file `prompts/{en,zh}/NAME.toml` with `version`, `instruction`, `again` (sent after an unusable reply,
with the reason for `{problem}`) and `[[examples]]` of `input` and `output`, both JSON. The input is sent as JSON, so
that a text cannot be mistaken for instructions around it.

Two failures concern a single question: two unusable replies in a row, and a question that the provider rejects (content
filter, too long). The search then goes on without the model, and `ModelStats` counts it. Other failures are raised:
temporary ones (connection, rate limit, server error), so that the case stays open for the next run and no network
trouble affects a result; and those that would hit every question (key, model name), recognized by a rejection of the
first request.
"""

import json
import logging
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from ragstone.errors import ContentBlocked, Rejected
from ragstone.retrieval.search_log import current_log
from ragstone.structs import Frozen, schema_of
from ragstone.text import detect
from ragstone.types import Completion, Model, Request, Sampling, Turn, Usage

log = logging.getLogger(__name__)

T = TypeVar("T", bound=msgspec.Struct)

LANGUAGES = ("en", "zh")
LONGEST = 4096
"""Maximum tokens of a reply, reasoning included: under a schema, a small model may never stop."""
NAMES = ("rerank_list", "rerank_point", "rewrite", "multiquery")
_FENCED = re.compile(r"```(?:json)?(?P<inside>.*)```", re.DOTALL | re.IGNORECASE)
_CUT_OFF = ("length", "max_tokens")
_UNFINISHED = "it was cut off; raise the option tokens to allow longer replies"
_QUOTED = 4_000  # characters of an unusable reply that are sent back to the model


class Example(Frozen, frozen=True):
    """A few-shot example: an input and its correct reply."""

    input: dict[str, Any]
    output: dict[str, Any]


class Prompt(Frozen, frozen=True):
    """The prompt of one step, without the input. `beginning`: its messages before the input."""

    name: str
    language: str
    version: int
    instruction: str
    again: str
    examples: tuple[Example, ...] = ()
    beginning: tuple[Turn, ...] = ()

    def turns(self, shown: Mapping[str, Any]) -> tuple[Turn, ...]:
        """The messages: the instruction, the examples as a conversation, and the input `shown`."""
        return (*self.beginning, Turn("user", _written(shown)))


@cache
def read_prompt(name: str, language: str, *, package: str = "ragstone.retrieval") -> Prompt:
    """Reads the prompt `name` of a package in "en" or "zh"."""
    place = files(package) / "prompts" / language / f"{name}.toml"
    read = tomllib.loads(place.read_text(encoding="utf-8"))
    examples = tuple(
        Example(json.loads(example["input"]), json.loads(example["output"])) for example in read.get("examples", ())
    )
    turns = [Turn("system", read["instruction"].strip())]
    for example in examples:
        turns += [Turn("user", _written(example.input)), Turn("assistant", _compact(example.output))]
    return Prompt(
        name, language, read["version"], read["instruction"].strip(), read["again"].strip(), examples, tuple(turns)
    )


def prompt_for(name: str, question: str) -> Prompt:
    """The prompt `name` in the language of the question."""
    return read_prompt(name, detect(question))


RERANKING = "Reranking"
"""The task of a model that ranks; the others rewrite."""


class ModelStats:
    """Usage of a model, and how often the search went on without it."""

    def __init__(self, model: str, task: str) -> None:
        """`task` names what the model does, for log lines."""
        self._model, self._task = model, task
        self._usage = Usage()
        self._replied = False
        self._problem = ""  # the reason of the first fallback
        self.answered = 0  # usable replies
        self.without = 0

    @property
    def facts(self) -> dict[str, Any]:
        """For reports. `usage` has tokens, `requests` sent and `cached` replies."""
        because = {"without_because": self._problem} if self._problem else {}
        spent = {name: value for name, value in msgspec.to_builtins(self._usage).items() if value}
        return {"model": self._model, "answered": self.answered, "without": self.without, **because, "usage": spent}

    def add_usage(self, usage: Usage) -> None:
        """Counts the usage of a reply, usable or not."""
        self._replied = True
        self._usage += usage
        if (log := current_log()) is not None:
            step = "rerank" if self._task == RERANKING else "rewrite"
            log.usages[step] = log.usages.get(step, Usage()) + usage

    def add_rejection(self, error: ContentBlocked | Rejected) -> None:
        """Counts a fallback because of `error`. Raises `error` if no reply came before it: the model's name or address
        is then the likely cause, not this question."""
        if isinstance(error, Rejected) and not self._replied:
            raise error
        self.add_fallback(str(error))

    def add_fallback(self, problem: str) -> None:
        """Counts a question that was searched without the model. Logs the first reason."""
        self.without += 1
        if not self._problem:
            self._problem = problem
            log.warning("%s continues without the model: %s Further cases are only counted.", self._task, problem)


class StructuredChat:
    """A chat model with structured replies. Use it in one event loop only."""

    def __init__(self, model: Model, task: str, *, longest: int = LONGEST) -> None:
        """`task` names what the model does, for log lines. `longest`: maximum tokens of a reply."""
        self._model = model
        self._sampling = Sampling(temperature=0.0, max_tokens=longest)
        self._stats = ModelStats(model.id, task)

    @property
    def facts(self) -> dict[str, Any]:
        return self._stats.facts

    async def ask(
        self,
        prompt: Prompt,
        shown: Mapping[str, Any],
        kind: type[T],
        check: Callable[[T], str],
    ) -> T | None:
        """The reply parsed as `kind`, or None if there is no usable one. `check` returns a further problem of a reply,
        "" for none. An unusable reply is requested once more with its problem named, except if it was cut off, which
        would happen again."""
        turns = prompt.turns(shown)
        problem = ""
        for _ in range(2):
            request = Request(turns, self._sampling, schema=schema_of(kind), schema_name=prompt.name)
            try:
                completion = await self._model.generate(request)
            except (ContentBlocked, Rejected) as error:
                self._stats.add_rejection(error)
                return None
            self._stats.add_usage(completion.usage)
            answer, problem = parse_reply(completion, kind)
            if answer is not None and not (problem := check(answer)):
                self._stats.answered += 1
                return answer
            if problem == _UNFINISHED:
                break
            reply = completion.text.strip()[:_QUOTED] or "…"
            turns = (*turns, Turn("assistant", reply), Turn("user", prompt.again.replace("{problem}", problem)))
        self._stats.add_fallback(f"{self._model.id}: a reply could not be used ({problem}).")
        return None


def parse_reply(completion: Completion, kind: type[T]) -> tuple[T | None, str]:
    """(the parsed reply, ""), or (None, its problem)."""
    if completion.finish_reason in _CUT_OFF:
        return None, _UNFINISHED
    text = completion.text.strip().removeprefix("\ufeff")
    if fenced := _FENCED.fullmatch(text):
        text = fenced["inside"].strip()
    if not text:
        return None, "it is empty"
    try:
        return msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=kind), ""
    except msgspec.ValidationError as error:
        return None, f"it does not match the schema: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "it is not one JSON object"


def _written(shown: Mapping[str, Any]) -> str:
    """Indented JSON, which models read more easily; strings in it cannot start a new line."""
    return json.dumps(shown, ensure_ascii=False, indent=1)


def _compact(reply: Mapping[str, Any]) -> str:
    return json.dumps(reply, ensure_ascii=False)
