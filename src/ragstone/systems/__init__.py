"""Opens the system under test: a chat model as a reader, the extractive baseline, or the user's own system.

The user's own system is code (`file.py:name` or `package.module:name`), which runs in its own process; a Python object,
which runs in this process; an HTTP address; or a name that another package registers by an entry point in the group
`ragstone.systems`. An object with `id`, `spec` and `answer` (`types.System`) is used unchanged.
"""

import contextlib
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import entry_points
from typing import Any

from ragstone.errors import UsageError
from ragstone.models import ModelOptions, check_model_name, open_model
from ragstone.models.nested_names import is_address
from ragstone.registry import is_place
from ragstone.systems.accepted import ACCEPTED, accepts_of
from ragstone.systems.wrapper import counted_system
from ragstone.types import Sampling, System, Template

__all__ = [
    "ACCEPTED",
    "accepts_of",
    "is_address",
    "is_registered",
    "open_system",
    "system_name",
    "system_settings",
    "texts_of",
]

_DEFAULT = ModelOptions()
_BUILT_IN = ("local/extractive", "local/retrieval")


def is_registered(name: str) -> bool:
    """Whether a name is an HTTP address, a location of code, or a system registered by another package."""
    return is_address(name) or is_place(name) or bool(entry_points(group="ragstone.systems", name=name))


def _offered(name: str) -> Any:
    """The object that another package registered under this name, or None."""
    entries = list(entry_points(group="ragstone.systems", name=name))
    if len(entries) > 1:
        sources = ", ".join(entry.value for entry in entries)
        raise UsageError(f"Two packages register a system {name!r} ({sources}): uninstall one of them.")
    try:
        return entries[0].load() if entries else None
    except (Exception, SystemExit) as error:  # user code may raise anything, and leave
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(
            f"The system {name!r} cannot be loaded from {entries[0].value} ({reason}). Fix or uninstall the package."
        ) from error


@contextlib.asynccontextmanager
async def open_system(
    name: Any, *, template: Template, sampling: Sampling | None = None, options: ModelOptions = _DEFAULT
) -> AsyncIterator[System]:
    """Opens a system from a name, a target or a Python object.

    A chat model becomes a `Reader` with `template` and `sampling` (None: the template's). For a user's own system only
    `deadline` (seconds per answer), `in_flight` (concurrent questions) and `allowance` (its answers are requests) of
    `options` apply. Raises the errors of `open_model` for an unknown name, and UsageError for an object that cannot
    answer questions.
    """
    async with contextlib.AsyncExitStack() as stack:
        yield await _opened(name, template, sampling, options, stack)


async def _opened(
    name: Any, template: Template, sampling: Sampling | None, options: ModelOptions, stack: contextlib.AsyncExitStack
) -> System:
    from ragstone.systems.http import HttpSystem, HttpTarget  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget, open_rag  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget, WithRetriever, open_own_retriever  # noqa: PLC0415

    if isinstance(name, SystemTarget):
        system = await _opened(name.system, template, sampling, options, stack)
        return WithRetriever(name, system, await stack.enter_async_context(open_own_retriever(name.retriever, options)))
    if isinstance(name, RagTarget):

        async def open_reader(model: str, template: Template) -> System:
            return await _opened(model, template, None, options, stack)

        return await stack.enter_async_context(open_rag(name, options, open_reader))
    if isinstance(name, HttpTarget):
        return counted_system(await stack.enter_async_context(HttpSystem(name, options)), options.allowance)
    if not isinstance(name, str):
        return _live(name, _name_of(name), options)
    if name == "local/extractive":
        from ragstone.systems.extractive import Extractive  # noqa: PLC0415  (loads the tools for Chinese)

        return Extractive(refuses=getattr(template, "refuses", True))
    if name == "local/retrieval":
        from ragstone.systems.retrieval_only import RetrievalOnly  # noqa: PLC0415

        return RetrievalOnly()
    if is_address(name):
        return await _opened(HttpTarget(name), template, sampling, options, stack)
    if is_place(name):
        from ragstone.systems.isolated import open_isolated  # noqa: PLC0415

        isolated = open_isolated(name, timeout=options.deadline, threads=options.in_flight)
        return counted_system(await stack.enter_async_context(isolated), options.allowance)
    _check_is_no_file(name)
    if (offered := _offered(name)) is not None:
        return _live(offered, name, options)
    from ragstone.models.network import normal_base_url  # noqa: PLC0415
    from ragstone.systems.reader import Reader  # noqa: PLC0415
    from ragstone.text.redaction import shown_url  # noqa: PLC0415

    model = await stack.enter_async_context(open_model(name, options))
    local = name.startswith(("local/", "scripted/"))  # the base URL is for the command's other models
    endpoint = shown_url(normal_base_url(options.address)) if options.address and not local else ""
    return Reader(model, template, sampling, endpoint=endpoint)


def check_system(system: Any) -> None:
    """Raises UsageError for a name that no system can have, and for an address or a body that cannot be asked. Opens
    nothing and needs no key."""
    from ragstone.models.http_call import HEADER_OPTION, body_template, check_address  # noqa: PLC0415
    from ragstone.systems.http import HttpTarget  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415

    if isinstance(system, SystemTarget):
        check_system(system.system)
    elif isinstance(system, RagTarget):
        check_system(system.model)
    elif isinstance(system, HttpTarget):
        check_address(system.url, HEADER_OPTION)
        body_template(system.body, "--body", "question")
    elif isinstance(system, str) and is_address(system):
        check_address(system, HEADER_OPTION)
    elif isinstance(system, str) and system not in _BUILT_IN and not is_registered(system):
        _check_is_no_file(system)
        check_model_name(system)


def _check_is_no_file(name: str) -> None:
    if name.endswith((".py", ".py:")):
        raise UsageError(f"{name} is a file: name the object in it, too, for example {name.rstrip(':')}:ask.")


def texts_of(system: Any) -> Iterator[str]:
    """The names and headers by which a system is opened, before it is."""
    from ragstone.systems.http import HttpTarget  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415

    if isinstance(system, str):
        yield system
    elif isinstance(system, HttpTarget):
        yield from system.headers.values()
    elif isinstance(system, RagTarget):
        yield from (name for name in (system.retriever, system.model) if isinstance(name, str))
    elif isinstance(system, SystemTarget):
        yield from texts_of(system.system)
        yield from texts_of(system.retriever)


def _live(target: Any, name: str, options: ModelOptions) -> System:
    """A system from a Python object in this process."""
    from ragstone.systems.python import system_from  # noqa: PLC0415

    return counted_system(system_from(target, name, timeout=options.deadline), options.allowance)


def system_settings(system: Any) -> Any:
    """The settings of a system before it is opened, as JSON: its name and the hash of its code, or its spec. The
    default name of a run file is derived from them, so changed code starts a new file."""
    from ragstone.retrieval import code_of, retriever_name  # noqa: PLC0415
    from ragstone.systems.http import HttpTarget  # noqa: PLC0415
    from ragstone.systems.rag import RagTarget  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415
    from ragstone.user_code.isolated import source_hash  # noqa: PLC0415

    if isinstance(system, SystemTarget):
        return [system_settings(system.system), retriever_name(system.retriever), code_of(system.retriever)]
    if isinstance(system, HttpTarget):
        return dict(system.spec)
    if isinstance(system, RagTarget):
        code = code_of(system.retriever)
        return [system.name, getattr(system.corpus, "sha256", str(system.corpus)), *([code] if code else [])]
    if not isinstance(system, str):
        return _name_of(system)
    return [system, source_hash(system)] if is_place(system) else system


def system_name(system: Any) -> str:
    """The id that a system is expected to have once it is opened: that of an object, or its name."""
    from ragstone.systems.rag import RagTarget  # noqa: PLC0415
    from ragstone.systems.with_retriever import SystemTarget  # noqa: PLC0415

    if isinstance(system, SystemTarget):
        return system_name(system.system)
    if isinstance(system, RagTarget):
        return system.name
    return system if isinstance(system, str) else str(getattr(system, "id", "") or _name_of(system))


def _name_of(target: Any) -> str:
    return str(getattr(target, "__name__", "") or type(target).__name__)
