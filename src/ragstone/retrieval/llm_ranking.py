"""Asking a chat model on the way to a ranking: prompts as data, a reply of a promised form, and what is done without.

A prompt is a file `prompts/{en,zh}/NAME.toml` with `version`, `instruction`, `again` (said after a reply that could not
be used; `{problem}` stands for what was wrong) and `[[examples]]` of `input` and `output`, both JSON. What the model is
shown travels as JSON, in which no text can break out of its place.

What is done without, and what is not. A reply that twice could not be used, and a question that the provider refuses
(content inspection, too long), say something of this question only: the search goes on without the model, and `Done`
counts it. What may pass (no connection, limits, a server's fault) is raised: the case remains open and is asked again
by the next run, and no weather of the network gets into a result. So is what is wrong for every question, the key or
the model's name: that is, a first request that is refused.
"""

import asyncio
import json
import logging
import re
import tomllib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from ragstone.errors import ContentBlocked, Rejected
from ragstone.text import detect
from ragstone.types import Completion, Frozen, Model, Request, Sampling, Turn, Usage

__all__ = ["LANGUAGES", "LONGEST", "NAMES", "Asker", "Done", "Prompt", "all_of", "prompt_for", "read_prompt"]

log = logging.getLogger(__name__)

T = TypeVar("T")

LANGUAGES = ("en", "zh")
LONGEST = 4096
"""Tokens of a reply at most, its thoughts included: a small model that is held to a form may fill it for ever."""
NAMES = ("rerank_list", "rerank_point", "rewrite", "multiquery")
_FENCED = re.compile(r"```(?:json)?(?P<inside>.*)```", re.DOTALL | re.IGNORECASE)
_CUT_OFF = ("length", "max_tokens")
_UNFINISHED = "it was cut off before its end; the option tokens allows longer ones"
_SAID_AGAIN = 4_000  # characters of an unusable reply that the model is reminded of


class Example(Frozen, frozen=True):
    """One demonstration: what the model is shown, and the reply that is right."""

    input: dict[str, Any]
    output: dict[str, Any]


class Prompt(Frozen, frozen=True):
    """What is said to the model in one step, but for the question itself."""

    name: str
    language: str
    version: int
    instruction: str
    again: str
    examples: tuple[Example, ...] = ()

    def turns(self, shown: Mapping[str, Any]) -> tuple[Turn, ...]:
        """The messages: the instruction, the examples as a conversation, and what is asked now."""
        turns = [Turn("system", self.instruction)]
        for example in self.examples:
            turns += [Turn("user", _written(example.input)), Turn("assistant", _compact(example.output))]
        return (*turns, Turn("user", _written(shown)))


@cache
def read_prompt(name: str, language: str) -> Prompt:
    """The prompt of a step in "en" or "zh"."""
    place = files("ragstone.retrieval") / "prompts" / language / f"{name}.toml"
    read = tomllib.loads(place.read_text(encoding="utf-8"))
    examples = tuple(
        Example(json.loads(example["input"]), json.loads(example["output"])) for example in read["examples"]
    )
    return Prompt(name, language, read["version"], read["instruction"].strip(), read["again"].strip(), examples)


def prompt_for(name: str, question: str) -> Prompt:
    """The prompt of a step in the language of the question."""
    return read_prompt(name, detect(question))


class Done:
    """What was asked of a model, what that took, and how often the search did without it."""

    def __init__(self, model: str, what: str) -> None:
        """`what` says what it is asked for, in messages."""
        self._model, self._what = model, what
        self._usage = Usage()
        self._heard = False  # any reply at all
        self._problem = ""  # the first reason to do without
        self.answered = 0  # usable replies
        self.without = 0

    @property
    def facts(self) -> dict[str, Any]:
        """For a report. `usage` counts tokens, `requests` that were sent and replies that were `cached`."""
        because = {"without_because": self._problem} if self._problem else {}
        spent = {name: value for name, value in msgspec.to_builtins(self._usage).items() if value}
        return {"model": self._model, "answered": self.answered, "without": self.without, **because, "usage": spent}

    def heard(self, usage: Usage) -> None:
        """A reply came, of use or not."""
        self._heard = True
        self._usage += usage

    def refused(self, error: ContentBlocked | Rejected) -> None:
        """The search does without, because of this. Raises the error where it is rather about the model's name or the
        address than about one question."""
        if isinstance(error, Rejected) and not self._heard:
            raise error
        self.unusable(str(error))

    def unusable(self, problem: str) -> None:
        """The search does without. The first reason is logged."""
        self.without += 1
        if not self._problem:
            self._problem = problem
            log.warning("%s did without the model: %s Further cases are only counted.", self._what, problem)


class Asker:
    """A chat model that is asked with `ask`. To be used in one event loop."""

    def __init__(self, model: Model, what: str, *, longest: int = LONGEST) -> None:
        """`longest`: tokens of a reply at most."""
        self._model = model
        self._sampling = Sampling(temperature=0.0, max_tokens=longest)
        self._done = Done(model.id, what)

    @property
    def facts(self) -> dict[str, Any]:
        return self._done.facts

    async def ask(
        self,
        prompt: Prompt,
        shown: Mapping[str, Any],
        kind: type[T],
        schema: Mapping[str, Any],
        check: Callable[[T], str],
    ) -> T | None:
        """The reply as a `kind`; one more request where the first reply could not be used, with the problem named. One
        that was cut off would be so again, and is not asked for again. `check` says what else is wrong with a reply, ""
        for nothing. None where the search does without it."""
        turns = prompt.turns(shown)
        problem = ""
        for _ in range(2):
            request = Request(turns, self._sampling, schema=dict(schema), schema_name=prompt.name)
            try:
                completion = await self._model.generate(request)
            except (ContentBlocked, Rejected) as error:
                self._done.refused(error)
                return None
            self._done.heard(completion.usage)
            answer, problem = _read(completion, kind)
            if answer is not None and not (problem := check(answer)):
                self._done.answered += 1
                return answer
            if problem == _UNFINISHED:
                break
            reply = completion.text.strip()[:_SAID_AGAIN] or "…"
            turns = (*turns, Turn("assistant", reply), Turn("user", prompt.again.replace("{problem}", problem)))
        self._done.unusable(f"{self._model.id}: a reply could not be used ({problem}).")
        return None


def _read(completion: Completion, kind: type[T]) -> tuple[T | None, str]:
    """(the reply, ""), or (None, what is wrong with it)."""
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
        return None, f"it is not of the promised form: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, "it is not one JSON object"


async def all_of(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The values of all, in order, awaited together. Where one fails the others are cancelled, and its error raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            started = [tasks.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in started]


def _written(shown: Mapping[str, Any]) -> str:
    """As JSON on several lines, which models read more easily; no text in it can begin a line."""
    return json.dumps(shown, ensure_ascii=False, indent=1)


def _compact(reply: Mapping[str, Any]) -> str:
    return json.dumps(reply, ensure_ascii=False)
