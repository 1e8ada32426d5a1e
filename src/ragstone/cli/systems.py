"""The options that name a user's own system: Python code, an HTTP address, a table of ragstone.toml."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.options import Pairs, both, once
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.systems.http import HttpTarget
    from ragstone.systems.rag import RagTarget
    from ragstone.systems.with_retriever import SystemTarget

__all__ = ["bench_system", "system_details", "system_of", "system_options"]

_HTTP = ("method", "headers", "body", "answer", "contexts", "ids", "usage")

system_details = both(
    click.option("--corpus", type=click.Path(path_type=Path),
                 help="Documents for rag(retriever=bm25, model=local/extractive, k=5): a folder or a file."),
    click.option("--model", default="", metavar="NAME",
                 help="Model of rag(…) over the --corpus.  [default: local/extractive]"),
    click.option("--retriever", default="", metavar="NAME",
                 help="Retriever of the system, for searches without an answer: app.py:search or an HTTP address."),
    click.option("--name", "name", default="", help="Name of the system.  [default: as given]"),
    click.option("--method", type=click.Choice(["POST", "GET", "PUT"]), default=None,
                 help="Method of the HTTP request.  [default: POST]"),
    click.option("--header", "headers", type=Pairs(), multiple=True, metavar="NAME=VALUE",
                 help="Header of the HTTP request; $NAME is read from the environment (repeatable)."),
    click.option("--body", metavar="JSON", help='Body of the HTTP request.  [default: {"question": "{question}"}]'),
    click.option("--answer", metavar="PATH", help="Where the answer is in the reply (JMESPath)."),
    click.option("--contexts", metavar="PATH", help="Where the passages are in the reply (JMESPath)."),
    click.option("--ids", metavar="PATH", help="Where the passages' ids are in the reply (JMESPath)."),
    click.option("--usage", metavar="PATH", help="Where the token counts are in the reply (JMESPath)."),
)  # fmt: skip

system_options = both(
    click.option("--system", "system", default="", metavar="NAME",
                 help="System to ask: file.py:name, package.module:name, an HTTP address, a model, or a "
                 "table [systems.NAME] of ragstone.toml."),
    system_details,
)  # fmt: skip


def system_of(values: dict[str, Any]) -> "str | HttpTarget | RagTarget | SystemTarget":
    """The system that the options name. Raises UsageError for options that do not apply to it."""
    from ragstone.api.system_config import configured_system  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415

    if values["corpus"] is not None or values["system"].startswith("rag("):
        return _rag_of(values)
    if not values["system"]:
        raise UsageError("Name a system to ask: --system app.py:ask, or --corpus with a folder of documents.")
    if values["model"]:
        raise UsageError("--model is for rag(…) over a --corpus: name the folder of documents.")
    named = configured_system(values["system"])
    configured = named if isinstance(named, SystemTarget) else SystemTarget(named, "")
    system = _with_http_options(configured.system, values)
    retriever = values["retriever"] or configured.retriever
    return SystemTarget(system, retriever) if retriever else system


def _with_http_options(system: "str | HttpTarget", values: dict[str, Any]) -> "str | HttpTarget":
    from ragstone.systems import is_address  # noqa: PLC0415
    from ragstone.systems.http import HttpTarget  # noqa: PLC0415

    options = {name: values[name] for name in _HTTP if values[name]}
    if "headers" in options:
        options["headers"] = once(options["headers"], "--header")
    if isinstance(system, str) and not is_address(system):
        if options:
            option = "--header" if "headers" in options else f"--{next(iter(options))}"
            raise UsageError(f"{option} is for HTTP addresses; {system} is none.")
        if values["name"]:
            raise UsageError("--name is for HTTP addresses; other systems are named as they are given.")
        return system
    if values["name"]:
        options["name"] = values["name"]
    target = HttpTarget(system) if isinstance(system, str) else system
    return HttpTarget(**{**{name: getattr(target, name) for name in target.__dataclass_fields__}, **options})


def bench_system(name: str) -> "str | HttpTarget | SystemTarget":
    """The system that `bench --system` names. Raises UsageError for `rag(…)`, which retrieves."""
    from ragstone.api.system_config import configured_system  # noqa: PLC0415

    if name.startswith("rag("):
        raise UsageError(f"{name} retrieves for itself, but benchmarks hand over the passages: name its model instead.")
    return configured_system(name)


def _rag_of(values: dict[str, Any]) -> "RagTarget":
    from ragstone.systems.rag import rag_target  # noqa: PLC0415

    if values["corpus"] is None:
        raise UsageError(f"{values['system']} needs documents: name a folder or file with --corpus.")
    if values["system"] and not values["system"].startswith("rag("):
        raise UsageError(f"--corpus is for rag(…); {values['system']} has documents of its own.")
    if values["retriever"]:
        raise UsageError("--retriever is for a system of your own; that of rag(…) is rag(retriever=…).")
    if options := [name for name in (*_HTTP, "name") if values[name]]:
        raise UsageError(f"--{options[0].removesuffix('s')} is for HTTP addresses.")
    target = rag_target(values["system"] or "rag()", values["corpus"])
    if values["model"]:
        if "model=" in values["system"]:
            raise UsageError("Name the model once: in rag(model=…) or with --model.")
        target = dataclasses.replace(target, model=values["model"])
    return target
