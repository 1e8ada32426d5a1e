"""The options that name a user's own system: Python code, an HTTP address, a table of ragstone.toml."""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, Pairs, both, once
from ragstone.errors import UsageError
from ragstone.evaluation.commands.trust import with_consent

if TYPE_CHECKING:
    from ragstone.systems.http import HttpTarget
    from ragstone.systems.rag import RagTarget
    from ragstone.systems.with_retriever import SystemTarget

_HTTP = ("method", "headers", "body", "answer", "contexts", "ids", "usage")

http_options = both(
    click.option("--method", type=click.Choice(["POST", "GET", "PUT"]), default=None,
                 help="Method of the HTTP request.  [default: POST]"),
    click.option("--header", "headers", type=Pairs(), multiple=True, metavar="NAME=VALUE",
                 help="Header of the HTTP request; $NAME is read from the environment (repeatable)."),
    click.option("--body", metavar="JSON",
                 help='Body of the HTTP request; also filled in: "{passages}", "{k}", "{history}", "{language}", '
                 '"{retrieve_only}".  [default: {"question": "{question}"}]'),
    click.option("--answer", metavar="PATH", help="Where the answer is in the reply (JMESPath)."),
    click.option("--contexts", metavar="PATH", help="Where the passages are in the reply (JMESPath)."),
    click.option("--ids", metavar="PATH", help="Where the passages' ids are in the reply (JMESPath)."),
    click.option("--usage", metavar="PATH", help="Where the token counts are in the reply (JMESPath)."),
)  # fmt: skip

system_details = both(
    click.option("--corpus", type=PATH,
                 help="Documents for rag(retriever=bm25, model=local/extractive, k=5): a folder or a file."),
    click.option("--model", default="", metavar="NAME",
                 help="Model of rag(…) over the --corpus.  [default: local/extractive]"),
    click.option("--retriever", default="", metavar="NAME",
                 help="Retriever of the system, for searches without an answer: app.py:search, or an HTTP address, "
                 'which gets {"query": …, "k": …}.'),
    click.option("--name", "name", default="", help="Name of the system.  [default: as given]"),
    http_options,
)  # fmt: skip

system_options = both(
    click.option("--system", "system", default="", metavar="NAME",
                 help="System to ask: file.py:name, package.module:name, an HTTP address, a model, or a "
                 "table [systems.NAME] of ragstone.toml."),
    system_details,
)  # fmt: skip


def system_of(values: dict[str, Any]) -> "str | HttpTarget | RagTarget | SystemTarget":
    """The system that the options name. Raises UsageError for options that do not apply to it."""
    from ragstone.engine.project_config import configured_system  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415

    system = with_consent(lambda: configured_system(values["system"]))
    if isinstance(system, RagTarget) or values["corpus"] is not None or values["system"].startswith("rag("):
        return _rag_of(system, values)
    if not system:
        raise UsageError(
            "Name a system to ask: --system app.py:ask, or --corpus with a folder of documents; `ragstone init` sets "
            "one up."
        )
    if values["model"]:
        raise UsageError("--model is for rag(…) over a --corpus: name the folder of documents.")
    configured = system if isinstance(system, SystemTarget) else SystemTarget(system, "")
    asked = _with_http_options(configured.system, values)
    retriever = values["retriever"] or configured.retriever
    return SystemTarget(asked, retriever) if retriever else asked


def _with_http_options(system: "str | HttpTarget", values: dict[str, Any]) -> "str | HttpTarget":
    from ragstone.systems import is_address  # noqa: PLC0415
    from ragstone.systems.http import HttpTarget  # noqa: PLC0415

    options = http_of(values)
    if isinstance(system, str) and not is_address(system):
        if options:
            option = "--header" if "headers" in options else f"--{next(iter(options))}"
            raise UsageError(f"{option} is for HTTP addresses; {system} is none.")
        if values["name"]:
            raise UsageError("--name is for HTTP addresses; other systems are named as they are given.")
        return system
    if values["name"]:
        options["name"] = values["name"]
    return dataclasses.replace(HttpTarget(system) if isinstance(system, str) else system, **options)


def http_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `HttpTarget` that the options set."""
    options = {name: values[name] for name in _HTTP if values[name]}
    if "headers" in options:
        options["headers"] = once(options["headers"], "--header")
    return options


def bench_systems(values: Mapping[str, Any]) -> list[Any]:
    """The systems of a benchmark that `--system` and the options of HTTP requests name. Raises UsageError for options
    without an address, and for `rag(…)`, which retrieves."""
    from ragstone.engine.project_config import configured_reader  # noqa: PLC0415

    systems = [with_consent(partial(configured_reader, name)) for name in values["systems"]]
    http = {name: values[name] for name in _HTTP}
    if not any(http.values()):
        return systems
    if len(systems) != 1:
        option = next(name for name in _HTTP if http[name]).removesuffix("s")
        raise UsageError(f"--{option} is for one HTTP address, given as --system.")
    return [_with_http_options(systems[0], {**http, "name": ""})]


def _rag_of(system: Any, values: dict[str, Any]) -> "RagTarget":
    from ragstone.retrieval import brings_documents  # noqa: PLC0415
    from ragstone.retrieval.corpus import NO_CORPUS  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget, rag_target  # noqa: PLC0415

    if not isinstance(system, str | RagTarget) or (
        isinstance(system, str) and system and not system.startswith("rag(")
    ):
        raise UsageError(f"--corpus is for rag(…); {values['system']} has documents of its own: leave --corpus out.")
    if values["retriever"]:
        raise UsageError("--retriever is for a system of your own; that of rag(…) is rag(retriever=…).")
    if options := [name for name in (*_HTTP, "name") if values[name]]:
        raise UsageError(f"--{options[0].removesuffix('s')} is for HTTP addresses.")
    if isinstance(system, RagTarget):
        changes = {name: values[name] for name in ("corpus", "model") if values[name]}
        return dataclasses.replace(system, **changes)
    target = rag_target(system or "rag()", NO_CORPUS if values["corpus"] is None else values["corpus"])
    if values["corpus"] is None and not brings_documents(target.retriever):
        raise UsageError(f"{values['system']} needs documents: name a folder or file with --corpus.")
    if values["model"]:
        if "model=" in system:
            raise UsageError("Name the model once: in rag(model=…) or with --model.")
        target = dataclasses.replace(target, model=values["model"])
    return target
