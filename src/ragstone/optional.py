"""Imports optional packages when they are needed, with an install hint where one is missing.

The hint holds for every installation: `pip install 'ragstone[EXTRA]'` keeps the ragstone that is installed, also one
from a checkout, and looks up only the packages that the extra adds.
"""

import contextlib
import importlib
import logging
from collections.abc import Iterator
from types import ModuleType

from ragstone.errors import MissingExtra


def install_command(extra: str) -> str:
    """The shell command that adds an extra to the installed ragstone."""
    return f"pip install 'ragstone[{extra}]'"


def load(module: str, *, extra: str, purpose: str, package: str = "") -> ModuleType:
    """Import `module`. Raises `MissingExtra` with the install command for `purpose` where a package is missing:
    `package`, if that is not the module's name."""
    try:
        with _without_warnings("matplotlib"):
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        if missing == "ragstone":
            raise
        raise MissingExtra(
            f"{purpose} needs {package or missing}, which is not installed. Run: {install_command(extra)}"
        ) from None


@contextlib.contextmanager
def _without_warnings(library: str) -> Iterator[None]:
    """Silence the warnings of a library during its import: matplotlib warns if HOME is not writable, although it then
    uses a temporary folder."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
