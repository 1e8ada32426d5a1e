"""Consent to what a found `ragstone.toml` names: code that it runs, variables and addresses that it uses.

The file may have come with a stranger's repository, so that what it names is used only after one consent of the user:
`ragstone trust FILE`, an answer in the terminal, or in CI the variable RAGSTONE_TRUST, a list of names with commas. The
consent is to these names in their tables, not to the bytes of the file: another limit or gate needs no new one, another
address does, and so does a variable that moves to another table.
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from ragstone.errors import NotTrusted
from ragstone.registry import is_place
from ragstone.storage import write_file

TRUST = "RAGSTONE_TRUST"
"""The environment variable that names what may be used: files of settings, and benchmark locations of run files."""

# An address under the name of its option, which needs no scheme; code in a file or a module, a variable, an address, a
# model in a file, and a path that leaves the folder.
_NAMES = re.compile(
    r"(?P<option>(?:[\w-]*url|cluster|otlp)=(?!(?:auto|local)?$)[^\s(),]+)"
    r"|(?P<code>[^\s(),=]+\.py:[A-Za-z_]\w*|(?<![\w./:@-])[A-Za-z_]\w*(?:\.\w+)*:[A-Za-z_]\w*(?![\w./:-]))"
    r"|(?P<model>[^\s(),=]+\.gguf)|(?P<variable>\$\{?\w+\}?)|(?P<address>[a-z][a-z0-9+]*://[^\s\"'(),]+)"
    r"|(?P<path>(?:^|(?<=[\s=(,:]))(?:[\w.-]+[/\\])*(?:[/~]|\.\.(?:[/\\]|$))[^\s(),]*|(?<![\w.])\.\.[/\\][^\s(),]*)"
)
_BEGINS = re.compile(r"(?:^|[(,]\s*)[\w-]+=$|^$")
_PARTS = re.compile(r"[\s(),=]+")
_LONGEST = 4096  # characters of a path


def named_in(tables: Any, folder: Path) -> tuple[str, ...]:
    """What these tables of a file in `folder` name that needs a consent: code, variables, addresses, and paths that
    leave the folder, by a link, too."""
    return tuple(dict.fromkeys(name for _, name in _placed(tables, folder)))


def _placed(tables: Any, folder: Path) -> list[tuple[tuple[str, ...], str]]:
    """The names, each with the keys of the tables that it stands in."""
    inside = folder.resolve()
    return [
        (keys, name)
        for keys, text in _texts(tables)
        for name in (*_names(keys[-1] if keys else "", text), *_links(text, inside))
    ]


def _texts(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts, each with its keys from the outermost table on; a key itself has none."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(name)
            yield from _texts(item, (*keys, name))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, keys)


def _names(key: str, value: str) -> Iterator[str]:
    """A name is taken out of a text only where it begins after an option's sign; elsewhere the whole text is the name,
    as a file's name may have gaps and brackets ("evil app.py:ask")."""
    if is_place(value):
        yield value
        return
    text, files = f"{key}={value}" if key else value, 0
    for match in _NAMES.finditer(text):
        name = match.group().strip(" =(,\t\n")
        if match["code"] and ".py:" in name:
            files += 1
            name = name if _BEGINS.search(text[: match.start()]) else value
        yield name
        if match["path"] and " " in value:
            yield value
    if text.count(".py:") > files:
        yield value


def _links(text: str, inside: Path) -> Iterator[str]:
    """The parts of a text that lead out of the folder by a link."""
    for part in dict.fromkeys((text, *_PARTS.split(text))):
        if 0 < len(part) < _LONGEST and "\n" not in part:
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # no name of a file
                if not (inside / part).resolve().is_relative_to(inside):
                    yield part


def is_named(name: str) -> bool:
    """Whether the environment variable RAGSTONE_TRUST names it."""
    return name in _from_environment()


def _from_environment() -> list[str]:
    return [part for part in map(str.strip, os.environ.get(TRUST, "").split(",")) if part]


def require_trust(path: Path, tables: Any, used: Any) -> None:
    """Raises NotTrusted if `used`, a part of the `tables` of a found file, names what needs a consent that the user has
    not given."""
    if not named_in(used, path.parent) or is_trusted(path, tables):
        return
    names = named_in(tables, path.parent)
    raise NotTrusted(path, ", ".join(names[:_SHOWN]) + ("…" if len(names) > _SHOWN else ""))


_SHOWN = 6  # names in a message


def is_trusted(path: Path, tables: Any) -> bool:
    """Whether the user has consented to what these tables of the file name."""
    full = path.resolve()
    if any(Path(name).expanduser().resolve() == full for name in _from_environment()):
        return True
    return consents().get(str(full)) == _digest(path, tables)


def trust(path: Path, tables: Any) -> tuple[str, ...]:
    """Records the consent to what these tables of the file name, and returns the names. Raises StorageError."""
    _write(consents() | {str(path.resolve()): _digest(path, tables)})
    return named_in(tables, path.parent)


def revoke(path: Path) -> bool:
    """Takes a consent back; whether there was one."""
    known = consents()
    if known.pop(str(path.resolve()), None) is None:
        return False
    _write(known)
    return True


def consents() -> dict[str, str]:
    """The files that the user has consented to, each with the digest of what it named. A damaged file holds none."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def _write(known: Mapping[str, str]) -> None:
    write_file(_file(), msgspec.json.format(msgspec.json.encode(known, order="sorted")) + b"\n", parents=True)


def _file() -> Path:
    return Path(platformdirs.user_config_dir("ragstone", appauthor=False)) / "trusted.json"


def _digest(path: Path, tables: Any) -> str:
    placed = sorted({"\1".join((*keys, name)) for keys, name in _placed(tables, path.parent)})
    return hashlib.sha256("\0".join(placed).encode("utf-8", "surrogatepass")).hexdigest()
