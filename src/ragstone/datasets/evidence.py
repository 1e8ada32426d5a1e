"""The evidence of a question in a data set: sentences that state its answer, each with its place in the documents."""

from collections.abc import Mapping
from typing import Any

from ragstone.types import Passage

COLUMN = "evidence"
"""The column of the evidence: a list of objects with `text`, and where it stands: `document`, `page`, `heading`, and
`passage`, the id of the chunk around it."""
_MOST = 20  # sentences of a question that are shown


def evidence_passages(columns: Mapping[str, Any], chunks: Mapping[str, Passage]) -> list[Passage]:
    """The sentences, each titled with its place, then the chunks around them, as far as they are known."""
    listed = columns.get(COLUMN)
    found = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    texts = [(one, text) for one in found[:_MOST] if isinstance(text := one.get("text"), str) and text.strip()]
    sentences = [Passage(f"evidence-{number}", text, _place(one)) for number, (one, text) in enumerate(texts, 1)]
    around = [chunks[name] for name in dict.fromkeys(str(one.get("passage")) for one, _ in texts) if name in chunks]
    return [*sentences, *around]


def _place(one: Mapping[str, Any]) -> str:
    """The place as a title: document, page, heading."""
    page = one.get("page")
    parts = (one.get("document"), f"p. {page}" if isinstance(page, int) else "", one.get("heading"))
    return " · ".join(str(part) for part in parts if part)
