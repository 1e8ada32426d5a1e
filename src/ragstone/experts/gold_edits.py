"""`edit_gold` and `edits_of`: versions of questions, references, gold passages and unanswerable marks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.display import Cell, Row, Table
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError, check_name
from ragstone.labels import Edit, LabelStore
from ragstone.labels.exchange import iso
from ragstone.messages import messages
from ragstone.structs import from_json, to_json
from ragstone.types import Passage

_FIELDS = ("question", "references", "gold", "answerable")


@public
def edit_gold(
    labels: str | Path, question_id: str, *, by: str, why: str, question: str | None = None,
    references: Sequence[str] = (), gold: Sequence[str] = (), no_gold: bool = False, answerable: bool | None = None,
) -> Edit:  # fmt: skip
    """Edits the gold of a question in a file of labels; returns the edit with its version. `references`: the parts of
    the new reference, each a text with aliases separated by "|". `gold`: ids of passages that the file knows. Raises
    UsageError and UnknownName."""
    if gold and no_gold:
        raise UsageError("--gold and --no-gold contradict each other: give one of them.")
    if not why.strip():
        raise UsageError("--why is empty: say why the gold changes.")
    with LabelStore.open(labels) as store:
        passages = known_passages(store, question_id)
        for name in gold:
            check_name(f"passage of {question_id[:40]!r}", name, passages)
        slots = tuple(tuple(alias.strip() for alias in part.split("|")) for part in references)
        edit = Edit(
            question_id, by, why.strip(), question, slots or None,
            tuple(passages[name] for name in gold) if gold or no_gold else None, answerable,
        )  # fmt: skip
        version = store.edit(edit)
        return next(one for one in store.edits(question_id) if one.version == version)


def known_passages(store: LabelStore, question_id: str) -> dict[str, Passage]:
    """The passages that a file of labels has of a question, by id: its gold, what was retrieved, what was labelled."""
    source = store.sample(question_id)
    found = {passage.id: passage for passage in source.sample.passages}
    for passage in source.response.passages if source.response is not None else ():
        found.setdefault(passage.id, passage)
    origins = store.origins()
    for item in store.items():
        if item.kind == "passage" and item.sample_id == question_id:
            shown = item.passages[0]
            found.setdefault(origins[item.id].passage, Passage(origins[item.id].passage, shown.text, shown.title))
    return found


@public
def edits_of(labels: str | Path) -> dict[str, Any]:
    """Every edit in a file of labels, oldest first, with what the question was before; and the data sets written."""
    with LabelStore.open(labels, write=False) as store:
        edits = [{**from_json(to_json(edit), dict), "when": iso(edit.when)} for edit in store.edits()]
        exports = [
            {"sha256": sha256, "edit": last, "written": iso(round(when, 3)), "rows": rows}
            for sha256, last, when, rows in store.exports()
        ]
    return {"edits": edits, "exports": exports}


def edits_table(labels: str | Path, *, language: str = "en") -> list[Table]:
    """The edits, and the data sets written, as tables."""
    words = messages(__name__, language)
    found = edits_of(labels)
    columns = tuple(words[name] for name in ("version", "id", "by", "when", "why", "change"))
    rows = [
        Row((Cell(str(edit["version"])), Cell(edit["sample_id"]), Cell(edit["by"]),
             Cell(edit["when"][:16].replace("T", " ")), Cell(edit.get("why", "")), Cell(_change(edit, words))))
        for edit in found["edits"]
    ]  # fmt: skip
    written = [
        Row((Cell(one["sha256"][:12]), Cell(str(one["rows"])), Cell(str(one["edit"])), Cell(one["written"])))
        for one in found["exports"]
    ]
    titles = tuple(words[name] for name in ("data_version", "rows", "last_edit", "when"))
    tables = Table("gold-edits", words["title"], columns, tuple(rows), (words["note"],) if not rows else ())
    return [tables, *([Table("gold-exports", words["exports"], titles, tuple(written))] if written else [])]


def _change(edit: dict[str, Any], words: Mapping[str, str]) -> str:
    return words["join"].join(f"{words[name]}: {_shown(name, edit[name], words)}" for name in _FIELDS if name in edit)


def _shown(name: str, value: Any, words: Mapping[str, str]) -> str:
    if name == "references":
        return words["and"].join(" | ".join(slot) for slot in value)
    if name == "gold":
        return ", ".join(str(passage["id"]) for passage in value) or words["none"]
    return words["yes" if value else "no"] if name == "answerable" else str(value)
