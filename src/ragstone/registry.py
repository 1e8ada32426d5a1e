"""Finding things by name: built-ins by scanning their package, other people's by entry points, through one door.

A module offers what it has in a module-level mapping `PLUGINS`, from the name as a user spells it to the thing; an
entry point in the registry's group does the same for one name. Adding a built-in is adding one file.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from ragstone.errors import UnknownName, UsageError

__all__ = ["Registry"]

T = TypeVar("T")


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

    def get(self, name: str) -> T:
        """The thing of this name; `UnknownName` with the nearest spelling where there is none."""
        try:
            return self._found[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._found, hint=self.hint) from None
