"""Systems by name in `ragstone.toml`.

[systems.prod]
url = "https://app.example/ask"
headers = { Authorization = "Bearer $APP_TOKEN" }
body = '{"question": "{question}"}'
answer = "answer"
contexts = "sources[].text"

retrieve = { url = "https://app.example/search", body = '{"q": "{question}", "n": "{k}"}' }

[systems.local]
python = "app.py:chain"
retrieve = "app.py:search"

`retrieve` is asked for passages alone: an address, code, or a table like that of a system behind an address.
"""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.systems.http import HttpTarget
from ragstone.systems.with_retriever import SystemTarget

__all__ = ["CONFIG", "configured_system"]

CONFIG = Path("ragstone.toml")


def configured_system(name: str, path: Path = CONFIG) -> str | HttpTarget | SystemTarget:
    """The system of the table `[systems.NAME]` of the file, or `name` itself if there is none. Raises DataError for a
    table with unknown or impossible entries."""
    tables = _tables(path)
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
        retrieve = _http_target(retrieve, path, f"{field}.retrieve", "")
    elif not isinstance(retrieve, str):
        raise DataError(path, "retrieve should be a text or a table.", field=field)
    return SystemTarget(system, retrieve)


def _system(table: dict[str, Any], path: Path, field: str, name: str) -> str | HttpTarget:
    if "python" in table:
        if set(table) != {"python"} or not isinstance(table["python"], str):
            reason = 'a Python system has just one entry besides retrieve, python = "file.py:name".'
            raise DataError(path, reason, field=field)
        return str(table["python"])
    return _http_target(table, path, field, name)


def _http_target(table: dict[str, Any], path: Path, field: str, name: str) -> HttpTarget:
    known = {item.name: item for item in dataclasses.fields(HttpTarget)}
    for key, value in table.items():
        if key not in known:
            raise UsageError(f"{path}: {UnknownName(f'entry of [{field}]', key, [*known, 'python', 'retrieve'])}")
        if not isinstance(value, dict if key == "headers" else str):
            raise DataError(path, f"{key} should be {'a table' if key == 'headers' else 'a text'}.", field=field)
    if "url" not in table:
        raise DataError(path, "it names no system: add url = … or python = ….", field=field)
    return HttpTarget(**{"name": name, **table})


def _tables(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"it is not TOML ({error}).") from None
    tables = config.get("systems", {})
    if not isinstance(tables, dict):
        raise DataError(path, "it should be a table of systems.", field="systems")
    return tables
