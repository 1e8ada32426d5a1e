"""Import optional modules when they are needed, with an install hint where a package is missing."""

import contextlib
import importlib
import logging
from collections.abc import Iterator
from types import ModuleType

from ragstone.errors import MissingExtra


def load(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`. Raises `MissingExtra` with the install command for `purpose` where a package is missing."""
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
    """Silence the warnings of a library during its import: matplotlib warns if HOME is not writable, although it then
    uses a temporary folder."""
    logger = logging.getLogger(library)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
