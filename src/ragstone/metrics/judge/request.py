"""One step of a judge: a request, and one more with the problem named where its reply could not be used."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from ragstone.errors import ModelError
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.envelope import enclosed
from ragstone.metrics.judge.problems import Problem
from ragstone.metrics.judge.prompts import Prompt
from ragstone.metrics.judge.record import JudgeStep
from ragstone.metrics.judge.reply import Read, read_reply
from ragstone.types import Completion, Model, Request, Sampling, Turn

Check: TypeAlias = Callable[[dict[str, Any]], str]  # what else is wrong with a reply of the right form; "" for nothing
Reader: TypeAlias = Callable[[Completion, Mapping[str, Any]], Read]  # what a reply says about what was shown

_SAID_AGAIN = 4_000  # characters of an unusable reply that the judge is reminded of: one may repeat itself for ever


def turns_of(prompt: Prompt, shown: Mapping[str, Any], *, nonce: str = "") -> tuple[Turn, ...]:
    """The messages of a step: the instruction, the examples as a conversation, and what is judged."""
    return (*prompt.opening, Turn("user", enclosed(shown, nonce=nonce)))


async def ask(
    model: Model,
    prompt: Prompt,
    shown: Mapping[str, Any],
    *,
    steps: list[JudgeStep],
    step: str = "",
    check: Check | None = None,
    doubt: Check | None = None,
    schema: Mapping[str, Any] | None = None,
    read: Reader | None = None,
    sample: int = 0,
    temperature: float = 0.0,
    nonce: str = "",
    copy: int = 0,
) -> dict[str, Any]:
    """The judge's reply to one step. `steps` gets one for each request: `step` is its name there (the prompt's where it
    is ""), `copy` its number. `sample` numbers equal requests, `read` reads a reply otherwise than `read_reply` does.
    `doubt` says what a usable reply would better not have: the judge is asked once more, and where the second reply is
    no better, it stands all the same; where it cannot be used, the first one does.

    A reply of the cache that cannot be used is requested anew: what a judge once wrote would end every later command.

    Raises JudgeFailed, with `steps`, after two replies that could not be used, and where no reply came."""
    form = dict(schema or prompt.form)
    turns = turns_of(prompt, shown, nonce=nonce)
    problem, doubtful = "", None

    def understood(completion: Completion) -> Read:
        if read is not None:
            found = read(completion, shown)
        else:
            found = read_reply(completion.text, form, finish_reason=completion.finish_reason, shown=shown)
        if not found.problem and check is not None:
            found = found._replace(problem=check(found.value))
        return found

    for attempt in range(2):
        sampling = Sampling(temperature=temperature)
        request = Request(turns, sampling, schema=form, schema_name=prompt.name, sample=sample)
        judge_step = JudgeStep(step or prompt.name, f"{prompt.name}/{prompt.language}@{prompt.hash[:12]}", copy=copy)
        try:
            completion = await model.generate(request)
            if completion.cached and understood(completion).problem:
                completion = await model.generate(replace(request, renew=True))
        except ModelError as error:
            steps.append(replace(judge_step, problem=f"{error.kind}: {error}"))
            if doubtful is not None:
                return _restored(steps, doubtful)
            raise JudgeFailed(f"{error.kind}: {error}", tuple(steps)) from None
        parsed, problem, coerced = understood(completion)
        doubted = doubt(parsed) if doubt is not None and not problem else ""
        if doubted and attempt == 0:
            doubtful, problem = parsed, doubted
        steps.append(
            replace(
                judge_step, model=completion.model or model.id, reply=completion.text, usage=completion.usage,
                cached=completion.cached, problem=str(problem), doubt=str(doubted), coerced=coerced,
            )
        )  # fmt: skip
        if not problem:
            return parsed
        turns = (*turns, Turn("assistant", _again(completion.text)), Turn("user", _retry_message(prompt, problem)))
    if doubtful is not None:
        return _restored(steps, doubtful)
    raise JudgeFailed(f"The judge's reply to {step or prompt.name!r} could not be used: {problem}", tuple(steps))


def _retry_message(prompt: Prompt, problem: str) -> str:
    said = problem.to(prompt.language) if isinstance(problem, Problem) else problem
    return prompt.again.strip().replace("{problem}", said)


def _restored(steps: list[JudgeStep], reply: dict[str, Any]) -> dict[str, Any]:
    """The first reply after all: its step is the last and has no problem."""
    *before, first, second = steps
    steps[:] = [*before, second, replace(first, problem="")]
    return reply


def _again(reply: str) -> str:
    """An unusable reply as the judge is shown it; no endpoint takes a message without text."""
    if not reply.strip():
        return "…"
    return reply if len(reply) <= _SAID_AGAIN else f"{reply[:_SAID_AGAIN]}…"
