"""The files of RGB (Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation").

JSON lines. Every row has `id`, `query`, `answer`, `positive` and `negative`. There are three kinds of sets:

- base (`en`, `zh`, and `en_refine`, `zh_refine`, which the authors corrected later): `positive` is a list of texts;
- integration (`en_int`, `zh_int`): `positive` is a list of groups of texts, one group for each part of the question;
- counterfactual (`en_fact`, `zh_fact`): also `positive_wrong`, the same texts with the answer replaced by `fakeanswer`.

`answer` is a text, or a list of slots that are all required; a slot that is itself a list holds aliases of one answer.
Integration rows also repeat their slots as `answer1` (in the Chinese file `asnwer1`) and `answer2`; nothing needs them.
What the reader gives is what the file holds, to the character and in its order.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from ragstone.datasets.jsonlines import Line, json_lines, kind_of
from ragstone.errors import DataError
from ragstone.storage import reading
from ragstone.structs import Frozen, to_json
from ragstone.text import detect

NAMES = ("en", "zh", "en_refine", "zh_refine", "en_int", "zh_int", "en_fact", "zh_fact")
"""The eight official files, without their extension."""

Kind: TypeAlias = Literal["base", "integration", "counterfactual"]

_ENDINGS = (".json", ".jsonl")


class RGBRow(Frozen, frozen=True):
    """A question. `slots` are all required, each satisfied by any of its aliases.

    `positive` holds groups of documents that state the answer (base and counterfactual sets: one group);
    `positive_wrong` the documents of the one group with a false answer (`fake`) in its place; `negative` documents that
    do not state the answer. `kinds` names what is special about a document, by its reference ("negative:3": "rumour");
    only the fictional data has them.
    """

    id: int | str
    query: str
    slots: tuple[tuple[str, ...], ...]
    positive: tuple[tuple[str, ...], ...]
    negative: tuple[str, ...]
    positive_wrong: tuple[str, ...] = ()
    fake: tuple[str, ...] = ()
    kinds: dict[str, str] = msgspec.field(default_factory=dict)


class RGBSet(Frozen, frozen=True):
    """The rows of a file in their order. `sha256` is over their content, not over the bytes of the file: the same
    questions have the same hash whether they were generated or read, and however the file spells its JSON."""

    name: str
    language: str
    kind: Kind
    rows: tuple[RGBRow, ...]
    sha256: str


class Fault(Frozen, frozen=True):
    """A problem of a field of a row; `field` is "" for the row as a whole."""

    field: str
    problem: str


def read_rgb(path: str | Path) -> RGBSet:
    """The set in a file. Its name is the file's up to the first dot ("zh_int.head30.json" is `zh_int`).

    Kind and language follow from the name where it is one of `NAMES`, and otherwise from the content. Raises DataError
    with file, line and field at the first thing that is not as it should be."""
    path = Path(path)
    lines = list(json_lines(path))
    for line in lines:
        if line.row is None:
            raise DataError(path, line.problem, line=line.number)
    if not lines:
        raise DataError(path, "has no rows; expected one JSON object a line.")
    return _set(name_of(path), lines, str(path))


def rgb_files(folder: str | Path) -> dict[str, Path]:
    """The RGB files of a folder (not of its subfolders), by name, without reading more than their first row: the
    official names, in their order, then others. Any subset may be there. A `.json` or `.jsonl` file of another name
    counts where its first row has the fields of a question; other files are left alone."""
    folder = Path(folder)
    files: dict[str, Path] = {}
    with reading(folder):
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS) and path.name[0] != ".")
    for path in paths:
        name = name_of(path)
        if name not in NAMES and not _looks_like_rgb(path):
            continue
        earlier = files.get(name)
        if earlier is not None and path.name != f"{name}.json":
            if earlier.name == f"{name}.json":
                continue  # the whole file is here; what else has its name is a part or a copy of it
            raise DataError(
                path, f"{earlier.name} has the name {name!r} too.", advice="Keep one of them in the folder."
            )
        files[name] = path
    order = {name: place for place, name in enumerate(NAMES)}
    return dict(sorted(files.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def rgb_set(name: str, rows: Iterable[Mapping[str, Any]], *, source: str = "") -> RGBSet:
    """The set of these rows, which are as in the files. Errors call the rows lines, of `source` (or `name`)."""
    lines = [Line(number, dict(row)) for number, row in enumerate(rows, start=1)]
    return _set(name, lines, source or name)


def name_of(path: str | Path) -> str:
    """The name of a set from that of its file: up to the first dot."""
    return Path(path).name.split(".", 1)[0]


def official_kind(name: str) -> Kind | None:
    """The kind of an official set; None for any other name."""
    if name not in NAMES:
        return None
    return "integration" if name.endswith("_int") else "counterfactual" if name.endswith("_fact") else "base"


def kind_of_rows(rows: Iterable[Mapping[str, Any]]) -> Kind:
    """The kind that the content shows: rows with a false answer are counterfactual, groups are integration."""
    kind: Kind = "base"
    for row in rows:
        if "positive_wrong" in row or "fakeanswer" in row:
            return "counterfactual"
        positive = row.get("positive")
        if isinstance(positive, list) and any(isinstance(item, list) for item in positive):
            kind = "integration"
    return kind


def language_of_name(name: str) -> str:
    """ "en" or "zh" where a part of the name says so ("zh_fact", "my-en-set"), otherwise ""."""
    parts = set(re.split(r"[^a-z]+", name.lower()))
    return "zh" if "zh" in parts else "en" if "en" in parts else ""


def read_row(raw: Mapping[str, Any], kind: Kind) -> tuple[RGBRow | None, list[Fault]]:
    """The row, or everything that is wrong with it."""
    faults: list[Fault] = []
    row_id = raw.get("id")
    if "id" not in raw:
        faults.append(Fault("id", "is missing; expected a whole number or a text."))
    elif isinstance(row_id, bool) or not isinstance(row_id, (int, str)):
        faults.append(Fault("id", f"found {kind_of(row_id)}; expected a whole number or a text."))
    query = raw.get("query")
    if not isinstance(query, str) or not query.strip():
        faults.append(Fault("query", _expected(raw, "query", "the question, a text that is not empty")))
    slots = _slots(raw, faults)
    positive = _groups(raw, faults) if kind == "integration" else (_texts(raw, "positive", faults),)
    negative = _texts(raw, "negative", faults)
    wrong: tuple[str, ...] = ()
    if kind == "counterfactual":
        wrong = _texts(raw, "positive_wrong", faults)
        if not faults and len(wrong) != len(positive[0]):
            problem = f"has {len(wrong)} texts; expected as many as `positive` has ({len(positive[0])})."
            faults.append(Fault("positive_wrong", problem))
    fake = _fake(raw, faults)
    kinds = _kinds(raw, faults)
    if faults:
        return None, faults
    assert isinstance(row_id, (int, str)) and isinstance(query, str)  # noqa: PT018
    return RGBRow(row_id, query, slots, positive, negative, wrong, fake, kinds), []


def row_to_json(row: RGBRow, kind: Kind) -> dict[str, Any]:
    """The row as the official files write it. A slot with one alias is a text; a counterfactual row with one such slot
    has a plain text as its `answer`. Reading it back gives the same row."""
    slots: list[Any] = [slot[0] if len(slot) == 1 else list(slot) for slot in row.slots]
    answer = slots[0] if kind == "counterfactual" and len(slots) == 1 and isinstance(slots[0], str) else slots
    document: dict[str, Any] = {"id": row.id, "query": row.query, "answer": answer}
    if kind == "counterfactual":
        if row.fake:
            document["fakeanswer"] = row.fake[0] if len(row.fake) == 1 else list(row.fake)
        document["positive_wrong"] = list(row.positive_wrong)
    grouped = kind == "integration"
    if grouped:
        document |= {f"answer{place}": [slot] if isinstance(slot, str) else slot for place, slot in enumerate(slots, 1)}
    groups = [list(group) for group in row.positive]
    document["positive"] = groups if grouped else [text for group in groups for text in group]
    document["negative"] = list(row.negative)
    if row.kinds:
        document["kinds"] = dict(row.kinds)
    return document


def _set(name: str, lines: list[Line], source: str) -> RGBSet:
    raws = [line.row or {} for line in lines]
    kind = official_kind(name) or kind_of_rows(raws)
    rows: list[RGBRow] = []
    first_lines: dict[tuple[type, int | str], int] = {}
    digest = hashlib.sha256(kind.encode())
    for line, raw in zip(lines, raws, strict=True):
        row, faults = read_row(raw, kind)
        if row is None:
            raise DataError(source, faults[0].problem, line=line.number, field=faults[0].field)
        first = first_lines.setdefault((type(row.id), row.id), line.number)
        if first != line.number:
            raise DataError(source, f"{row.id!r} is the id of line {first} too.", line=line.number, field="id")
        digest.update(_bytes(row))
        rows.append(row)
    # The first questions say enough; detection over 10,000 would only take time.
    language = language_of_name(name) or detect("\n".join(row.query for row in rows[:100]))
    return RGBSet(name, language, kind, tuple(rows), digest.hexdigest())


def _bytes(row: RGBRow) -> bytes:
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate
        return to_json(row).encode("ascii") + b"\n"


def _looks_like_rgb(path: Path) -> bool:
    try:
        first = next(json_lines(path), None)
    except DataError:
        return False
    return first is not None and first.row is not None and {"query", "answer", "positive"} <= first.row.keys()


def _expected(raw: Mapping[str, Any], field: str, expected: str) -> str:
    if field not in raw:
        return f"is missing; expected {expected}."
    value = raw[field]
    kind = "an empty text" if isinstance(value, str) and not value.strip() else kind_of(value)
    return f"found {kind}; expected {expected}."


def _texts(raw: Mapping[str, Any], field: str, faults: list[Fault]) -> tuple[str, ...]:
    """A list of texts, which may be empty; {} and the like are faults."""
    value = raw.get(field)
    if not isinstance(value, list):
        faults.append(Fault(field, _expected(raw, field, "a list of texts")))
        return ()
    for place, text in enumerate(value):
        if not isinstance(text, str):
            faults.append(Fault(field, f"found {kind_of(text)} at index {place}; expected a list of texts."))
            return ()
    return tuple(value)


def _groups(raw: Mapping[str, Any], faults: list[Fault]) -> tuple[tuple[str, ...], ...]:
    """A list of lists of texts."""
    expected = "a list of groups, each a list of texts"
    value = raw.get("positive")
    if not isinstance(value, list):
        faults.append(Fault("positive", _expected(raw, "positive", expected)))
        return ()
    for place, group in enumerate(value):
        if not isinstance(group, list):
            faults.append(Fault("positive", f"found {kind_of(group)} at index {place}; expected {expected}."))
            return ()
        for inner, text in enumerate(group):
            if not isinstance(text, str):
                faults.append(
                    Fault("positive", f"found {kind_of(text)} at index {place}:{inner}; expected {expected}.")
                )
                return ()
    return tuple(tuple(group) for group in value)


def _slots(raw: Mapping[str, Any], faults: list[Fault]) -> tuple[tuple[str, ...], ...]:
    expected = "a text, or a list of texts and of lists of aliases"
    value = raw.get("answer")
    if isinstance(value, str) and value.strip():
        return ((value,),)
    if not isinstance(value, list):
        faults.append(Fault("answer", _expected(raw, "answer", expected)))
        return ()
    if not value:
        faults.append(Fault("answer", f"found an empty list; expected {expected}."))
    slots: list[tuple[str, ...]] = []
    for place, slot in enumerate(value):
        aliases = slot if isinstance(slot, list) else [slot]
        if wrong := [alias for alias in aliases if not isinstance(alias, str)]:
            faults.append(Fault("answer", f"found {kind_of(wrong[0])} at index {place}; expected {expected}."))
            return ()
        if not any(alias.strip() for alias in aliases):
            faults.append(Fault("answer", f"the slot at index {place} is empty; expected {expected}."))
            return ()
        slots.append(tuple(aliases))
    return tuple(slots)


def _fake(raw: Mapping[str, Any], faults: list[Fault]) -> tuple[str, ...]:
    value = raw.get("fakeanswer")
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return tuple(texts)
    faults.append(Fault("fakeanswer", f"found {kind_of(value)}; expected a text or a list of texts."))
    return ()


def _kinds(raw: Mapping[str, Any], faults: list[Fault]) -> dict[str, str]:
    value = raw.get("kinds")
    if value is None:
        return {}
    if isinstance(value, dict) and all(isinstance(kind, str) for kind in value.values()):
        return dict(value)
    faults.append(Fault("kinds", "expected an object of texts, such as {'negative:3': 'rumour'}."))
    return {}
