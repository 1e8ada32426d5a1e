"""`ragstone.toml` in the current folder: systems by name, the defaults of `ragstone run`, and gates.

[systems.prod]
url = "https://app.example/ask"
headers = { Authorization = "Bearer $APP_TOKEN" }
body = '{"question": "{question}"}'
answer = "answer"
contexts = "sources[].text"
retrieve = { url = "https://app.example/search", body = '{"q": "{query}", "n": "{k}"}', contexts = "hits" }

[systems.local]
python = "app.py:chain"
retrieve = "app.py:search"

[systems.docs]
corpus = "docs"
rag = "rag(retriever=bm25, k=3)"

[run]                          # options of `ragstone run`, and `questions`
questions = "questions.csv"
system = "local"
metrics = ["answer_match"]

[gates]                        # as [tool.ragstone.gates] of pyproject.toml
answer_match = 0.8

`retrieve` is asked for passages alone: a retriever of the user's own (`retrieval/own.py`) by its name, or a table with
the options of `http(…)`.
"""

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.models.nested_names import HTTP, Spec
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget, rag_target
from ragstone.systems.with_retriever import SystemTarget

__all__ = ["CONFIG", "configured_reader", "configured_system", "run_settings"]

CONFIG = Path("ragstone.toml")
_HTTP_RETRIEVER = ("url", "method", "headers", "body", "contexts", "ids", "scores")


def configured_system(name: str, path: Path = CONFIG) -> str | HttpTarget | RagTarget | SystemTarget:
    """The system of the table `[systems.NAME]` of the file, or `name` itself if there is none. Raises DataError for a
    table with unknown or impossible entries."""
    tables = _table(path, "systems", "a table of systems")
    if name not in tables:
        return name
    table, field = tables[name], f"systems.{name}"
    if not isinstance(table, dict):
        raise DataError(path, "it should be a table.", field=field)
    retrieve = table.pop("retrieve", None)
    system = _system(table, path, field, name)
    if retrieve is None:
        return system
    if isinstance(retrieve, dict):
        retrieve = _http_retriever(retrieve, path, f"{field}.retrieve")
    elif not isinstance(retrieve, str):
        raise DataError(path, "retrieve should be a text or a table.", field=field)
    if isinstance(system, RagTarget):
        raise DataError(path, "a system over documents has its retriever in rag(retriever=…).", field=field)
    return SystemTarget(system, retrieve)


def configured_reader(system: Any) -> Any:
    """The system of a name or object, for a benchmark that hands over the passages. Raises UsageError for `rag(…)`,
    which retrieves."""
    found = configured_system(system) if isinstance(system, str) else system
    if isinstance(found, RagTarget) or (isinstance(found, str) and found.startswith("rag(")):
        name = system if isinstance(system, str) else system.name
        raise UsageError(f"{name} retrieves for itself, but benchmarks hand over the passages: name its model instead.")
    return found


def _system(table: dict[str, Any], path: Path, field: str, name: str) -> str | HttpTarget | RagTarget:
    if "python" in table:
        if set(table) != {"python"} or not isinstance(table["python"], str):
            reason = 'a Python system has just one entry besides retrieve, python = "file.py:name".'
            raise DataError(path, reason, field=field)
        return str(table["python"])
    if "corpus" in table:
        if not set(table) <= {"corpus", "rag"} or not all(isinstance(value, str) for value in table.values()):
            raise DataError(path, 'a system over documents has corpus = "FOLDER" and rag = "rag(…)".', field=field)
        return rag_target(table.get("rag", "rag()"), table["corpus"])
    return _http_target(table, path, field, name)


def _http_target(table: dict[str, Any], path: Path, field: str, name: str) -> HttpTarget:
    known = {item.name: item for item in dataclasses.fields(HttpTarget)}
    for key, value in table.items():
        if key not in known:
            entries = [*known, "python", "corpus", "retrieve"]
            raise UsageError(f"{path}: {UnknownName(f'entry of [{field}]', key, entries)}")
        if not isinstance(value, dict if key == "headers" else str):
            raise DataError(path, f"{key} should be {'a table' if key == 'headers' else 'a text'}.", field=field)
    if "url" not in table:
        raise DataError(path, "it names no system: add url = …, python = … or corpus = ….", field=field)
    return HttpTarget(**{"name": name, **table})


def _http_retriever(table: dict[str, Any], path: Path, field: str) -> str:
    """The name `http(…)` of a retriever behind an address."""
    for key, value in table.items():
        if key not in _HTTP_RETRIEVER:
            raise UsageError(f"{path}: {UnknownName(f'entry of [{field}]', key, _HTTP_RETRIEVER)}")
        if not isinstance(value, dict if key == "headers" else str):
            raise DataError(path, f"{key} should be {'a table' if key == 'headers' else 'a text'}.", field=field)
    if "url" not in table:
        raise DataError(path, "it names no address: add url = ….", field=field)
    options = {key: value if isinstance(value, str) else json.dumps(value) for key, value in table.items()}
    return Spec(HTTP, (options.pop("url"),), options).name


def run_settings(path: Path = CONFIG) -> Mapping[str, Any]:
    """The table `[run]` of the file; empty if there is none."""
    return _table(path, "run", "a table of options")


def _table(path: Path, name: str, expected: str) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"it is not TOML ({error}).") from None
    table = config.get(name, {})
    if not isinstance(table, dict):
        raise DataError(path, f"it should be {expected}.", field=name)
    return table
