"""Reads files of a stranger whose strings name code, files and addresses, and prints what Python was seen to do.

    python reading_audit.py FOLDER RUN [LABELS | FINDINGS.json | DATA.jsonl | TRACES.jsonl] [--only TABLE] [--turns N]

Run in a process of its own, since an audit hook cannot be taken back. The folder has `zq_helper.py`, `zq_rubric.toml`
and `zq_replies.jsonl`, whose names no honest file contains: an import or a read of one of them, a read outside the
folder and what is installed, a process, or any look-up or connection is an event. Every place of a string in the last
file gets the payloads: each row another one; what stands there once gets three in turn, code in a file and two others,
by turns from place to place (with `--turns 1` code in a file alone). Each altered file is read by every command that
reads such files, and by the pages of the viewer, the first that they link of each kind among them. Prints one JSON
document: the numbers of strings' places, of payloads in each and of reads, the pages that were there, and the events.
"""

import argparse
import contextlib
import html
import io
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAYLOADS = (
    "zq_helper.py:m", "zq_helper:m", "rubric:zq_rubric.toml", "scripted/zq_replies.jsonl", "local/zq_model.gguf",
    "http://198.51.100.7:9/zq", "rag(retriever=zq_helper.py:search)", "../zq_outside.txt", "file:///zq_outside.txt",
)  # fmt: skip
BAIT = ("zq_helper", "zq_rubric", "zq_replies", "zq_model", "zq_outside", "198.51.100.7")
NEVER = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
)  # whatever it is done with
OPENED = ("open", "sqlite3.connect", "os.listdir", "os.scandir")
WATCHED = ("import", "ctypes.dlopen", *OPENED, *NEVER)
PLACES: list[str] = []  # where files may be read: the folder, those of this process, and what is installed
COLUMNS = {  # the columns of JSON, and those that are names
    "meta": (("value",), ()), "systems": (("spec",), ("system_id",)), "cases": (("payload",), ()),
    "records": (("response", "error"), ()), "scores": (("payload",), ("metric",)), "verdicts": (("payload",), ()),
    "cells": (("condition",), ()), "rows": ((), ("name",)),
    "tasks": (("payload",), ("name",)), "items": (("payload",), ()), "labels": (("payload",), ()),
    "samples": (("payload",), ("id",)), "edits": (("payload",), ("sample",)), "experts": ((), ("name",)),
}  # fmt: skip
Place = tuple[
    str, str, tuple[str, ...]
]  # table, column, the way to a string: "*" for a list, "=KEY" for the key itself

events: list[tuple[str, str]] = []
kinds: dict[str, int] = {}  # of pages that were opened: whether one of them was there
watching = False


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if watching and event in WATCHED:
        text = " ".join(map(str, arguments[:2]))
        is_bait = any(name in text for name in BAIT) and not text.endswith("Error")
        if is_bait or event in NEVER or (event in OPENED and is_outside(arguments[0])):
            events.append((event, text))


def is_outside(path: Any) -> bool:
    """Whether a path is in none of the places where files may be read."""
    if not isinstance(path, str | bytes | os.PathLike):  # a descriptor
        return False
    text = os.fsdecode(path)
    if text in ("", ":memory:") or text.startswith(("file:", "/dev/", "/proc/self")):
        text = text.removeprefix("file:").partition("?")[0]
    return bool(text) and text != ":memory:" and not os.path.abspath(text).startswith(tuple(PLACES))  # noqa: PTH100


def places(value: Any, way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to each string of a JSON value, and to each key."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, list):
        for item in value:
            yield from places(item, (*way, "*"))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*way, f"={key}")
            yield from places(item, (*way, key))


def altered(value: Any, way: tuple[str, ...], payload: str) -> Any:
    """The value with the payload in this place."""
    if not way:
        return payload if isinstance(value, str) else value
    step, rest = way[0], way[1:]
    if step == "*" and isinstance(value, list):
        return [altered(item, rest, payload) for item in value]
    if isinstance(value, dict):
        if step.startswith("=") and not rest:
            return {payload if key == step[1:] else key: item for key, item in value.items()}
        return {key: altered(item, rest, payload) if key == step else item for key, item in value.items()}
    return value


def places_of(file: sqlite3.Connection) -> list[Place]:
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    found: dict[Place, None] = {}
    for table, (columns, names) in COLUMNS.items():
        if table not in tables:
            continue
        known = {row[1] for row in file.execute(f"PRAGMA table_info({table})")}
        for column in columns:
            if column in known:
                for (text,) in file.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"):
                    found |= {(table, column, way): None for way in places(json.loads(text))}
        found |= {(table, column, ()): None for column in names if column in known}
    return list(found)


def alter(path: Path, place: Place, start: int) -> int:
    """Puts a payload into this place of every row, from this one on; returns how many, 0 if SQLite refuses them."""
    table, column, way = place
    if path.suffix in (".json", ".jsonl"):
        return _alter_json(path, way, start)
    count = 0
    with contextlib.closing(sqlite3.connect(path)) as file:
        try:
            key = "rowid" if _has_rowid(file, table) else column
            rows = file.execute(f"SELECT DISTINCT {key}, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
            for count, (row, text) in enumerate(rows, 1):
                payload = PAYLOADS[(start + count - 1) % len(PAYLOADS)]
                is_name = column in COLUMNS[table][1]
                new = payload if is_name else json.dumps(altered(json.loads(text), way, payload))
                file.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {key} = ?", (new, row))
            file.commit()
        except sqlite3.Error:
            return 0
    return count


def _documents(path: Path) -> list[Any]:
    text = path.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def _alter_json(path: Path, way: tuple[str, ...], start: int) -> int:
    new = [
        json.dumps(altered(document, way, PAYLOADS[(start + at) % len(PAYLOADS)]))
        for at, document in enumerate(_documents(path))
    ]
    path.write_text("\n".join(new), "utf-8")
    return len(new)


def all_places(path: Path) -> list[Place]:
    if path.suffix in (".json", ".jsonl"):
        found = {way: None for document in _documents(path) for way in places(document)}
        return [("", "", way) for way in found]
    with contextlib.closing(sqlite3.connect(path)) as file:
        return places_of(file)


def _has_rowid(file: sqlite3.Connection, table: str) -> bool:
    with contextlib.suppress(sqlite3.Error):
        file.execute(f"SELECT rowid FROM {table} LIMIT 1")
        return True
    return False


def watched(action: Callable[[], Any]) -> None:
    """Runs the action while Python is watched; whatever it says."""
    global watching  # noqa: PLW0603  (the hook cannot be taken back)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        watching = True
        try:
            action()
        except SystemExit:
            pass
        finally:
            watching = False


def commands(name: str) -> tuple[tuple[str, ...], ...]:
    """What reads such a file."""
    if name.endswith(".run"):
        return (
            ("show", name, "--all"), ("show", name, "--slices"), ("report", name, "-o", "page.html"),
            ("export", name, "--format", "jsonl", "-o", "x.jsonl"),
            ("export", name, "--format", "junit", "-o", "x.xml"), ("gate", name, "--fail-under", "answer_match=0.1"),
            ("compare", "sound.run", name), ("compare", name, "sound.run", "--report", "page.html"),
            ("trend", "sound.run", name), ("diagnose", name),
            ("merge", name, "-o", "merged.run"), ("annotate", name, "--labels", "new.sqlite", "--json"),
        )  # fmt: skip
    if name.endswith(".sqlite"):
        return (
            ("agreement", "experts", name, "--run", "sound.run"), ("agreement", "experts", name),
            ("annotate", "--labels", name, "--export", "labels.csv", "--force"), ("data", "review", name),
            ("annotate", "--labels", name, "--adjudicate", "--json"),
            ("data", "export", name, "-o", "out.jsonl", "--force"), ("data", "edits", name),
        )  # fmt: skip
    if name.endswith(".json"):
        return ("report", "sound.run", "-o", "page.html"), ("show", "sound.run", "--all")
    return (
        ("data", "check", name), ("eval", name, "--metrics", "answer_match", "--run", "new.run", "--quiet"),
        ("diagnose", name, "--run", "new2.run", "--quiet"), ("annotate", name, "--labels", "new.sqlite", "--json"),
    )  # fmt: skip


def start_pages(name: str) -> tuple[str, ...]:
    if name.endswith(".run"):
        return "/", f"/run?run={name}", f"/cases?run={name}", f"/compare?run=sound.run&run={name}", "/trend"
    if name.endswith(".sqlite"):
        return "/annotate?expert=ann", "/disputes?expert=ann", "/gold?by=ann"
    return ("/run?run=sound.run",) if name.endswith(".json") else ()


def visit(client: Any, name: str) -> int:
    """Opens the pages, and of each kind that they link the first one; returns the number of pages."""
    seen, left = set[str](), list(start_pages(name))
    while left:
        address = left.pop(0)
        kind = address.partition("?")[0]
        if kind in seen or kind == "/events":
            continue
        seen.add(kind)
        page = client.get(address)
        kinds[kind] = max(kinds.get(kind, 0), page.status_code == 200)
        left += [html.unescape(found) for found in re.findall(r'href="(/[a-z/]+\?[^"]+)"', page.text)]
    return len(seen)


def main() -> None:
    from starlette.testclient import TestClient

    from ragstone.cli.main import run as ragstone
    from ragstone.report.findings_file import findings_path
    from ragstone.web.app import create_app
    from ragstone.web.library import Library

    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("files", type=Path, nargs="+")
    options.add_argument("--only", default="")
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    folder, source = given.folder, given.files[-1]
    shutil.copy(given.files[0], folder / "sound.run")
    is_findings = source.suffix == ".json"
    target = findings_path(folder / "sound.run") if is_findings else folder / f"altered{source.suffix}"
    shutil.copy(source, target)
    labels = target if target.suffix == ".sqlite" else None
    with TestClient(create_app(Library([folder], labels)), base_url="http://127.0.0.1:8720") as client:
        actions = [lambda words=words: ragstone(list(words)) for words in commands(target.name)]

        def read() -> int:
            for made in ("merged.run", "new.run", "new2.run", "new.sqlite"):
                Path(made).unlink(missing_ok=True)
            for action in actions:
                watched(action)
            watched(lambda: visit(client, target.name))
            return len(actions) + len(kinds)

        read()  # everything that is imported late is imported now
        homes = [os.environ.get(name, "/nowhere") for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")]
        code = [Path(sys.modules["ragstone"].__file__ or "").parent, Path(__file__).parent, *sys.path, sys.prefix,
                sys.base_prefix, sys.base_exec_prefix]  # fmt: skip
        known = (folder, tempfile.gettempdir() + "/ragstone", *homes, *code, "/dev", "/proc/self", "/usr/share")
        PLACES.extend(str(Path(place).resolve()) for place in known if str(place))
        PLACES.extend(str(place) for place in known if str(place))
        sys.addaudithook(hook)
        found = [place for place in all_places(source) if given.only in ("", place[0])]
        reads, fewest = 0, len(PAYLOADS)
        for number, place in enumerate(found):
            put, count, others = 0, 1, len(PAYLOADS) - 1
            is_name = place[0] in COLUMNS and place[1] in COLUMNS[place[0]][1]  # there are few, and each has its part
            turns = (0, 1 + 2 * number % others, 1 + (2 * number + 1) % others)
            for start in range(len(PAYLOADS)) if is_name else turns[: given.turns]:
                shutil.copy(source, target)
                if put >= len(PAYLOADS) * (count if is_name else 1) or not (count := alter(target, place, start)):
                    break
                before = len(events)
                reads += read()
                events[before:] = [(f"{place} from {start}: {event}", what) for event, what in events[before:]]
                put += count
            fewest = min(fewest, put or fewest)
    pages = sorted(kind for kind, there in kinds.items() if there)
    print(json.dumps({"places": len(found), "payloads": fewest, "reads": reads, "pages": pages, "events": events}))


if __name__ == "__main__":
    main()
