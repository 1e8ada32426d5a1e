"""Optional parts: imported when they are needed, with the command that installs them where they are missing."""

import contextlib
import importlib
import logging
from collections.abc import Iterator
from types import ModuleType

from ragstone.errors import MissingExtra

__all__ = ["load"]


def load(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`. Where a package is missing, `MissingExtra` says what `purpose` needs and how to install it."""
    try:
        with _without_warnings("matplotlib"):
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        if missing == "ragstone":
            raise
        raise MissingExtra(
            f"{purpose} needs {missing}, which is not installed. Run: pip install 'ragstone[{extra}]'"
        ) from None


@contextlib.contextmanager
def _without_warnings(library: str) -> Iterator[None]:
    """Keeps back what a library logs while it is imported: matplotlib warns where HOME cannot be written, and then
    works all the same from a temporary folder."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
