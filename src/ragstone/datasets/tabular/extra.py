"""The optional libraries that read spreadsheets and columnar files."""

import importlib
from types import ModuleType

from ragstone.errors import MissingExtra


def needs(module: str, purpose: str) -> ModuleType:
    """Imports a module of the extra `files`. Raises MissingExtra, which names `purpose` and how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs {missing}, which is not installed. Run: pip install 'ragstone[files]'"
        ) from None
