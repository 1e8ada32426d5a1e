"""The capabilities of ragstone, each a folder of its own, and what they bring to the floors below them."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from types import ModuleType

CAPABILITIES: tuple[str, ...] = ("cluster", "comparison", "construction", "diagnosis", "experts", "viewer")
"""The folders of ragstone that bring commands, benchmarks, sections and pages of their own: a capability is one line
here."""


def brought(part: str) -> Iterator[ModuleType]:
    """What the capabilities bring for a part, such as "sections": the module of that name in the folder of each, or the
    modules of the package of that name."""
    for capability in CAPABILITIES:
        if importlib.util.find_spec(name := f"ragstone.{capability}.{part}") is not None:
            module = importlib.import_module(name)
            yield from modules_in(module) if hasattr(module, "__path__") else (module,)


def commands_brought() -> Iterator[tuple[str, tuple[str, str]]]:
    """The commands of all capabilities: name, (module, first line of its help)."""
    for capability in CAPABILITIES:
        yield from importlib.import_module(f"ragstone.{capability}").COMMANDS.items()


def modules_in(package: ModuleType) -> Iterator[ModuleType]:
    """The modules of a package but for those whose names begin with an underscore."""
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{info.name}")
