"""Systems by name in `ragstone.toml`.

[systems.prod]
url = "https://app.example/ask"
headers = { Authorization = "Bearer $APP_TOKEN" }
body = '{"question": "{question}"}'
answer = "answer"
contexts = "sources[].text"

[systems.local]
python = "app.py:chain"
"""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.systems.http import HttpTarget

__all__ = ["CONFIG", "configured_system"]

CONFIG = Path("ragstone.toml")


def configured_system(name: str, path: Path = CONFIG) -> str | HttpTarget:
    """The system of the table `[systems.NAME]` of the file, or `name` itself if there is none. Raises DataError for a
    table with unknown or impossible entries."""
    tables = _tables(path)
    if name not in tables:
        return name
    table, field = tables[name], f"systems.{name}"
    if not isinstance(table, dict):
        raise DataError(path, "it should be a table.", field=field)
    if "python" in table:
        if set(table) != {"python"} or not isinstance(table["python"], str):
            raise DataError(path, 'a Python system has just one entry, python = "file.py:name".', field=field)
        return str(table["python"])
    known = {item.name: item for item in dataclasses.fields(HttpTarget)}
    for key, value in table.items():
        if key not in known:
            raise UsageError(f"{path}: {UnknownName(f'entry of [{field}]', key, [*known, 'python'])}")
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
