"""Consent to what a found `ragstone.toml` names: code that it runs, variables and addresses that it uses.

The file may have come with a stranger's repository, so that what it names is used only after one consent of the user:
`ragstone trust FILE`, an answer in the terminal, or in CI the variable RAGSTONE_TRUST, a list of names with commas. The
consent is to these names, not to the bytes of the file: another limit or gate needs no new one, another address does.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from ragstone.errors import NotTrusted
from ragstone.storage import write_file

TRUST = "RAGSTONE_TRUST"
"""The environment variable that names what may be used: files of settings, and benchmark locations of run files."""

# An address under the name of its option, which needs no scheme; code in a file or a module, a variable, an address, a
# model in a file, and a path that leaves the folder.
_NAMES = re.compile(
    r"(?P<option>(?:[\w-]*url|cluster|otlp)=(?!(?:auto|local)?$)[^\s(),]+)"
    r"|(?P<code>[^\s(),=]+\.py:[A-Za-z_]\w*|(?<![\w./:@-])[A-Za-z_]\w*(?:\.\w+)*:[A-Za-z_]\w*(?![\w./:-]))"
    r"|(?P<model>[^\s(),=]+\.gguf)|(?P<variable>\$\{?\w+\}?)|(?P<address>[a-z][a-z0-9+]*://[^\s\"'(),]+)"
    r"|(?P<path>(?:^|(?<=[\s=(,:]))(?:[\w.-]+[/\\])*(?:[/~]|\.\.(?:[/\\]|$))[^\s(),]*)"
)


def named_in(tables: Any) -> tuple[str, ...]:
    """What these tables name that needs a consent: code, variables, addresses, and paths outside of their folder."""
    return tuple(dict.fromkeys(name for text in _texts(tables) for name in _names(text)))


def _texts(value: Any, key: str = "") -> Iterator[str]:
    """The texts, each as `key=text` where it has a key."""
    if isinstance(value, str):
        yield f"{key}={value}" if key else value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(name)
            yield from _texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, key)


def _names(text: str) -> Iterator[str]:
    for match in _NAMES.finditer(text):
        yield match.group().strip(" =(,\t\n")


def is_named(name: str) -> bool:
    """Whether the environment variable RAGSTONE_TRUST names it."""
    return name in _from_environment()


def _from_environment() -> list[str]:
    return [part for part in map(str.strip, os.environ.get(TRUST, "").split(",")) if part]


def require_trust(path: Path, tables: Any, used: Any) -> None:
    """Raises NotTrusted if `used`, a part of the `tables` of a found file, names what needs a consent that the user has
    not given."""
    if not named_in(used) or is_trusted(path, tables):
        return
    names = named_in(tables)
    raise NotTrusted(path, ", ".join(names[:_SHOWN]) + ("…" if len(names) > _SHOWN else ""))


_SHOWN = 6  # names in a message


def is_trusted(path: Path, tables: Any) -> bool:
    """Whether the user has consented to what these tables of the file name."""
    full = path.resolve()
    if any(Path(name).expanduser().resolve() == full for name in _from_environment()):
        return True
    return consents().get(str(full)) == _digest(tables)


def trust(path: Path, tables: Any) -> tuple[str, ...]:
    """Records the consent to what these tables of the file name, and returns the names. Raises StorageError."""
    _write(consents() | {str(path.resolve()): _digest(tables)})
    return named_in(tables)


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


def _digest(tables: Any) -> str:
    return hashlib.sha256("\0".join(sorted(named_in(tables))).encode("utf-8", "surrogatepass")).hexdigest()
