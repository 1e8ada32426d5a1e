"""The files that constructions write: rows of JSON, questions as `run` and `diagnose` read them, and chunks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.storage import replacing
from ragstone.types import Passage

QUESTIONS, CORPUS = "questions.jsonl", "corpus.jsonl"


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replaces the file by these rows, one a line."""
    with replacing(path, parents=True) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")


def question_row(
    question_id: str, question: Any, references: Sequence[Sequence[str]], language: str, gold: Iterable[Passage]
) -> dict[str, Any]:
    """A question with its gold documents: those of which these chunks are."""
    documents = dict.fromkeys(str(chunk.meta.get("document", chunk.id)) for chunk in gold)
    return {
        "id": question_id, "question": question, "reference": [list(slot) for slot in references],
        "answerable": bool(references), "language": language, "document": "; ".join(documents),
    }  # fmt: skip


def chunk_row(chunk: Passage) -> dict[str, Any]:
    """A chunk as a document of a corpus."""
    return {"id": chunk.id, "title": chunk.title, "text": chunk.text}
