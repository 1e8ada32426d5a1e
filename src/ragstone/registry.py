"""Plug-ins by name: built-ins are found by scanning their package, other people's through entry points.

A module exports its plug-ins in a module-level mapping `PLUGINS` from the user's spelling of the name to the object; an
entry point in the registry's group does the same for one name. Adding a built-in means adding one file. Wherever a name
is accepted, so is a location, `package.module:name` or `path/file.py:name`, and in Python the object itself. A name in
somebody's file is looked up with `installed`, which never loads a location.
"""

import hashlib
import importlib
import importlib.util
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from ragstone.capabilities import brought, modules_in
from ragstone.errors import UnknownName, UsageError

T = TypeVar("T")
_log = logging.getLogger(__name__)
_PLACE = re.compile(r"(?P<module>.+\.py|[A-Za-z_]\w*(\.\w+)*):(?P<name>[A-Za-z_]\w*)")


def is_place(name: str) -> bool:
    """Whether a name is a location: `package.module:name` or `path/file.py:name`."""
    return _PLACE.fullmatch(name) is not None


_SHOWN = 10  # names of a module that a message lists
_loaded: set[str] = set()


def is_loaded(place: str) -> bool:
    """Whether this process has already run the code at this location, because its user named it."""
    return place in _loaded


def load_place(kind: str, place: str) -> Any:
    """The object at a location. Raises UsageError if there is none or if its module cannot be loaded."""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"{place!r} is not the location of a {kind}: write package.module:name or file.py:name.")
    module = _module(kind, place, match["module"])
    _loaded.add(place)
    try:
        return getattr(module, match["name"])
    except AttributeError:
        own = {name for name, value in vars(module).items() if not (name[0] == "_" or isinstance(value, ModuleType))}
        has = f" It has: {', '.join(sorted(own)[:_SHOWN])}." if own else ""
        raise UnknownName(kind, match["name"], own, hint=f"It should be in {match['module']}.{has}") from None


def _module(kind: str, place: str, name: str) -> ModuleType:
    folder = str(Path.cwd())
    added = folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        return _from_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except (Exception, SystemExit) as error:  # user code may raise anything, and leave
        raise UsageError(
            f"The {kind} {place!r} cannot be loaded ({type(error).__name__}: {error}). Check that it exists and runs."
        ) from error
    finally:
        if added:
            sys.path.remove(folder)


def _from_file(path: Path) -> ModuleType:
    """Load a file as a module, once. It has its usual name where an `import` finds it (as processes that it starts do),
    else one of its own."""
    full = path.expanduser().resolve()
    name = full.stem
    if not (name.isidentifier() and _is_found_as(name, full)):
        name += "_" + hashlib.sha256(str(full).encode()).hexdigest()[:12]
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, full)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # where dataclasses look it up
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _is_found_as(name: str, path: Path) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module in memory may have no spec
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve() == path


class Registry(Generic[T]):
    """All plug-ins of one `kind`. Nothing is imported before the first look-up.

    `package` is scanned for modules with a `PLUGINS` mapping, and so is the `part` of each capability (`brought`);
    `group` is the entry-point group (`ragstone.metrics`).
    `needs`: the attributes of a plug-in; of those written `this|that` it has at least one, and one written `this:KIND`
    is of a kind of `_KINDS`. A plug-in of another package that cannot be loaded costs its own name only; a warning
    names the package and the reason.
    """

    def __init__(
        self, kind: str, package: str, group: str, *, hint: str = "", needs: Sequence[str] = (), part: str = ""
    ) -> None:
        self.kind, self.package, self.group, self.hint, self.needs, self.part = kind, package, group, hint, needs, part
        self._broken: dict[str, str] = {}  # name → why its plug-in cannot be used
        self._owners: dict[str, str] = {}  # name → the package of others that brought its plug-in

    @cached_property
    def _plugins(self) -> dict[str, T]:
        plugins: dict[str, T] = {}
        parts = brought(self.part) if self.part else ()
        for module in chain(modules_in(importlib.import_module(self.package)), parts):
            for name, plugin in getattr(module, "PLUGINS", {}).items():
                if name in plugins:
                    raise UsageError(f"Two {self.kind}s are named {name!r}; one is in {module.__name__}.")
                plugins[name] = plugin
        for entry in entry_points(group=self.group):
            try:
                if entry.name in plugins:
                    raise UsageError(
                        f"Two {self.kind}s are named {entry.name!r}; one is the entry point {entry.value}."
                    )
                plugins[entry.name] = self._checked(entry.value, entry.load())
                self._owners[entry.name] = entry.value if entry.dist is None else entry.dist.name
            except (Exception, SystemExit) as error:  # user code may raise anything, and leave
                self._leave_out(entry, error, named=entry.name in plugins)
        return dict(sorted(plugins.items()))

    def _leave_out(self, entry: EntryPoint, error: BaseException, *, named: bool) -> None:
        owner = f" of {entry.dist.name}" if entry.dist is not None else ""
        reason = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        reason = reason.rstrip(".")
        problem = (
            f"The {self.kind} {entry.name!r}{owner} cannot be loaded from {entry.value} ({' '.join(reason.split())}). "
            "Fix or uninstall the package."
        )
        if not named:
            self._broken[entry.name] = problem
        _log.warning("%s", problem)

    def owner(self, name: str) -> str | None:
        """The package of others that brought the plug-in of this name; None for one of ragstone."""
        return self._owners.get(name) if name in self._plugins else None

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(self._plugins)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(self._plugins.items())

    def __contains__(self, name: str) -> bool:
        return name in self._plugins

    def get(self, name: str | T) -> T:
        """The plug-in with this name or at this location; anything but a string is returned as is. Raises `UnknownName`
        with the nearest spelling if there is none."""
        if not isinstance(name, str):
            return name
        if name in self._plugins:
            return self._plugins[name]
        if is_place(name):
            return self._checked(name, load_place(self.kind, name))
        return self.installed(name)

    def installed(self, name: str) -> T:
        """The plug-in of an installed package with this name; a location is no name. Raises `UnknownName` with the
        nearest spelling if there is none, and UsageError for one that cannot be loaded."""
        if name in self._plugins:
            return self._plugins[name]
        if name in self._broken:
            raise UsageError(self._broken[name])
        raise UnknownName(self.kind, name, self._plugins, hint=self.hint)

    def _checked(self, name: str, found: Any) -> T:
        for names in (part.split("|") for part in self.needs):
            if not any(_has(found, part) for part in names):
                attribute, _, kind = names[0].partition(":")
                if kind and _has(found, attribute):
                    raise UsageError(f"{name} is not a {self.kind}: its {attribute!r} is not {_KINDS[kind][1]}.")
                raise UsageError(f"{name} is not a {self.kind}: it has no {attribute!r}.")
        return cast("T", found)


_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "call": (callable, "a function"),
    "text": (lambda value: isinstance(value, str), "a text"),
    "number": (lambda value: isinstance(value, int | float), "a number"),
    "table": (lambda value: isinstance(value, Mapping), "a mapping"),
}


def _has(found: Any, part: str) -> bool:
    attribute, _, kind = part.partition(":")
    if attribute == "__call__":  # every class has it, also where its objects cannot be called
        return callable(found)
    if isinstance(value := getattr(type(found), attribute, None), property):
        return True  # its value may take long
    if not hasattr(type(found), attribute) and not hasattr(found, attribute):
        return False
    return not kind or _KINDS[kind][0](getattr(found, attribute, value))
