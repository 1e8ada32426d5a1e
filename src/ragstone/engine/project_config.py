"""`ragstone.toml`: systems by name, the defaults of `ragstone run`, and gates. Each table is taken from the nearest
folder upward, from the current one to the root of its repository or the home folder, whose file has it; paths in it
start at the folder of the file. Code, variables and addresses in it are used after one consent (`trust.py`).

[systems.prod]
url = "https://app.example/ask"
headers = { Authorization = "Bearer $APP_TOKEN" }
variables = ["APP_TOKEN"]      # the only ones that the headers may name
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

[diagnose]                     # options of a `ragstone diagnose` without QUESTIONS, besides those of [run]
corpus = "docs"

[gates]                        # as [tool.ragstone.gates] of pyproject.toml
answer_match = 0.8

`retrieve` is asked for passages alone: a retriever of the user's own (`retrieval/own.py`) by its name, or a table with
the options of `http(…)`.
"""

import dataclasses
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.engine.config_values import TABLE, TEXT, TEXT_OR_TABLE, TEXTS, check_value
from ragstone.engine.trust import TRUST, is_named, require_trust
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.models.http_call import body_template, compiled_path
from ragstone.models.nested_names import HTTP, Spec
from ragstone.registry import is_place
from ragstone.storage import FormatError, parse_toml
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget, rag_target
from ragstone.systems.with_retriever import SystemTarget

CONFIG = Path("ragstone.toml")
_HTTP_RETRIEVER = ("url", "method", "headers", "body", "contexts", "ids", "scores")
_NAME = re.compile(r"[\w.-]+")  # so that it is no PROVIDER/MODEL, address, location or rag(…)
_VARIABLE = re.compile(r"\$\{?(\w+)")


def nearest_table(places: Mapping[str, Sequence[str]], start: Path | None = None) -> tuple[Path, Any] | None:
    """The first table found in the folders from `start` (the current one) upward, and its file. `places`: where it
    stands in a file of this name, the outermost table first. Raises DataError for a file that cannot be read, or that
    belongs to another user."""
    for place in _folders((start or Path.cwd()).resolve()):
        for name, tables in places.items():
            path = place / name
            if not path.is_file():
                continue
            shown = path if start is not None else Path(os.path.relpath(path))
            _check_owner(path, shown)
            if (table := _table_in(shown, tables)) is not None:
                return shown, table
    return None


def _folders(folder: Path) -> Sequence[Path]:
    """The folder and those above it, to the root of its repository or the home folder; itself where neither is above
    it: whoever may write to a folder above, such as that of temporary files, has no say here."""
    upward = (folder, *folder.parents)
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  (Path.home() raises where there is none)
    last = next((place for place in upward if place == home or (place / ".git").exists()), folder)
    return upward[: upward.index(last) + 1]


def _check_owner(path: Path, shown: Path) -> None:
    if not hasattr(os, "geteuid") or is_named(str(shown)):
        return
    owner, sudo = path.stat().st_uid, os.environ.get("SUDO_UID", "")
    if owner != os.geteuid() and not (os.geteuid() == 0 and sudo == str(owner)):
        advice = f"Copy it, or run this with {TRUST}={shown}."
        raise DataError(shown, "belongs to another user, so it is not used.", advice=advice)


def _table_in(path: Path, names: Sequence[str]) -> Any:
    """The table of these names, one below the other; None if the file has none."""
    try:
        table: Any = parse_toml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(path, f"is not UTF-8 (byte {error.start}).", advice="Save it as UTF-8.") from None
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).", advice="Check its permissions.") from None
    except FormatError as error:
        raise DataError(path, f"{error}.") from None
    for name in names:
        table = table.get(name) if isinstance(table, Mapping) else None
    return table


def _table(name: str, start: Path | None) -> tuple[Path, dict[str, Any]]:
    path, table = nearest_table({CONFIG.name: (name,)}, start) or (CONFIG, {})
    if table != {}:
        check_value(path, name, table, TABLE)
    return path, table


def from_folder_of(path: Path, target: str) -> str:
    """A path, or code in a file, that is written in the file `path`, as named from the current folder."""
    return target if path.parent == Path() else str(path.parent / target)


def configured_system(
    name: str, start: Path | None = None, *, trusted: bool = False
) -> str | HttpTarget | RagTarget | SystemTarget:
    """The system of the table `[systems.NAME]`, or `name` itself if there is none. `start`: where the search for the
    file begins. `trusted`: the code of this project is running anyway, as in its tests. Raises DataError for a table
    with unknown or impossible entries, and NotTrusted for one that needs a consent."""
    path, tables = _table("systems", start)
    if wrong := next((key for key in tables if not _NAME.fullmatch(key) or key == "recorded"), None):
        raise DataError(path, "a system is named in letters, digits, -, _ and ., as prod.", field=f"systems.{wrong}")
    if name not in tables:
        return name
    table, field = tables[name], f"systems.{name}"
    check_value(path, field, table, TABLE)
    if not trusted:
        require_trust(path, consent_tables(path), table)
    retrieve = table.pop("retrieve", None)
    listed = table.get("variables") if "url" in table else table.pop("variables", None)
    if listed is not None:
        check_value(path, f"{field}.variables", listed, TEXTS)
    system = _system(table, path, field, name)
    if isinstance(table.get("rag"), str):
        _check_variables(path, field, listed, [table["rag"]])
    if retrieve is None:
        return system
    check_value(path, f"{field}.retrieve", retrieve, TEXT_OR_TABLE)
    if isinstance(retrieve, str):
        _check_variables(path, field, listed, [retrieve])
    if isinstance(retrieve, dict):
        retrieve = _http_retriever(retrieve, path, f"{field}.retrieve")
    if isinstance(system, RagTarget):
        raise DataError(path, "a system over documents has its retriever in rag(retriever=…).", field=field)
    return SystemTarget(system, _code(path, retrieve))


def asked_system(system: Any, retriever: Any = None, corpus: Any = None, *, trusted: bool = False) -> Any:
    """What `run` and `diagnose` ask: the system of the table that a name is of, or the name or object itself. With
    `retriever` in place of the table's, and `corpus` in place of the documents of the table's `rag(…)`. `trusted`: as
    in `configured_system`."""
    found = configured_system(system, trusted=trusted) if isinstance(system, str) else system
    if isinstance(found, RagTarget) and corpus is not None:
        return dataclasses.replace(found, corpus=corpus)
    if retriever is None:
        return found
    return SystemTarget(found.system if isinstance(found, SystemTarget) else found, retriever)


def _code(path: Path, name: str) -> str:
    """The name as seen from the current folder, if it is code in a file."""
    return from_folder_of(path, name) if is_place(name) and ".py:" in name else name


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
        if set(table) != {"python"}:
            reason = 'a Python system has just one entry besides retrieve, python = "file.py:name".'
            raise DataError(path, reason, field=field)
        check_value(path, f"{field}.python", table["python"], TEXT)
        return _code(path, table["python"])
    if "corpus" in table:
        if not set(table) <= {"corpus", "rag"}:
            raise DataError(path, 'a system over documents has corpus = "FOLDER" and rag = "rag(…)".', field=field)
        for key, value in table.items():
            check_value(path, f"{field}.{key}", value, TEXT)
        target = rag_target(table.get("rag", "rag()"), from_folder_of(path, table["corpus"]))
        return dataclasses.replace(target, retriever=_code(path, target.retriever))
    return _http_target(table, path, field, name)


def _http_target(table: dict[str, Any], path: Path, field: str, name: str) -> HttpTarget:
    known = [item.name for item in dataclasses.fields(HttpTarget)]
    _check_http(table, path, field, known, ("python", "corpus", "retrieve"), asked="question")
    if "url" not in table:
        raise DataError(path, "it names no system: add url = …, python = … or corpus = ….", field=field)
    for key in ("answer", "contexts", "ids", "usage"):
        try:
            compiled_path(table.get(key, ""))
        except UsageError as error:
            raise DataError(path, str(error), field=f"{field}.{key}") from None
    return HttpTarget(**{"name": name, **table})


def _http_retriever(table: dict[str, Any], path: Path, field: str) -> str:
    """The name `http(…)` of a retriever behind an address."""
    _check_http(table, path, field, _HTTP_RETRIEVER, asked="query")
    if "url" not in table:
        raise DataError(path, "it names no address: add url = ….", field=field)
    options = {key: value if isinstance(value, str) else json.dumps(value) for key, value in table.items()}
    return Spec(HTTP, (options.pop("url"),), options).name


def _check_http(
    table: dict[str, Any], path: Path, field: str, known: Sequence[str], others: Sequence[str] = (), *, asked: str
) -> None:
    """Takes the list `variables` out of the table. `asked`: the name of what is asked in a body. Raises UsageError for
    an entry that is not `known` (`others` may stand in such a table, too), a value of another type, a body that is not
    JSON, and a header that names a variable that is not listed."""
    listed = table.pop("variables", None)
    if listed is not None:
        check_value(path, f"{field}.variables", listed, TEXTS)
    for key, value in table.items():
        if key not in known:
            raise UsageError(f"{path}: {UnknownName(f'entry of [{field}]', key, [*known, *others])}")
        check_value(path, f"{field}.{key}", value, TABLE if key == "headers" else TEXT)
    if "body" in table:
        try:
            body_template(table["body"], "body", asked)
        except UsageError as error:
            raise DataError(path, str(error), field=f"{field}.body") from None
    for header, value in table.get("headers", {}).items():
        check_value(path, f"{field}.headers.{header}", value, TEXT)
        _check_variables(path, field, listed, [value])


def _check_variables(path: Path, field: str, listed: Sequence[str] | None, texts: Iterable[str]) -> None:
    """Raises DataError for a header of these texts that names a variable which the table does not list."""
    for name in (name for text in texts for name in _VARIABLE.findall(text)):
        if name not in (listed or ()):
            add = f'add variables = ["{name}"].'
            problem = f"a header names the variable {name}, which the table does not list: {add}"
            raise DataError(path, problem, field=field)


def run_settings(start: Path | None = None, *, name: str = "run") -> tuple[Path, Mapping[str, Any]]:
    """The table `[run]`, or `[diagnose]`, empty if there is none, and its file. Raises NotTrusted if it needs a
    consent."""
    path, settings = _table(name, start)
    if settings:
        require_trust(path, consent_tables(path), settings)
    listed = settings.pop("variables", None)
    if listed is not None:
        check_value(path, f"{name}.variables", listed, TEXTS)
    headers = settings.get("header")
    texts = [*(headers.values() if isinstance(headers, dict) else ()), *_retrievers_at_an_address(settings.values())]
    _check_variables(path, name, listed, (text for text in texts if isinstance(text, str)))
    return path, settings


def _retrievers_at_an_address(values: Iterable[Any]) -> Iterator[str]:
    """The texts that name one, whose headers may name variables: `http(URL,headers=…)`, alone or in another name."""
    for value in values:
        if isinstance(value, list):
            yield from _retrievers_at_an_address(value)
        elif isinstance(value, str) and f"{HTTP}(" in value:
            yield value


def consent_tables(path: Path) -> Mapping[str, Any]:
    """The tables of a file whose names need a consent. Raises DataError for a file that cannot be read."""
    return {name: _table_in(path, (name,)) for name in ("systems", "run", "diagnose")}
