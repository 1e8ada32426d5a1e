"""The format of a run file: its tables, and how ids and payloads are written in them."""

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ragstone.errors import DataError
from ragstone.metrics.judge.record import parted
from ragstone.runs.text_store import LONGEST_INTEGER, TEXT_MARK, fill, fill_plain, load, plain_json
from ragstone.storage import Layout
from ragstone.structs import to_json
from ragstone.types import Case, Passage, Response, Score

T = TypeVar("T")

# The columns `response`, `error`, `payload`, `spec` and `value` are ASCII JSON, so that lone surrogates and NUL
# survive. `retry` marks a failure that the next process should retry; each start of a run sets it. A verdict that
# several metrics of a case share is stored once; `scores.verdicts` has the digests, separated by spaces.
_TABLES = """
CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
-- The rows of the user's data, by their numbers in this run, with a hash of their content.
CREATE TABLE rows (number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE systems (system_id TEXT NOT NULL PRIMARY KEY, spec TEXT NOT NULL);
CREATE TABLE cases (case_id TEXT NOT NULL PRIMARY KEY, payload TEXT NOT NULL);
CREATE TABLE records (
    system_id TEXT NOT NULL, case_id TEXT NOT NULL,
    response TEXT, error TEXT, retry INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (system_id, case_id),
    CHECK ((response IS NULL) <> (error IS NULL))
);
CREATE INDEX failed_records ON records (system_id, case_id) WHERE error IS NOT NULL;
CREATE TABLE scores (
    system_id TEXT NOT NULL, case_id TEXT NOT NULL, metric TEXT NOT NULL, metric_version INTEGER NOT NULL,
    status TEXT NOT NULL, payload TEXT NOT NULL, retry INTEGER NOT NULL DEFAULT 0, verdicts TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (system_id, case_id, metric, metric_version)
) WITHOUT ROWID;
CREATE INDEX failed_scores ON scores (system_id, case_id) WHERE status = 'failed';
CREATE TABLE verdicts (
    system_id TEXT NOT NULL, case_id TEXT NOT NULL, digest TEXT NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY (system_id, case_id, digest)
) WITHOUT ROWID;
-- kind 'case': name is a case_id, kind 'lane': name is a lane, of which one process at a time asks.
CREATE TABLE leases (
    system_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (system_id, kind, name)
) WITHOUT ROWID;
-- Long texts of passages (`text_store.py`): each is at a place, from 0, in the compressed JSON list of a pack.
CREATE TABLE packs (pack INTEGER PRIMARY KEY, texts BLOB NOT NULL);
CREATE TABLE texts (digest TEXT NOT NULL PRIMARY KEY, pack INTEGER NOT NULL, place INTEGER NOT NULL) WITHOUT ROWID;
-- What all commands on the file together were to ask: which cases of which systems, the cell of the grid (its
-- condition as JSON, with sorted keys) that each is in, and what people know its sample by.
CREATE TABLE cells (cell INTEGER PRIMARY KEY, condition TEXT NOT NULL UNIQUE);
CREATE TABLE planned (
    system_id TEXT NOT NULL, case_id TEXT NOT NULL, cell INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (system_id, case_id)
) WITHOUT ROWID
"""
# What to do about a damaged run file: with what can be read of it, and where that is of no use.
RECOVER = "Restore the file from a copy, or save what can be read: ragstone merge {path} -o NEW.run --recover."
_RESTORE = "Restore the file from a copy, or make the run anew with another --run."
LAYOUT = Layout(
    what="run file",
    application_id=0x52535452,  # "RSTR"
    version=6,
    cache=3_000,
    remedy=RECOVER,
    tables=tuple(_TABLES.split(";")),
)

# The types of these entries of `meta`. What a question or an option contains is up to the benchmark.
META: Mapping[str, Any] = {
    "question": dict[str, Any], "options": dict[str, Any], "preparation": dict[str, Any], "metrics": dict[str, int],
    "better": dict[str, str], "warnings": list[str], "scored_later": list[str],
}  # fmt: skip


def damaged(path: object, problem: str, *, field: str = "", helps: bool = True) -> DataError:
    """The error for a run file that was altered or damaged: what of it, and what to do. `helps`: whether the rest can
    be saved."""
    advice = RECOVER.format(path=path) if helps else _RESTORE
    return DataError(path, f"the file is damaged: {problem}", field=field, advice=advice)


LARGEST_SCORE = 1e30  # products of several are summed
LARGEST_SECONDS = 1e9
LARGEST_COUNT = 2**53

_ENDLESS = re.compile(f"[0-9]{{{LONGEST_INTEGER}}}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def key_of(text: str) -> str:
    """The key of an id in the tables: the id, with control characters, quotes, backslashes and lone surrogates escaped
    as in JSON. Different ids have different keys. SQLite's TEXT takes neither NUL nor surrogates."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    if _SURROGATE.search(text):  # a surrogate pair is its character, as in JSON
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False)[1:-1])


def text_of(key: str) -> str:
    """The id of a key that `key_of` made."""
    if "\\" not in key:
        return key
    return str(json.loads(f'"{key}"'))


def decode(text: str, kind: type[T], path: object, what: str, texts: Mapping[str, str] | None = None) -> T:
    """Reads a payload; `DataError` names what is damaged if it is not a `kind`. `texts` (digest → text) has the
    interned texts that the payload of a case or a response refers to; with None the references stay."""
    try:
        return decode_fast(text, kind, texts)
    except (ValueError, RecursionError):  # unusual or damaged: what follows tells which
        pass
    try:
        value = plain_json(text) if texts is None else load(text, texts)
    except (ValueError, RecursionError, TypeError) as error:
        raise damaged(path, f"{what} cannot be read ({error}).") from error
    return converted(value, kind, path, what)


def decode_fast(text: object, kind: type[T], texts: Mapping[str, str] | None) -> T:
    """The payload as `decode` reads it, several times as fast. ValueError if it cannot be read this way: it is
    damaged, has lone surrogates or endless numbers, or refers to texts at an unusual place. Where passages have them,
    in what steps returned, and in notes is usual."""
    if not isinstance(text, str) or _is_endless(text):
        raise ValueError("not a usual payload")
    value: T = _decoder(kind)(text)  # type: ignore[arg-type]
    if kind is not Case:  # which has no figures
        check_numbers(value)
    if texts is not None and (count := text.count(TEXT_MARK)):
        count -= fill(passages_of(value), texts)
        if count != (fill_plain(_plain_of(value), texts) if count else 0):
            raise ValueError("a reference at another place")
    return value


def _is_endless(text: str) -> bool:
    """Whether there may be a number with too many digits: every so many characters it would have one of them."""
    if len(text) < LONGEST_INTEGER:
        return False
    return any(map(str.isdigit, text[LONGEST_INTEGER - 1 :: LONGEST_INTEGER])) and _ENDLESS.search(text) is not None


@functools.cache
def _decoder(kind: Any) -> Callable[[str], Any]:
    return msgspec.json.Decoder(kind).decode


def passages_of(value: object) -> Iterator[Passage]:
    """The passages of a case or a response; none of anything else."""
    if isinstance(value, Response):
        yield from value.passages
    elif isinstance(value, Case):
        yield from value.sample.passages
        yield from value.query.passages or ()


def _plain_of(value: object) -> Iterator[object]:
    """What a case or a response has as plain JSON: notes, and what went into steps and came out of them."""
    if isinstance(value, Response):
        yield from (part for step in value.steps for part in (step.input, step.output))
    elif isinstance(value, Case):
        yield value.sample.meta
    yield from (passage.meta for passage in passages_of(value))


def converted(value: object, kind: type[T], path: object, what: str) -> T:
    """A decoded payload as a `kind`; `DataError` as `decode`."""
    try:
        typed = msgspec.convert(value, kind)
        check_numbers(typed)
        return typed
    except (ValueError, RecursionError, TypeError) as error:
        raise damaged(path, f"{what} cannot be read ({error}).") from error


def check_numbers(value: object) -> None:
    """Raises ValueError for numbers too large to compute with, which come from a hostile file or endpoint."""
    if isinstance(value, Score):
        if value.value is not None and not abs(value.value) <= LARGEST_SCORE:
            raise ValueError(f"a score of {value.value:g} is beyond {LARGEST_SCORE:g}")
        return
    if isinstance(value, Response):
        for seconds in (value.seconds, *[step.seconds for step in value.steps]):
            if seconds is not None and not abs(seconds) <= LARGEST_SECONDS:
                raise ValueError(f"a time of {seconds:g} seconds is beyond {LARGEST_SECONDS:g}")
        counts = () if value.usage is None else msgspec.structs.astuple(value.usage)
        if counts and not max(map(abs, counts)) <= LARGEST_COUNT:
            raise ValueError(f"a count of tokens is beyond {LARGEST_COUNT:,}")


def encode_score(score: Score) -> tuple[str, list[str]]:
    """The payload of a score, and its raw verdicts, which have their own table. ValueError for NaN."""
    check_numbers(score)
    rest, verdicts = parted(score)
    return to_json(rest), [to_json(verdict) for verdict in verdicts]
