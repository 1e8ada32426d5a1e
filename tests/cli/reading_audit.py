"""Reads files of a stranger whose strings name code, files and addresses, and prints what Python was seen to do.

    python reading_audit.py FOLDER RUN [LABELS] [--only TABLE]

Run in a process of its own, since an audit hook cannot be taken back. The folder has `zq_helper.py`, `zq_rubric.toml`
and `zq_replies.jsonl`, whose names no honest file contains: an import or a read of one of them, a process, or a look-up
or connection to another machine is an event. Every string of the run file is replaced by each payload in turn, in every
row at once; then `show`, `report`, `export`, `gate`, `compare`, `trend` and the pages of the viewer read the file. With
a file of labels its strings are replaced instead, and read by `annotate`, `agreement` and the pages of labelling.
Prints one JSON document: the number of strings' places and of reads, and the events."""

import argparse
import contextlib
import io
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAYLOADS = (
    "zq_helper.py:m", "zq_helper:m", "rubric:zq_rubric.toml", "scripted/zq_replies.jsonl", "local/zq_model.gguf",
    "http://198.51.100.7:9/zq", "rag(retriever=zq_helper.py:search)", "../zq_outside.txt", "file:///zq_outside.txt",
)  # fmt: skip
BAIT = ("zq_helper", "zq_rubric", "zq_replies", "zq_model", "zq_outside", "198.51.100.7")
WATCHED = ("import", "open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.exec", "os.posix_spawn")
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
watching = False


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if watching and event in WATCHED:
        text = " ".join(map(str, arguments[:2]))
        is_bait = any(name in text for name in BAIT) and not text.endswith("Error")
        if is_bait or event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
            events.append((event, text))


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


def alter(path: Path, place: Place, payload: str) -> bool:
    """Puts the payload into this place of every row; False if SQLite refuses it."""
    table, column, way = place
    with contextlib.closing(sqlite3.connect(path)) as file:
        try:
            if column in COLUMNS[table][1]:
                for other, (_, names) in COLUMNS.items():
                    if column in names and other == table:
                        file.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (payload,))
            else:
                rows = file.execute(f"SELECT rowid, {column} FROM {table}") if _has_rowid(file, table) else None
                if rows is None:
                    rows = file.execute(f"SELECT {column}, {column} FROM {table}")
                key = "rowid" if _has_rowid(file, table) else column
                for row, text in rows.fetchall():
                    if text is not None:
                        new = json.dumps(altered(json.loads(text), way, payload))
                        file.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {key} = ?", (new, row))
            file.commit()
        except sqlite3.Error:
            return False
    return True


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


def readers(name: str, client: Any) -> list[Callable[[], Any]]:
    from ragstone.cli.main import run as ragstone

    of_run = (
        ("show", name, "--all"), ("report", name, "-o", "page.html"),
        ("export", name, "--format", "jsonl", "-o", "x.jsonl"),
        ("export", name, "--format", "junit", "-o", "x.xml"), ("gate", name, "--fail-under", "answer_match=0.1"),
        ("compare", "sound.run", name), ("trend", "sound.run", name), ("diagnose", name),
    )  # fmt: skip
    of_labels = (
        ("agreement", "experts", name, "--run", "sound.run"), ("agreement", "experts", name),
        ("annotate", "--labels", name, "--export", "labels.csv", "--force"),
    )  # fmt: skip
    is_run = name.endswith(".run")
    addresses = ("/", f"/run?run={name}") if is_run else ("/annotate", "/disputes")
    pages = [lambda address=address: client.get(address) for address in addresses]
    return [*(lambda words=words: ragstone(list(words)) for words in (of_run if is_run else of_labels)), *pages]


def main() -> None:
    from starlette.testclient import TestClient

    from ragstone.web.app import create_app
    from ragstone.web.library import Library

    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("files", type=Path, nargs="+")
    options.add_argument("--only", default="")
    given = options.parse_args()
    folder, source = given.folder, given.files[-1]
    target = folder / f"altered{source.suffix}"
    shutil.copy(given.files[0], folder / "sound.run")
    shutil.copy(source, target)
    labels = target if target.suffix != ".run" else None
    with TestClient(create_app(Library([folder], labels)), base_url="http://127.0.0.1:8720") as client:
        actions = readers(target.name, client)
        for action in actions:  # everything that is imported late is imported now
            watched(action)
        sys.addaudithook(hook)
        with contextlib.closing(sqlite3.connect(source)) as file:
            found = [place for place in places_of(file) if given.only in ("", place[0])]
        reads = 0
        for number, place in enumerate(found):
            payload = PAYLOADS[number % len(PAYLOADS)]
            for text in dict.fromkeys((PAYLOADS[0], payload)):
                shutil.copy(source, target)
                if alter(target, place, text):
                    before = len(events)
                    for action in actions:
                        watched(action)
                        reads += 1
                    events[before:] = [(f"{place} {text}: {event}", what) for event, what in events[before:]]
    print(json.dumps({"places": len(found), "reads": reads, "events": events}))


if __name__ == "__main__":
    main()
