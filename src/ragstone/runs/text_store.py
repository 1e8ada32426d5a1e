"""Long texts of passages, stored once in a run file however many cases and responses contain them.

A sweep gives the same chunks to thousands of cases. So in the JSON of a case or a response, a long text under a key
"text" is replaced by a reference, `texts:LENGTH:DIGEST`, into the table `texts`. A short text that begins like a
reference is interned too, so that references are never ambiguous.

SQLite would give a row of two or three kilobytes a page of four, so each row of `packs` holds several texts: a JSON
list, compressed by zlib at its fastest level (about half the size, for some 10 ns a byte).
"""

import contextlib
import json
import math
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from ragstone.storage import insert
from ragstone.structs import from_json
from ragstone.types import Passage

# Characters of a text as written in JSON (six for a Chinese character). Interning a shorter one saves nothing.
SHORTEST = 200
# Approximate size of a pack in characters: all of it is read for one of its texts.
PACK = 32_000
LARGEST_PACK = 64 * 2**20
"""Bytes that a compressed pack may have when it is read: a file from elsewhere may pretend to be small. What is larger
is written as it is."""
_MARK = "texts:"
TEXT_MARK = f'"{_MARK}'
"""How each reference begins in a payload; no other string of a payload under a key "text" does."""
LONGEST_INTEGER = 300  # digits; a float cannot hold more
# `to_json` writes no spaces and escapes every quote inside a string, so what begins with this after one of `_BEFORE` is
# the string value of a key that is exactly "text".
_KEY, _BEFORE = '"text":"', "{,"
_REFERENCE = re.compile(r'"text":(?<=[{,]"text":)"texts:([0-9]{1,12}):([0-9a-f]{24})"')


def intern(payload: str, texts: dict[str, str], digests: dict[str, str]) -> str:
    """The payload (of `to_json`) with references for its long texts, which go into `texts`: digest → JSON string. In
    `digests` are those of payloads before (string without its quotes → digest), because many have the same texts."""
    if _KEY not in payload:
        return payload
    before, *parts = payload.split(_KEY)  # each part begins with the content of the string
    interned = [before]
    for part in parts:
        end = part.index('"')
        while part[end - 1] == "\\" and _is_escaped(part, end):
            end = part.index('"', end + 1)
        if (end > SHORTEST or part.startswith(_MARK)) and before[-1:] in _BEFORE:
            content = part[:end]
            if (digest := digests.get(content)) is None:
                text = f'"{content}"'
                digest = digests[content] = blake2b(text.encode("ascii"), digest_size=12).hexdigest()
                texts[digest] = text
            interned.append(f"{_MARK}{end + 2}:{digest}{part[end:]}")
        else:
            interned.append(part)
        before = part
    return _KEY.join(interned)


def _is_escaped(text: str, quote: int) -> bool:
    begin = quote
    while begin and text[begin - 1] == "\\":
        begin -= 1
    return (quote - begin) % 2 == 1


def references(payload: object) -> dict[str, int]:
    """The texts that this payload refers to: digest → length as written in JSON."""
    if not isinstance(payload, str):  # a damaged file
        return {}
    return {digest: int(length) for length, digest in _REFERENCE.findall(payload)}


def write_texts(connection: sqlite3.Connection, texts: Mapping[str, str]) -> None:
    """Writes the texts that the file does not have yet, inside a transaction."""
    if not texts:
        return
    query = "SELECT digest FROM texts WHERE digest IN (SELECT value FROM json_each(?))"
    known = {digest for (digest,) in connection.execute(query, (json.dumps(list(texts)),))}
    rows: list[tuple[Any, ...]] = []
    for pack in _packs([digest for digest in texts if digest not in known], texts):
        content = f"[{','.join(texts[digest] for digest in pack)}]"
        stored = zlib.compress(content.encode("ascii"), 1) if len(content) <= LARGEST_PACK else content
        number = connection.execute("INSERT INTO packs (texts) VALUES (?)", (stored,)).lastrowid
        rows += [(digest, number, place) for place, digest in enumerate(pack)]
    insert(connection, "INSERT INTO texts VALUES {}", sorted(rows))  # in the order of their index


def _packs(digests: Iterable[str], texts: Mapping[str, str]) -> Iterator[list[str]]:
    pack, size = list[str](), 0
    for digest in digests:
        pack.append(digest)
        size += len(texts[digest])
        if size >= PACK:
            yield pack
            pack, size = [], 0
    if pack:
        yield pack


def fetch(connection: sqlite3.Connection, digests: Iterable[str], *, schema: str = "main") -> dict[str, str]:
    """These texts by digest; one that is missing or damaged is left out. `schema`: the attached file to read."""
    query = f"SELECT digest, pack, place FROM {schema}.texts WHERE digest IN (SELECT value FROM json_each(?))"
    places: dict[int, list[tuple[str, int]]] = {}
    for digest, pack, place in connection.execute(query, (json.dumps(list(digests)),)):
        places.setdefault(pack, []).append((digest, place))
    texts: dict[str, str] = {}
    query = f"SELECT pack, texts FROM {schema}.packs WHERE pack IN (SELECT value FROM json_each(?))"
    for pack, content in connection.execute(query, (json.dumps(list(places)),)) if places else ():
        with contextlib.suppress(ValueError, TypeError, LookupError, RecursionError, zlib.error):
            pack_texts = unpacked(content)
            texts |= {digest: str(pack_texts[place]) for digest, place in places[pack]}
    return texts


def unpacked(content: str | bytes) -> list[str]:
    """The texts of a row of `packs`. ValueError or `zlib.error` if it is damaged, or larger than a pack can be."""
    if isinstance(content, bytes):
        reading = zlib.decompressobj()
        content = reading.decompress(content, LARGEST_PACK)
        if not reading.eof:
            raise ValueError("cut off, or too large")
    return from_json(content, list)


def fill(passages: Iterable[Passage], texts: Mapping[str, str]) -> int:
    """Puts the texts in the place of references, in passages that were decoded just now and nobody else has; returns
    how many there were. ValueError if a text is missing."""
    count = 0
    for passage in passages:
        if passage.text.startswith(_MARK):
            msgspec.structs.force_setattr(passage, "text", _text(passage.text, texts))
            count += 1
    return count


def fill_plain(values: Iterable[object], texts: Mapping[str, str]) -> int:
    """The same for plain JSON that was decoded just now: every "text" of a dict in it."""
    count, waiting = 0, [*values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("text")
            if isinstance(reference, str) and reference.startswith(_MARK):
                value["text"] = _text(reference, texts)
                count += 1
            value = value.values()
        elif not isinstance(value, list):
            continue
        waiting += [part for part in value if isinstance(part, list | dict)]
    return count


def _text(reference: str, texts: Mapping[str, str]) -> str:
    digest = reference.rpartition(":")[2]
    if digest not in texts:
        raise ValueError(f"the text {digest[:40]!r} of a passage is missing")
    return texts[digest]


def load(payload: str, texts: Mapping[str, str]) -> Any:
    """The payload that `intern` was given, as plain data. Texts are not copied, so records share them. ValueError if
    one is missing."""

    def with_text(value: dict[str, Any]) -> dict[str, Any]:
        reference = value.get("text")
        if isinstance(reference, str) and reference.startswith(_MARK):
            value["text"] = _text(reference, texts)
        return value

    return plain_json(payload, with_text if f'"text":"{_MARK}' in payload else None)


def plain_json(payload: str, hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Parses JSON with finite numbers only: ValueError for NaN, 1e999 and integers too large for a float."""
    return json.loads(payload, object_hook=hook, parse_constant=_finite, parse_float=_finite, parse_int=_whole)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number


def _whole(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(text):,} digits")
    return int(text)
