"""Diagnosis things by name: built-ins by scanning their package, other people's by entry points, through one door.

A module offers what it has in a module-level mapping `PLUGINS`, from the name as a user spells it to the thing; an
entry point in the registry's group does the same for one name. Adding a built-in is adding one file. Wherever a name is
taken, so is a place, `package.module:name` or `path/file.py:name`, and in Python the thing itself.
"""

import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from ragstone.errors import UnknownName, UsageError

__all__ = ["Registry", "is_place", "load_place"]

T = TypeVar("T")
_PLACE = re.compile(r"(?P<module>.+\.py|[A-Za-z_]\w*(\.\w+)*):(?P<name>[A-Za-z_]\w*)")


def is_place(name: str) -> bool:
    """Whether a name says where a thing is: `package.module:name` or `path/file.py:name`."""
    return _PLACE.fullmatch(name) is not None


def load_place(kind: str, place: str) -> Any:
    """The thing at a place. Raises UsageError where there is none, or where its module cannot be loaded."""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise UsageError(f"{place!r} is no place of a {kind}: write package.module:name or file.py:name.")
    module = _module(kind, place, found["module"])
    try:
        return getattr(module, found["name"])
    except AttributeError:
        names = [name for name in vars(module) if not name.startswith("_")]
        raise UnknownName(kind, found["name"], names, hint=f"It should be in {found['module']}.") from None


def _module(kind: str, place: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.append(here)
    try:
        return _from_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except Exception as error:  # somebody else's module
        raise UsageError(
            f"The {kind} {place!r} cannot be loaded ({type(error).__name__}: {error}). Is it there, and does it run?"
        ) from error
    finally:
        if added:
            sys.path.remove(here)


def _from_file(path: Path) -> ModuleType:
    """A file as a module, loaded once."""
    full = path.expanduser().resolve()
    name = f"{full.stem}_{hashlib.sha256(str(full).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, full)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look for it there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


class Registry(Generic[T]):
    """All `kind`s there are. Nothing is imported before the first look-up.

    `package` is scanned for modules with a `PLUGINS` mapping; `group` is the entry-point group (`ragstone.metrics`).
    """

    def __init__(self, kind: str, package: str, group: str, *, hint: str = "") -> None:
        self.kind, self.package, self.group, self.hint = kind, package, group, hint

    @cached_property
    def _found(self) -> dict[str, T]:
        found: dict[str, T] = {}
        package = importlib.import_module(self.package)
        for info in pkgutil.iter_modules(package.__path__):
            if info.name.startswith("_"):
                continue
            module = importlib.import_module(f"{self.package}.{info.name}")
            for name, thing in getattr(module, "PLUGINS", {}).items():
                if name in found:
                    raise UsageError(f"Two {self.kind}s are named {name!r}; one is in {module.__name__}.")
                found[name] = thing
        for entry in entry_points(group=self.group):
            if entry.name in found:
                raise UsageError(f"Two {self.kind}s are named {entry.name!r}; one is the entry point {entry.value}.")
            try:
                found[entry.name] = cast("T", entry.load())
            except Exception as error:  # somebody else's module
                whose = f" of {entry.dist.name}" if entry.dist is not None else ""
                raise UsageError(
                    f"The {self.kind} {entry.name!r}{whose} cannot be loaded from {entry.value} "
                    f"({type(error).__name__}: {error}). Mend it or uninstall it."
                ) from error
        return dict(sorted(found.items()))

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(self._found)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(self._found.items())

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def get(self, name: str | T) -> T:
        """The thing of this name or at this place, or the thing itself where it is none of a text; `UnknownName` with
        the nearest spelling where there is none."""
        if not isinstance(name, str):
            return name
        if name in self._found:
            return self._found[name]
        if is_place(name):
            return cast("T", load_place(self.kind, name))
        raise UnknownName(self.kind, name, self._found, hint=self.hint)
