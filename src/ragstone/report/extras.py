"""Optional parts: imported when they are needed, with the command that installs them where they are missing."""

import importlib
from types import ModuleType

from ragstone.errors import MissingExtra

__all__ = ["load"]


def load(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`. Where a package is missing, `MissingExtra` says what `purpose` needs and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        if missing == "ragstone":
            raise
        raise MissingExtra(
            f"{purpose} needs {missing}, which is not installed. Run: pip install 'ragstone[{extra}]'"
        ) from None
