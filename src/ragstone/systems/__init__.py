"""What is under test, by name: a chat model as a reader, the extractive baseline, or a system that somebody registered.

A system is an object with `id`, `spec` and `answer` (`types.System`). Another package offers one by an entry point of
the group `ragstone.systems`, and anybody by its place (`package.module:name`, `file.py:name`): the system, or a
function without arguments that returns it.
"""

import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import entry_points
from typing import Any

from ragstone.errors import UsageError
from ragstone.models import ModelOptions, open_model
from ragstone.registry import is_place, load_place
from ragstone.types import Sampling, System, Template

__all__ = ["is_registered", "open_system"]

_DEFAULT = ModelOptions()


def is_registered(name: str) -> bool:
    """Whether a name is that of a system of another package, or the place of one."""
    return is_place(name) or bool(entry_points(group="ragstone.systems", name=name))


def _registered(name: str) -> Any:
    """What somebody offers under this name, or None."""
    if is_place(name):
        return load_place("system", name)
    entries = list(entry_points(group="ragstone.systems", name=name))
    if len(entries) > 1:
        raise UsageError(f"Two systems are named {name!r}: {', '.join(entry.value for entry in entries)}.")
    return entries[0].load() if entries else None


@contextlib.asynccontextmanager
async def open_system(
    name: str | System, *, template: Template, sampling: Sampling | None = None, options: ModelOptions = _DEFAULT
) -> AsyncIterator[System]:
    """The system of this name (or itself, where it is one), ready to be asked: `local/extractive`, `local/retrieval`
    (no reader), one that is registered under the name or at its place, or the chat model of the name as a `Reader` with
    `template` and `sampling` (None: the template's).

    Raises as `open_model` does where there is no such system.
    """
    if not isinstance(name, str):
        yield name
        return
    if name == "local/extractive":
        from ragstone.systems.extractive import Extractive  # noqa: PLC0415  (brings the tools for Chinese)

        yield Extractive(refuses=getattr(template, "refuses", True))
        return
    if name == "local/retrieval":
        from ragstone.systems.retrieval_only import RetrievalOnly  # noqa: PLC0415

        yield RetrievalOnly()
        return
    if (offered := _registered(name)) is not None:
        system = offered if isinstance(offered, System) and not isinstance(offered, type) else offered()
        if not isinstance(system, System):
            raise UsageError(f"The system {name!r} is not one: it needs id, spec and answer.")
        yield system
        return
    from ragstone.models.network import normal_base_url  # noqa: PLC0415
    from ragstone.systems.reader import Reader  # noqa: PLC0415
    from ragstone.text.redaction import shown_url  # noqa: PLC0415

    async with open_model(name, options) as model:
        local = name.startswith(("local/", "scripted/"))  # a base URL is for the other models of the same command
        endpoint = shown_url(normal_base_url(options.base_url)) if options.base_url and not local else ""
        yield Reader(model, template, sampling, endpoint=endpoint)
