"""The test set that `build questions --extend` adds to: its questions that still hold, and the others."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.construction.builders.questions.items import group_of
from ragstone.construction.built_files import CORPUS, QUESTIONS
from ragstone.errors import DataError, UsageError
from ragstone.text import sentences
from ragstone.text.quoting import find_quote
from ragstone.types import Passage

_Row = Mapping[str, Any]
_TELLING = 12  # characters of a sentence that two documents do not share by chance


@dataclass(frozen=True)
class EarlierSet:
    """`rows` are the questions that stay. `stale` ones have evidence that its document, which is among those read now,
    does not have any more. `chunks`: the rows of its corpus."""

    rows: Sequence[_Row] = ()
    stale: Sequence[_Row] = ()
    chunks: Sequence[_Row] = ()

    def chunks_beside(self, corpus: Sequence[Passage]) -> Iterator[_Row]:
        """The chunks that the questions that stay are from, and that the new corpus does not have."""
        known = {passage.id for passage in corpus}
        wanted = {str(one.get("passage")) for row in self.rows for one in _evidence(row)}
        return (chunk for chunk in self.chunks if chunk["id"] in wanted - known)


def earlier_set(path: Path, documents: Sequence[Passage]) -> EarlierSet:
    """Reads a test set: a folder that `build questions` wrote, or its file. Raises UsageError and DataError."""
    file = path / QUESTIONS if path.is_dir() else path
    if not file.exists():
        raise UsageError(f"{file} does not exist: --extend names a folder that `ragstone build questions` wrote.")
    rows, corpus = _rows(file, "question"), file.with_name(CORPUS)
    chunks = _rows(corpus, "id") if corpus.exists() else []
    texts = _same_documents(documents, chunks)
    stale = [row for row in rows if any(_is_gone(one, texts) for one in _evidence(row))]
    gone = {id(row) for row in stale}
    return EarlierSet([row for row in rows if id(row) not in gone], stale, chunks)


def _same_documents(documents: Sequence[Passage], chunks: Sequence[_Row]) -> dict[str, str]:
    """Id → text of the documents that still have a sentence of the earlier corpus: others share only the name with what
    was read then."""
    texts = {document.id: document.text for document in documents}
    same: dict[str, str] = {}
    for chunk in chunks:
        name = str(chunk["id"]).rpartition("#")[0]
        if name in same or name not in texts:
            continue
        parts = sentences(str(chunk.get("text", "")), "")
        if any(len(part.strip()) >= _TELLING and find_quote(part, texts[name]) is not None for part in parts):
            same[name] = texts[name]
    return same


def known_of(row: _Row) -> tuple[str, str | None]:
    """What a question of an earlier set asks, and its group; None where the row does not tell it."""
    question, reference = row["question"], row.get("reference")
    turns = question if isinstance(question, list) else [{"role": "user", "content": question}]
    texts = [str(turn.get("content", "")) for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    slots = [slot[0] for slot in reference if isinstance(slot, list) and slot] if isinstance(reference, list) else []
    subjects = [str(one["subject"]) for one in _evidence(row) if "subject" in one]
    return "\n".join(texts), group_of(map(str, slots), subjects) if subjects else None


def _evidence(row: _Row) -> list[_Row]:
    listed = row.get("evidence")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _is_gone(evidence: _Row, texts: Mapping[str, str]) -> bool:
    """Whether the document is there, and does not have the sentence. Lines may have been dropped inside of it."""
    text, sentence = texts.get(str(evidence.get("document"))), evidence.get("text")
    if text is None or not isinstance(sentence, str) or not sentence.strip():
        return False
    return any(find_quote(line, text) is None for line in sentence.splitlines() if any(map(str.isalnum, line)))


def _rows(file: Path, field: str) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append({field: row[field], **row})
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(file, f"this is no row of a test set ({error}).", line=number) from None
    return rows
