"""`ragstone system`."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, POSITIVE, json_option, language_option
from ragstone.commands.output import say, say_json
from ragstone.error_text import failure_in
from ragstone.evaluation.commands.systems import system_details, system_of
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.evaluation.system_check import Checked, SystemCheck
    from ragstone.systems.probes import Probe
    from ragstone.types import Step

_LONGEST = 300  # characters of an answer or of a list


@click.group()
def command() -> None:
    """Check a system before it is evaluated."""


@command.command()
@click.argument("system", metavar="NAME")
@click.option("--questions", type=PATH,
              help="File whose first two questions are asked.  [default: two general questions]")  # fmt: skip
@system_details
@click.option("--timeout", type=POSITIVE, default=120.0, show_default=True, help="Time limit of an answer, in seconds.")
@language_option
@json_option
def check(**values: Any) -> int:
    """Ask the system NAME two questions, and print what was understood and which interventions it allows.

    Interventions are what `ragstone diagnose` needs: given passages, none (closed book), another number of passages, a
    search without an answer. Those that it declares are tried, with at most five more questions.

    NAME is Python code (app.py:ask), an HTTP address, a model, rag(…) over a --corpus, or a table [systems.NAME] of
    ragstone.toml."""
    from ragstone.evaluation.system_check import check_system  # noqa: PLC0415

    target = system_of(values)
    found = asyncio.run(check_system(target, values["questions"], timeout=values["timeout"]))
    if values["as_json"]:
        say_json(_document(found))
    else:
        say_check(found, values["language"] or preferred_language())
    return 0 if found.answered else 2 if found.refused else 3


def _document(found: "SystemCheck") -> dict[str, Any]:
    return {
        "id": found.id, "spec": dict(found.spec),
        "accepts": list(found.accepts),
        "answers": [
            {"question": item.question, "error": item.error or None, "seconds": round(item.seconds, 3),
             "response": item.response}
            for item in found.checked
        ],
        "interventions": {
            name: {"outcome": probe.outcome, **probe.facts} for name, probe in found.interventions.items()
        },
        "printed": found.printed,
    }  # fmt: skip


def say_check(found: "SystemCheck", language: str) -> None:
    """Print what was found out."""
    texts = messages(__name__, language)
    say(texts["system"].format(id=found.id, kind=found.spec.get("kind", "")))
    say(_accepted(found, texts))
    for number, item in enumerate(found.checked, 1):
        say("")
        say(f"{number}. {item.question}")
        for name, value in _facts(item, texts, language):
            say(f"   {texts[name]}{value}")
    say("")
    say(texts["interventions"])
    for name, probe in found.interventions.items():
        said = _probed(name, probe, texts, language) + _how(name, probe, found, texts)
        say(f"   {texts[f'intervention.{name}']}{said}")
    if found.printed:
        say("")
        say(texts["printed"].format(line=found.printed))


def _accepted(found: "SystemCheck", texts: Mapping[str, str]) -> str:
    from ragstone.systems import ACCEPTED  # noqa: PLC0415

    names = [texts[f"takes.{name}"] for name in found.accepts]
    others = [texts[f"takes.{name}"] for name in ACCEPTED if name not in found.accepts]
    join = texts["join"]
    line = texts["accepts"].format(names=join.join([texts["takes.question"], *names]))
    return line + (texts["accepts.not"].format(names=join.join(others)) if others else "")


def _probed(name: str, probe: "Probe", texts: Mapping[str, str], language: str) -> str:
    """What came of an intervention, in a sentence."""
    if probe.outcome in ("not_taken", "failed"):
        return texts[f"probe.{probe.outcome}"].format(error=failure_in(str(probe.facts.get("error", "")), language))
    text = texts[f"probe.{name}.{probe.outcome}"]
    if name == "passages":
        where = texts[f"where.{probe.facts.get('where', 'answer')}"]
        return text.format(where=where, answer=_short(probe.facts.get("answer", "")))
    if name == "k":
        return text.format(few=probe.facts["found"]["1"], more=probe.facts["found"]["3"])
    return text.format(n=probe.facts.get("found", 0), answer=_short(probe.facts.get("answer", "")))


def _how(name: str, probe: "Probe", found: "SystemCheck", texts: Mapping[str, str]) -> str:
    """How the system can take an intervention that it does not, to go on with the sentence."""
    from ragstone.models.nested_names import is_http  # noqa: PLC0415

    if name == "retrieve" and probe.outcome in ("not_taken", "failed", "ignored"):
        retriever = str(found.spec.get("retriever", ""))
        if not retriever:
            return texts["name_retriever"]
        return texts["retriever_gets"] if is_http(retriever) and "body=" not in retriever else ""
    if probe.outcome != "not_taken" or name == "closed_book":  # which takes what given passages do
        return ""
    return texts[f"take.{name}.{'http' if found.spec.get('kind') == 'http' else 'python'}"]


def _facts(item: "Checked", texts: Mapping[str, str], language: str) -> list[tuple[str, str]]:
    """What is known of one answer: the label of each line, and its text."""
    from ragstone.responses.stages import FIRST_TOKEN  # noqa: PLC0415

    response, seconds = item.response, texts["time"].format(seconds=item.seconds)
    if response is None:
        return [("error", failure_in(item.error, language)), ("seconds", seconds)]
    first = next((step.seconds for step in response.steps if step.name == FIRST_TOKEN), None)
    if first is not None:
        seconds += texts["first"].format(seconds=first)
    ids = texts["join"].join(passage.id for passage in response.passages)
    passages = texts["count"].format(n=len(response.passages), ids=_short(ids)) if ids else texts["none"]
    stages = " → ".join(
        _stage(step) for step in response.steps if step.name in ("rewrite", "fetch", "rerank", "prompt")
    )
    usage = response.usage
    spent = texts["unknown"] if usage is None else texts["tokens"].format(
        prompt=usage.prompt_tokens, answer=usage.completion_tokens, requests=usage.requests
    )  # fmt: skip
    return [
        ("answer", _short(response.answer) or texts["empty"]), ("passages", passages),
        ("stages", stages or texts["unknown"]), ("usage", spent), ("seconds", seconds),
    ]  # fmt: skip


def _stage(step: "Step") -> str:
    """A stage with the number of its passages, or with the query that was searched for."""
    found = step.output if isinstance(step.output, list) else [step.output]
    return f"rewrite “{_short(str(found[-1]))}”" if step.name == "rewrite" else f"{step.name} {len(found)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
