"""One step of a judge: a request, and one more with the problem named where its reply could not be used."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from ragstone.errors import ModelError
from ragstone.metrics.judge.envelope import enclosed
from ragstone.metrics.judge.prompts import Prompt
from ragstone.metrics.judge.reply import read_reply
from ragstone.metrics.judge.schemas import OUTPUTS
from ragstone.metrics.judge.words import JudgeFailed
from ragstone.types import Completion, Model, Request, Sampling, Turn

__all__ = ["Check", "ask", "turns_of"]

Check: TypeAlias = Callable[[dict[str, Any]], str]  # what else is wrong with a reply of the right form; "" for nothing
Reader: TypeAlias = Callable[[Completion], tuple[dict[str, Any], str]]  # what is in a reply, or what is wrong with it

_SAID_AGAIN = 4_000  # characters of an unusable reply that the judge is reminded of: one may repeat itself for ever


def turns_of(prompt: Prompt, shown: Mapping[str, Any], *, nonce: str = "") -> tuple[Turn, ...]:
    """The messages of a step: the instruction, the examples as a conversation, and what is judged."""
    return (*prompt.opening, Turn("user", enclosed(shown, nonce=nonce)))


async def ask(
    model: Model,
    prompt: Prompt,
    shown: Mapping[str, Any],
    *,
    steps: list[dict[str, Any]],
    step: str = "",
    check: Check | None = None,
    schema: Mapping[str, Any] | None = None,
    read: Reader | None = None,
    sample: int = 0,
    temperature: float = 0.0,
    nonce: str = "",
) -> dict[str, Any]:
    """The judge's reply to one step. `steps` gets one object for each request: the model as it was named, the prompt,
    the raw reply, its usage, and the problem of one that could not be used. `step` is its name there (the prompt's
    where it is ""), `sample` numbers equal requests, `read` reads a reply in another way than `read_reply`.

    Raises JudgeFailed, with `steps`, after two replies that could not be used, and where no reply came."""
    form = dict(schema or OUTPUTS[prompt.name])
    turns = turns_of(prompt, shown, nonce=nonce)
    problem = ""
    for _ in range(2):
        request = Request(
            turns,
            Sampling(temperature=temperature),
            schema=form,
            schema_name=prompt.name,
            sample=sample,
        )
        told: dict[str, Any] = {
            "step": step or prompt.name,
            "prompt": f"{prompt.name}/{prompt.language}@{prompt.hash[:12]}",
        }
        try:
            completion = await model.generate(request)
        except ModelError as error:
            told["problem"] = f"{error.kind}: {error}"
            steps.append(told)
            raise JudgeFailed(f"{error.kind}: {error}", tuple(steps)) from None
        if read is not None:
            found, problem = read(completion)
        else:
            found, problem = read_reply(completion.text, form, finish_reason=completion.finish_reason)
        if not problem and check is not None:
            problem = check(found)
        told |= {
            "model": completion.model or model.id,
            "reply": completion.text,
            "usage": msgspec.to_builtins(completion.usage),
            "cached": completion.cached,
            **({"problem": problem} if problem else {}),
        }
        steps.append(told)
        if not problem:
            return found
        turns = (*turns, Turn("assistant", _again(completion.text)), Turn("user", _told(prompt, problem)))
    raise JudgeFailed(f"The judge's reply to {step or prompt.name!r} could not be used: {problem}", tuple(steps))


def _told(prompt: Prompt, problem: str) -> str:
    return prompt.again.strip().replace("{problem}", problem)


def _again(reply: str) -> str:
    """An unusable reply as the judge is shown it; no endpoint takes a message without text."""
    if not reply.strip():
        return "…"
    return reply if len(reply) <= _SAID_AGAIN else f"{reply[:_SAID_AGAIN]}…"
