"""Which interventions a system allows, tried and not only declared.

A system that declares to take given passages gets one with an invented fact, and the question about it: the fact should
be in the answer or, as far as that is known, in the prompt. k = 1 and k = 3 should fetch different numbers of passages.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from ragstone.errors import AllowanceSpent, ModelError, SystemFailed, Unfinished
from ragstone.responses.stages import passages_at
from ragstone.systems.accepted import accepts_of
from ragstone.types import NO_ANSWER, Passage, Query, Response, System

INTERVENTIONS = ("passages", "closed_book", "k", "retrieve")
"""Given passages; none of them, so that the system answers from memory; a number of passages; a search alone."""

Outcome: TypeAlias = Literal["works", "ignored", "not_taken", "failed", "unknown"]

_WORD = "48213"
_DEPOTS = ("Quolvar", "夸尔瓦")
_MARKED = {
    "en": (f"The access number of the Quolvar depot is {_WORD}.", "What is the access number of the Quolvar depot?"),
    "zh": (f"夸尔瓦仓库的门禁号码是{_WORD}。", "夸尔瓦仓库的门禁号码是多少？"),
}
_FEW, _MORE = 1, 3


@dataclass(frozen=True)
class Probe:
    """What came of one intervention. "ignored": the system takes it without an effect. "not_taken": it does not declare
    it, and was not asked. "failed": every answer was an error. "unknown": it answered, and nothing shows whether it had
    an effect. `facts`: what was seen, by intervention: `where` the given passage was found ("answer", "prompt",
    "passages"); `answer`; `found`, numbers of passages; `error`."""

    outcome: Outcome
    facts: dict[str, Any] = field(default_factory=dict)


async def probe_interventions(system: System, query: Query, as_is: Response | None = None) -> dict[str, Probe]:
    """Tries each of `INTERVENTIONS` that the system declares, with at most five questions; what fails is asked again.
    `query`: a question that it can answer as it is; `as_is`: its answer, if it was asked. Raises Unfinished if it does
    not answer any more."""
    plain = Query(query.question, history=query.history, language=query.language)
    probes = {"passages": _passages, "closed_book": _closed_book, "k": _k, "retrieve": _retrieve}
    accepts = accepts_of(system)
    found: dict[str, Probe] = {}
    for name, probe in probes.items():
        needed = "passages" if name == "closed_book" else name
        if needed not in accepts:
            found[name] = Probe("not_taken")
            continue
        found[name] = await _tried(probe, system, plain)
    counts = found["k"].facts.get("found", {}).values()
    if found["closed_book"].outcome == "unknown" and (any(counts) or (as_is is not None and as_is.passages)):
        found["closed_book"] = Probe("works", found["closed_book"].facts)  # it returns passages where it has some
    return found


async def _tried(probe: Callable[[System, Query], Awaitable[Probe]], system: System, query: Query) -> Probe:
    """What came of a probe: of one that failed, what comes of it once more, as a reply may be lost. Raises Unfinished
    if the question as it is gets no reply then, either: nothing was found out."""
    found = await _outcome(probe, system, query)
    if found.outcome == "failed":
        found = await _outcome(probe, system, query)
    if found.outcome != "failed":
        return found
    try:
        await system.answer(query)
    except ModelError as error:
        reason = str(error).rstrip(".")
        raise Unfinished(
            f"The system does not answer any more ({reason}). What came is kept: run the same command again to resume."
        ) from error
    except AllowanceSpent:
        raise
    except Exception:  # the system is there, and fails at this question, too
        return found
    return found


async def _outcome(probe: Callable[[System, Query], Awaitable[Probe]], system: System, query: Query) -> Probe:
    try:
        return await probe(system, query)
    except AllowanceSpent:  # what the system takes was not found out
        raise
    except (SystemFailed, ModelError) as error:
        ignored = isinstance(error, SystemFailed) and error.kind == "ignored_passages"
        return Probe("ignored" if ignored else "failed", {"error": str(error)})
    except Exception as error:  # a system in this process may raise anything
        return Probe("failed", {"error": f"{type(error).__name__}: {error}"})


async def _passages(system: System, query: Query) -> Probe:
    text, question = _MARKED["zh" if query.language == "zh" else "en"]
    response = await system.answer(Query(question, (Passage("given", text),), language=query.language))
    if _WORD in response.answer:
        return Probe("works", {"where": "answer"})
    prompted = passages_at(response, "prompt")
    if prompted is not None:
        return Probe("works", {"where": "prompt"}) if _has(prompted, text) else Probe("ignored")
    if response.passages and passages_at(response, "fetch") is None:
        # The system's own code returned them: an adapter would have noted where its retriever got them.
        return Probe("works", {"where": "passages"}) if _has(response.passages, text) else Probe("ignored")
    return Probe("unknown", {"answer": response.answer})


def is_probe_reply(response: Response) -> bool:
    """Whether the response to another question has what a probe invented, which no document has: the name of the depot,
    or its number, which none of the passages has. The system kept it."""
    texts = (response.answer, *(passage.text for passage in response.passages))
    if any(depot in text for text in texts for depot in _DEPOTS):
        return True
    return _WORD in response.answer and not any(_WORD in text for text in texts[1:])


def _has(passages: tuple[Passage, ...], text: str) -> bool:
    return any(passage.text == text for passage in passages)


async def _closed_book(system: System, query: Query) -> Probe:
    response = await system.answer(msgspec.structs.replace(query, passages=()))
    if response.passages:
        return Probe("ignored", {"found": len(response.passages)})
    return Probe("unknown" if passages_at(response, "prompt") is None else "works", {"answer": response.answer})


async def _k(system: System, query: Query) -> Probe:
    few, more = [_counts(await system.answer(msgspec.structs.replace(query, k=k))) for k in (_FEW, _MORE)]
    stage = 0 if few[0] != more[0] else 1
    facts = {"found": {str(_FEW): few[stage], str(_MORE): more[stage]}}
    if few != more:
        return Probe("works", facts)
    return Probe("ignored" if few[stage] > _FEW else "unknown", facts)


def _counts(response: Response) -> tuple[int, int]:
    """The numbers of passages that were fetched, and that were left for the answer."""
    return len(passages_at(response, "fetch") or ()), len(response.passages)


async def _retrieve(system: System, query: Query) -> Probe:
    response = await system.answer(msgspec.structs.replace(query, retrieve_only=True))
    facts = {"found": len(response.passages)}
    if not response.passages:
        return Probe("unknown", facts)
    return Probe("works" if response.finish_reason == NO_ANSWER else "ignored", facts)
